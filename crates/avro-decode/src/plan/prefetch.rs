//! Software prefetching: requests memory from the processor before a plan needs it.
//!
//! A processor can have a limited number of loads from memory in flight, and waits if it needs one
//! more. Each of the three prefetches here therefore spreads its requests over the work of
//! decoding:
//!
//! - [`SkipPrefetch`]: the bytes of later records, while a plan skips most of a record.
//! - [`NextBlockPrefetch`]: the block that is read next, at another address.
//! - [`OutputPrefetch`]: the memory of a large batch that the next rows are written to.

use std::ops::Range;

use tensor_batch::{RowSlots, Segment, Slot};

use crate::limits::LARGE_BATCH_BYTES;
use crate::prefetch::{LINE, MOST_LINES, prefetch, prefetch_address, prefetch_after};

/// Distance in bytes from the start of a record to the bytes prefetched during it. It is a few
/// records of usual size, because a load from memory takes about as long as decoding one.
const DISTANCE: usize = 6_144;

/// Bytes of two lines.
const PAIR: usize = 2 * LINE;

/// Maximum number of line pairs per request. In a larger record, the processor's own prefetcher
/// detects the sequential reads.
const MOST_PAIRS: usize = 8;

/// Prefetches later records of the same block while fields are skipped. The requests are
/// spread over the slow skips of a record.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SkipPrefetch {
    /// The address where the next request starts.
    next: usize,
    /// Bytes of a request, a multiple of [`PAIR`].
    bytes: usize,
    /// The end address of requests.
    end: usize,
    /// Whether a record makes a single request, at its start.
    at_start: bool,
    /// Mean length of a record in bytes; 0 before the first record.
    record_len: usize,
}

impl SkipPrefetch {
    /// Starts on the next `records` records of `data`. A record has `slow_skips` requests, or one
    /// at its start if it has no slow skip.
    pub(crate) fn begin(&mut self, data: &[u8], start: usize, records: usize, slow_skips: usize) {
        let pairs = self.record_len.div_ceil(PAIR);
        self.bytes = pairs.div_ceil(slow_skips.max(1)).min(MOST_PAIRS) * PAIR;
        self.at_start = slow_skips == 0;
        let left = self.record_len.saturating_mul(records);
        let here = data.as_ptr().addr() + start;
        let asked = self.asked().wrapping_sub(here);
        // In a file that is read in order, the next block follows the last record of this one.
        // Requests past the end of memory are harmless.
        let is_all = data.len() - start < left.saturating_add(self.record_len);
        self.end = if is_all { usize::MAX } else { here + left };
        let known = if asked < DISTANCE { asked } else { 0 };
        prefetch(data, start + known, start + DISTANCE.min(left));
    }

    /// The end address of the bytes requested so far.
    fn asked(&self) -> usize {
        self.next.min(self.end)
    }

    /// Stops the requests, for a plan that skips too little.
    pub(crate) fn rest(&mut self) {
        self.end = 0;
    }

    /// Starts on the record at `start` of `data`.
    #[inline]
    pub(crate) fn begin_record(&mut self, data: &[u8], start: usize) {
        self.next = data.as_ptr().addr().wrapping_add(start + DISTANCE);
        if self.at_start {
            self.ask();
        }
    }

    /// Makes the next request.
    #[inline(always)] // A record makes several.
    pub(crate) fn ask(&mut self) {
        let end = self.end.min(self.next.wrapping_add(self.bytes));
        while self.next < end {
            prefetch_address(self.next);
            prefetch_address(self.next.wrapping_add(LINE));
            self.next = self.next.wrapping_add(PAIR);
        }
    }

    /// Finishes a record of `len` bytes.
    #[inline]
    pub(crate) fn end_record(&mut self, len: usize) {
        self.record_len = match self.record_len {
            0 => len,
            mean => mean - mean / 8 + len / 8,
        };
    }
}

/// Number of lines per request of [`NextBlockPrefetch`]. A plan that reads whole records has about
/// half as many operations as its records have lines.
const LINES: usize = 2;

/// Prefetches the first bytes of the next block, a few lines at each operation of a plan.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct NextBlockPrefetch {
    /// The address of the next line.
    next: usize,
    /// The end address of the lines.
    end: usize,
}

impl NextBlockPrefetch {
    /// A prefetch of the first [`MOST_LINES`] lines of `bytes`.
    pub(super) fn of(bytes: &[u8]) -> Self {
        let next = bytes.as_ptr().addr();
        NextBlockPrefetch {
            next,
            end: next + bytes.len().min(MOST_LINES * LINE),
        }
    }

    /// Starts on a run of `operations` operations. Lines that this number of operations would not
    /// reach are requested at once.
    #[inline]
    pub(super) fn begin(&mut self, operations: usize) {
        let spread = operations.saturating_mul(LINES * LINE);
        while self.end.saturating_sub(self.next) > spread {
            self.ask();
        }
    }

    /// Whether all lines have been requested.
    #[inline]
    pub(super) fn is_over(&self) -> bool {
        self.next >= self.end
    }

    /// Requests the next lines. The last request may be a line too long, because counting the lines
    /// would be a mispredicted branch.
    #[inline]
    pub(super) fn ask(&mut self) {
        if self.is_over() {
            return;
        }
        for line in 0..LINES {
            prefetch_address(self.next + line * LINE);
        }
        self.next += LINES * LINE;
    }

    /// Requests all remaining lines.
    pub(super) fn end(&mut self) {
        while !self.is_over() {
            self.ask();
        }
    }
}

/// Prefetches the memory of a large batch that the next rows are written to.
///
/// A large batch has left the caches of a core when it is written to again. A processor does not
/// prefetch for tens of columns by itself. After each write to a column, the same number of bytes
/// is prefetched after it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct OutputPrefetch {
    is_on: bool,
}

impl OutputPrefetch {
    /// On for a large batch, off for a small one, which stays in the caches.
    pub(super) fn of(slots: &RowSlots<'_>) -> Self {
        // Tests run with assertions, and prefetch for small batches too.
        let is_on = cfg!(debug_assertions) || slots.batch_bytes() >= LARGE_BATCH_BYTES;
        OutputPrefetch { is_on }
    }

    /// Prefetches the memory after `written`.
    #[inline]
    pub(super) fn ask<T>(self, written: &[T]) {
        if self.is_on {
            prefetch_after(written);
        }
    }

    /// Prefetches the memory after the elements `written` of a column of fixed width.
    #[inline]
    pub(super) fn ask_slot(self, slot: &Slot<'_>, written: Range<usize>) {
        if self.is_on {
            prefetch_after(slot.bytes_of(written));
        }
    }

    /// The end of a segment before the next write, or `None` if prefetching is off.
    #[inline]
    pub(super) fn end_of(self, segment: &Segment) -> Option<SegmentEnd> {
        self.is_on.then(|| SegmentEnd {
            value: segment.values.len(),
            index: segment.indices.len(),
        })
    }
}

/// The end of a segment before a write.
#[derive(Clone, Copy, Debug)]
pub(super) struct SegmentEnd {
    value: usize,
    index: usize,
}

impl SegmentEnd {
    /// Prefetches the memory after the values and indices that were written to `segment`.
    #[inline]
    pub(super) fn ask(self, segment: &Segment) {
        prefetch_after(segment.values.bytes_from(self.value));
        prefetch_after(&segment.indices.as_slice()[self.index..]);
    }
}

#[cfg(test)]
mod tests;
