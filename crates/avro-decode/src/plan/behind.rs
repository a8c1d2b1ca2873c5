//! Asking for the memory that the next rows are written to.
//!
//! A large batch is in no cache near a core when its memory is written to again, and of
//! tens of columns a processor does not see by itself where each goes on. As many bytes
//! as a row has written to a column are asked for behind them.

use std::ops::Range;

use tensor_batch::{RowSlots, Segment, Slot};

use crate::limits::LARGE_BATCH_BYTES;
use crate::prefetch::prefetch_behind;

/// Whether memory behind what is written is asked for.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Behind {
    asks: bool,
}

impl Behind {
    /// It is if the batch is large. For a small one it would be work for nothing.
    pub(super) fn of(slots: &RowSlots<'_>) -> Self {
        // Tests, which have assertions on, do with small batches what is done with large.
        let asks = cfg!(debug_assertions) || slots.batch_bytes() >= LARGE_BATCH_BYTES;
        Behind { asks }
    }

    /// Asks for what is behind `written`.
    #[inline]
    pub(super) fn ask<T>(self, written: &[T]) {
        if self.asks {
            prefetch_behind(written);
        }
    }

    /// Asks for what is behind elements `written` of a column of fixed width.
    #[inline]
    pub(super) fn ask_slot(self, slot: &Slot<'_>, written: Range<usize>) {
        if self.asks {
            prefetch_behind(slot.bytes_of(written));
        }
    }

    /// Where a segment is written next, to ask for what is behind that once it is
    /// written; `None` if nothing is asked for.
    #[inline]
    pub(super) fn end_of(self, segment: &Segment) -> Option<End> {
        self.asks.then(|| End {
            value: segment.values.len(),
            index: segment.indices.len(),
        })
    }
}

/// The end of a segment before more is written.
#[derive(Clone, Copy, Debug)]
pub(super) struct End {
    value: usize,
    index: usize,
}

impl End {
    /// Asks for what is behind the values and indices that `segment` has from here on.
    #[inline]
    pub(super) fn ask(self, segment: &Segment) {
        prefetch_behind(segment.values.bytes_from(self.value));
        prefetch_behind(&segment.indices.as_slice()[self.index..]);
    }
}
