//! Memory of dropped batches, kept for the next ones.

use std::sync::{Arc, Mutex, PoisonError};

use crate::batch::ColumnData;

/// Batches whose memory is kept at most, and columns of each kind; more than a
/// consumer and a prefetch queue usually hold at a time.
const MAX_KEPT: usize = 8;

/// Columns of dropped batches, and those that were dropped one by one.
#[derive(Debug, Default)]
pub(crate) struct Recycler {
    free: Mutex<Free>,
}

#[derive(Debug, Default)]
struct Free {
    batches: Vec<Vec<ColumnData>>,
    /// Per column of a batch.
    columns: Vec<Vec<ColumnData>>,
}

impl Recycler {
    pub(crate) fn new() -> Arc<Self> {
        Arc::default()
    }

    /// The memory of a whole batch, or one of columns that came back alone, with
    /// `new` ones in the gaps; `None` if there are neither.
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
