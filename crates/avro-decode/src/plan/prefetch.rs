//! Software prefetching: asks the processor for memory before a plan needs it.
//!
//! A processor has a limited number of loads from memory under way. One more makes it
//! stand still. Each of the three prefetches here therefore spreads its requests over
//! the work of decoding:
//!
//! - [`SkipPrefetch`]: the bytes of later records, while a plan skips most of a record.
//! - [`NextBlockPrefetch`]: the block that is read next, which is elsewhere in memory.
//! - [`OutputPrefetch`]: the memory of a large batch that the next rows are written to.

use std::ops::Range;

use tensor_batch::{RowSlots, Segment, Slot};

use crate::limits::LARGE_BATCH_BYTES;
use crate::prefetch::{LINE, MOST_LINES, prefetch, prefetch_address, prefetch_after};

/// Bytes from the start of a record to the bytes that are prefetched during it. That is
/// a few records of usual size, because memory takes as long to answer as one of them.
const DISTANCE: usize = 6_144;

/// Bytes of a pair of lines.
const PAIR: usize = 2 * LINE;

/// Maximum number of pairs of lines in a request. The processor itself sees that it goes
/// straight on through a larger record.
const MOST_PAIRS: usize = 8;

/// Prefetches later records of the same block while fields are skipped. The requests are
/// spread over the slow skips of a record.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SkipPrefetch {
    /// The address where the next request starts.
    next: usize,
    /// Bytes of a request, whole pairs of lines.
    bytes: usize,
    /// The address where requests end.
    end: usize,
    /// Whether a record makes a single request, at its start.
    at_start: bool,
    /// Mean length of a record in bytes; 0 before the first record.
    record_len: usize,
}

impl SkipPrefetch {
    /// Begins with the next `records` records of `data`. A record has `slow_skips`
    /// requests, or one at its start if it has no slow skip.
    pub(crate) fn begin(&mut self, data: &[u8], start: usize, records: usize, slow_skips: usize) {
        let pairs = self.record_len.div_ceil(PAIR);
        self.bytes = pairs.div_ceil(slow_skips.max(1)).min(MOST_PAIRS) * PAIR;
        self.at_start = slow_skips == 0;
        let left = self.record_len.saturating_mul(records);
        let here = data.as_ptr().addr() + start;
        let asked = self.asked().wrapping_sub(here);
        // In a file that is read in order, the next block follows a block that is read
        // to its end. The request need not know whether there are such bytes.
        let is_all = data.len() - start < left.saturating_add(self.record_len);
        self.end = if is_all { usize::MAX } else { here + left };
        let known = if asked < DISTANCE { asked } else { 0 };
        prefetch(data, start + known, start + DISTANCE.min(left));
    }

    /// The address after the last byte that was asked for.
    fn asked(&self) -> usize {
        self.next.min(self.end)
    }

    /// Stops asking, for a plan that skips too little.
    pub(crate) fn rest(&mut self) {
        self.end = 0;
    }

    /// Begins with the record at `start` of `data`.
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

    /// Ends with a record of `len` bytes.
    #[inline]
    pub(crate) fn end_record(&mut self, len: usize) {
        self.record_len = match self.record_len {
            0 => len,
            mean => mean - mean / 8 + len / 8,
        };
    }
}

/// Lines of a request of [`NextBlockPrefetch`]. A plan that reads whole records has about
/// half as many operations as its records have lines.
const LINES: usize = 2;

/// Prefetches the first bytes of the next block, a few lines at each operation of a plan.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct NextBlockPrefetch {
    /// The address of the next line.
    next: usize,
    /// The address after the last line.
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

    /// Begins with a run of `operations`. Lines that so few operations would not come to
    /// are asked for at once.
    #[inline]
    pub(super) fn begin(&mut self, operations: usize) {
        let spread = operations.saturating_mul(LINES * LINE);
        while self.end.saturating_sub(self.next) > spread {
            self.ask();
        }
    }

    /// Whether all lines were asked for.
    #[inline]
    pub(super) fn is_over(&self) -> bool {
        self.next >= self.end
    }

    /// Asks for the next lines. The last request may be a line too long, because counting
    /// the lines would be a mispredicted branch.
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

    /// Asks for all remaining lines.
    pub(super) fn end(&mut self) {
        while !self.is_over() {
            self.ask();
        }
    }
}

/// Prefetches the memory that the next rows of a large batch are written to.
///
/// No cache near a core holds a large batch when its memory is written to again, and a
/// processor does not follow tens of columns by itself. After a write to a column, as
/// many bytes as the row wrote are asked for.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct OutputPrefetch {
    is_on: bool,
}

impl OutputPrefetch {
    /// On for a large batch, off for a small one, which the caches hold.
    pub(super) fn of(slots: &RowSlots<'_>) -> Self {
        // Tests run with assertions, and take small batches for large ones.
        let is_on = cfg!(debug_assertions) || slots.batch_bytes() >= LARGE_BATCH_BYTES;
        OutputPrefetch { is_on }
    }

    /// Asks for the memory after `written`.
    #[inline]
    pub(super) fn ask<T>(self, written: &[T]) {
        if self.is_on {
            prefetch_after(written);
        }
    }

    /// Asks for the memory after the elements `written` of a column of fixed width.
    #[inline]
    pub(super) fn ask_slot(self, slot: &Slot<'_>, written: Range<usize>) {
        if self.is_on {
            prefetch_after(slot.bytes_of(written));
        }
    }

    /// The end of a segment before the next values are written, or `None` if nothing is
    /// prefetched.
    #[inline]
    pub(super) fn end_of(self, segment: &Segment) -> Option<SegmentEnd> {
        self.is_on.then(|| SegmentEnd {
            value: segment.values.len(),
            index: segment.indices.len(),
        })
    }
}

/// The end of a segment before more is written to it.
#[derive(Clone, Copy, Debug)]
pub(super) struct SegmentEnd {
    value: usize,
    index: usize,
}

impl SegmentEnd {
    /// Asks for the memory after the values and indices that `segment` gained since.
    #[inline]
    pub(super) fn ask(self, segment: &Segment) {
        prefetch_after(segment.values.bytes_from(self.value));
        prefetch_after(&segment.indices.as_slice()[self.index..]);
    }
}

#[cfg(test)]
mod tests;
