//! How far blocks may decompress before the memory limit is reached.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::Error;
use crate::budget::Budget;

/// How many bytes blocks may still decompress to, all workers together.
#[derive(Debug)]
pub(crate) struct Room<'a> {
    pub(crate) budget: &'a Budget,
    used: AtomicU64,
}

impl<'a> Room<'a> {
    /// The room of `budget`, where the window and the batch have `used` bytes.
    pub(crate) fn new(budget: &'a Budget, used: u64) -> Self {
        let used = used.into();
        Room { budget, used }
    }

    pub(crate) fn left(&self) -> usize {
        let left = self.budget.for_batch().saturating_sub(self.used());
        usize::try_from(left).unwrap_or(usize::MAX / 2)
    }

    pub(crate) fn used(&self) -> u64 {
        self.used.load(Relaxed)
    }

    /// Takes `bytes`, which waits for the consumer if ready batches are in the
    /// way.
    pub(crate) fn take(&self, bytes: usize) -> Result<(), Error> {
        let bytes = bytes as u64;
        let needed = self.used.fetch_add(bytes, Relaxed) + bytes;
        self.budget.check(needed)?;
        self.budget.grow(bytes);
        Ok(())
    }
}
