//! Memory of dropped batches, for reuse by later batches.

use std::sync::{Arc, Mutex, PoisonError};

use crate::batch::ColumnData;

/// Maximum number of batches whose memory is kept, and of columns of each kind. A consumer and a
/// prefetch queue usually hold fewer.
const MAX_KEPT: usize = 8;

/// Columns of dropped batches, and columns that were dropped one by one.
#[derive(Debug, Default)]
pub(crate) struct Recycler {
    free: Mutex<Free>,
}

#[derive(Debug, Default)]
struct Free {
    batches: Vec<Vec<ColumnData>>,
    /// For each column of a batch, its free memory.
    columns: Vec<Vec<ColumnData>>,
}

impl Recycler {
    pub(crate) fn new() -> Arc<Self> {
        Arc::default()
    }

    /// The memory of a dropped batch. Without one, a batch of single dropped columns, with `new`
    /// columns for the missing ones. `None` if no column is free.
    pub(crate) fn take(&self, new: impl Fn(usize) -> ColumnData) -> Option<Vec<ColumnData>> {
        let mut free = self.lock();
        if let Some(batch) = free.batches.pop() {
            return Some(batch);
        }
        if free.columns.iter().all(Vec::is_empty) {
            return None;
        }
        let columns = free.columns.iter_mut().enumerate();
        Some(
            columns
                .map(|(i, kept)| kept.pop().unwrap_or_else(|| new(i)))
                .collect(),
        )
    }

    pub(crate) fn give(&self, columns: Vec<ColumnData>) {
        let mut free = self.lock();
        if free.batches.len() < MAX_KEPT {
            free.batches.push(columns);
        }
    }

    /// Takes back column `i` of a batch of `columns` columns.
    pub(crate) fn give_column(&self, i: usize, columns: usize, column: ColumnData) {
        let mut free = self.lock();
        if free.columns.len() < columns {
            free.columns.resize_with(columns, Vec::new);
        }
        let kept = &mut free.columns[i];
        if kept.len() < MAX_KEPT {
            kept.push(column);
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Free> {
        // Nothing panics while the lock is held; a poisoned list is still good.
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
