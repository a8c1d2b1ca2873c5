//! Memory of dropped batches, kept for the next ones.

use std::sync::{Arc, Mutex, PoisonError};

use crate::batch::ColumnData;

/// Batches whose memory is kept at most; more than a consumer and a prefetch
/// queue usually hold at a time.
const MAX_KEPT: usize = 8;

/// Columns of dropped batches.
#[derive(Debug, Default)]
pub(crate) struct Recycler {
    free: Mutex<Vec<Vec<ColumnData>>>,
}

impl Recycler {
    pub(crate) fn new() -> Arc<Self> {
        Arc::default()
    }

    pub(crate) fn take(&self) -> Option<Vec<ColumnData>> {
        self.lock().pop()
    }

    pub(crate) fn give(&self, columns: Vec<ColumnData>) {
        let mut free = self.lock();
        if free.len() < MAX_KEPT {
            free.push(columns);
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Vec<ColumnData>>> {
        // Nothing panics while the lock is held; a poisoned list is still good.
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
