//! What a batch and its window need, counted from the plan and the data alone.
//!
//! Whether the memory limit suffices must not depend on threads or time. So it is not asked whether
//! memory was there when a batch was made, but whether these sums fit.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use crate::block::{PreparedSize, RecordPlace};
use crate::memory::Memory;
use crate::{Error, ErrorKind};

/// The memory that one batch and its window need, in bytes.
#[derive(Debug, Default)]
pub(crate) struct Need {
    /// Payloads of the window that no batch before has read.
    pub(crate) window: u64,
    /// Prepared payloads that this batch is the first to read.
    pub(crate) begun: u64,
    /// Prepared payloads that left the window between the batch before and this one. How large they are is known once
    /// all batches before were made.
    pub(crate) departed: Vec<Arc<PreparedSize>>,
    /// Prepared payloads that leave the window with this batch.
    pub(crate) ended: u64,
    /// The batch, and what is prepared for it alone.
    pub(crate) own: u64,
    /// Bytes of the batch that were counted as made early, and are not when its turn has come.
    pub(crate) early: u64,
    /// Prepared payloads that this batch is the first to read, of which this holds, too.
    pub(crate) early_payloads: Vec<Arc<PreparedSize>>,
    /// A record of the batch.
    pub(crate) place: Option<RecordPlace>,
    /// Whether the batch could not be made.
    pub(crate) is_exceeded: bool,
}

impl Need {
    /// The batch's turn has come: nothing of it is early any more.
    pub(crate) fn end_early(&self, memory: &Memory) {
        // A payload that comes back to the window was early once.
        let payloads = self.early_payloads.iter();
        let payloads = payloads.map(|size| size.early.swap(0, Relaxed));
        memory.remove_early(self.early + payloads.sum::<u64>());
    }
}

/// The prepared payloads in the window, from one batch to the next.
#[derive(Debug, Default)]
pub(crate) struct Windows {
    prepared: u64,
}

impl Windows {
    /// The prepared payloads in the window of the batch that comes next, in bytes.
    pub(crate) fn prepared(&self) -> u64 {
        self.prepared
    }

    /// Goes on to the next batch. An error if the batch and its window do not fit the limit.
    pub(crate) fn pass(&mut self, need: &Need, memory: &Memory) -> Result<(), Error> {
        let departed = need.departed.iter().map(|size| size.bytes.load(Relaxed));
        self.prepared = self.prepared.saturating_sub(departed.sum()) + need.begun;
        let window = need.window.saturating_add(self.prepared);
        memory.window_peak.fetch_max(window, Relaxed);
        let needed = window.saturating_add(need.own);
        self.prepared = self.prepared.saturating_sub(need.ended);
        match needed > memory.batch_limit() || need.is_exceeded {
            true => Err(exceeded(memory, needed, need.place.as_ref())),
            false => Ok(()),
        }
    }
}

/// The error of a batch and a window of `needed` bytes.
#[cold]
pub(crate) fn exceeded(memory: &Memory, needed: u64, place: Option<&RecordPlace>) -> Error {
    let limit = memory.limit();
    // Other batches may need a little more.
    let needed = needed.saturating_add(needed / 16);
    let needed = Memory::limit_for(needed).max(limit.saturating_add(1));
    let mut error = Error::new(ErrorKind::MemoryLimit {
        limit,
        needed,
        in_turns: memory.in_turns,
    });
    if let Some(place) = place {
        *error.place = place.place();
    }
    error
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// A batch may be made before the one before it has prepared what departs between the two.
    #[test]
    fn what_departs_counts_as_it_was_prepared() {
        let memory = Memory::new(8_000, false);
        let size = Arc::new(PreparedSize::default());
        let after = Need {
            departed: vec![size.clone()],
            own: 2_500,
            ..Need::default()
        };
        size.bytes.store(4_000, Relaxed);
        let before = Need {
            begun: 4_000,
            ..Need::default()
        };
        let mut windows = Windows::default();
        for need in [&before, &after] {
            assert!(windows.pass(need, &memory).is_ok());
        }
        assert_eq!(windows.prepared(), 0);
    }
}
