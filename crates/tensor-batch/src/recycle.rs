//! Memory of dropped batches, for reuse by later batches.

use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use crate::batch::ColumnData;

/// Maximum number of batches whose memory is kept, and of columns of each kind. A consumer and a
/// prefetch queue usually hold fewer.
const MAX_KEPT: usize = 8;

/// Columns of dropped batches, and columns that were dropped one by one.
#[derive(Default)]
pub(crate) struct Recycler {
    free: Mutex<Free>,
    keeper: OnceLock<Arc<dyn KeepMemory>>,
}

/// Counts the memory of dropped batches that a [`BatchBuilder`](crate::BatchBuilder) keeps.
pub trait KeepMemory: Send + Sync {
    /// Whether `bytes` bytes may be kept. If so, they count until [`release`](Self::release).
    fn keep(&self, bytes: usize) -> bool;

    /// `bytes` bytes are not kept any more: they are used again, or freed.
    fn release(&self, bytes: usize);
}

/// The memory of dropped batches that a builder keeps, see
/// [`BatchBuilder::kept`](crate::BatchBuilder::kept).
#[derive(Clone)]
pub struct Kept(Weak<Recycler>);

impl Kept {
    /// Frees it. Returns whether more can be kept later: not if the builder and its batches were
    /// dropped.
    pub fn clear(&self) -> bool {
        let recycler = self.0.upgrade();
        if let Some(recycler) = &recycler {
            recycler.clear();
        }
        recycler.is_some()
    }
}

impl fmt::Debug for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kept").finish_non_exhaustive()
    }
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

    /// Has `keeper` count what is kept.
    pub(crate) fn set_keeper(&self, keeper: Arc<dyn KeepMemory>) {
        // Set once, before anything is kept.
        let _ = self.keeper.set(keeper);
    }

    pub(crate) fn kept(self: &Arc<Self>) -> Kept {
        Kept(Arc::downgrade(self))
    }

    /// The memory of a dropped batch. Without one, a batch of single dropped columns, with `new`
    /// columns for the missing ones. `None` if no column is free.
    pub(crate) fn take(&self, new: impl Fn(usize) -> ColumnData) -> Option<Vec<ColumnData>> {
        let mut free = self.lock();
        if let Some(batch) = free.batches.pop() {
            self.release(&batch);
            return Some(batch);
        }
        if free.columns.iter().all(Vec::is_empty) {
            return None;
        }
        let columns = free.columns.iter_mut().enumerate();
        Some(
            columns
                .map(|(i, kept)| match kept.pop() {
                    Some(column) => {
                        self.release(std::slice::from_ref(&column));
                        column
                    }
                    None => new(i),
                })
                .collect(),
        )
    }

    pub(crate) fn give(&self, columns: Vec<ColumnData>) {
        let mut free = self.lock();
        if free.batches.len() < MAX_KEPT && self.may_keep(&columns) {
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
        if kept.len() < MAX_KEPT && self.may_keep(std::slice::from_ref(&column)) {
            kept.push(column);
        }
    }

    fn clear(&self) {
        let Free { batches, columns } = std::mem::take(&mut *self.lock());
        for kept in batches.into_iter().chain(columns) {
            let bytes = bytes_of(&kept);
            drop(kept);
            if let Some(keeper) = self.keeper.get() {
                keeper.release(bytes);
            }
        }
    }

    fn may_keep(&self, columns: &[ColumnData]) -> bool {
        let keeper = self.keeper.get();
        keeper.is_none_or(|keeper| keeper.keep(bytes_of(columns)))
    }

    fn release(&self, columns: &[ColumnData]) {
        if let Some(keeper) = self.keeper.get() {
            keeper.release(bytes_of(columns));
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Free> {
        // Nothing panics while the lock is held; a poisoned list is still good.
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Recycler {
    fn drop(&mut self) {
        self.clear();
    }
}

impl fmt::Debug for Recycler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recycler").finish_non_exhaustive()
    }
}

fn bytes_of(columns: &[ColumnData]) -> usize {
    columns.iter().map(ColumnData::capacity_bytes).sum()
}
