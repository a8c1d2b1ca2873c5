//! Memory of dropped batches, for reuse by later batches.

use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use crate::BatchSpec;
use crate::batch::ColumnData;
use crate::sizes::Sizes;

/// Maximum number of batches whose memory is kept, and of columns of each kind. A consumer and a
/// prefetch queue usually hold fewer.
const MAX_KEPT: usize = 8;

/// Bytes of batches up to which more are kept. While one thread is kept from its core, others make
/// batches by the dozen, and the consumer drops them as fast: memory that is new each time would cost
/// much of what decoding does.
const MANY_KEPT_BYTES: usize = 256 << 20;

/// Columns of dropped batches, and columns that were dropped one by one.
#[derive(Default)]
pub(crate) struct Recycler {
    free: Mutex<Free>,
    keeper: OnceLock<Arc<dyn KeepMemory>>,
}

/// Counts the memory of dropped batches that a [`BatchBuilder`](crate::BatchBuilder) keeps.
pub trait KeepMemory: Send + Sync {
    /// Whether `bytes` bytes may be kept, or made for the next batch. If so, they count until
    /// [`release`](Self::release), or until a batch takes them over: see
    /// [`RowSlots::counted_bytes`](crate::RowSlots::counted_bytes).
    fn keep(&self, bytes: usize) -> bool;

    /// `bytes` bytes are freed.
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

/// The memory of dropped batches that a builder has left to another, see
/// [`BatchBuilder::leave`](crate::BatchBuilder::leave).
pub struct Spare {
    spec: BatchSpec,
    free: Free,
}

impl fmt::Debug for Spare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Spare").finish_non_exhaustive()
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
    /// The sizes of the columns in the largest batch, for the memory of new ones.
    sizes: Vec<Sizes>,
    sized_rows: usize,
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

    /// The memory of a dropped batch of `spec`. Without one, that of single dropped columns, and new
    /// memory for a batch of the largest one's size for the others, if that may be. Adds to `counted`
    /// what the keeper has counted of it, and counts no more.
    pub(crate) fn take(&self, spec: &BatchSpec, counted: &mut usize) -> Vec<ColumnData> {
        let mut free = self.lock();
        if let Some(batch) = free.batches.pop() {
            *counted += bytes_of(&batch);
            return batch;
        }
        let kept: Vec<_> = free.columns.iter_mut().map(Vec::pop).collect();
        let sizes = free.sizes.clone();
        drop(free);
        let mut kept = kept.into_iter();
        let columns = spec.columns().iter().enumerate();
        columns
            .map(|(i, spec)| match kept.next().flatten() {
                Some(column) => {
                    *counted += column.capacity_bytes();
                    column
                }
                None => {
                    let mut column = ColumnData::new(spec);
                    if let Some(sizes) = sizes.get(i)
                        && self.may_keep(sizes.reserved_bytes())
                    {
                        *counted += sizes.reserved_bytes();
                        sizes.reserve(&mut column);
                    }
                    column
                }
            })
            .collect()
    }

    /// Notes the sizes of a batch of `rows` rows.
    pub(crate) fn note_sizes(&self, rows: usize, columns: &[ColumnData]) {
        let mut free = self.lock();
        if rows >= free.sized_rows {
            free.sized_rows = rows;
            free.sizes.resize_with(columns.len(), Sizes::default);
            for (sizes, column) in free.sizes.iter_mut().zip(columns) {
                sizes.take(column);
            }
        }
    }

    pub(crate) fn give(&self, columns: Vec<ColumnData>) {
        let bytes = bytes_of(&columns);
        let mut free = self.lock();
        let kept = free.batches.len();
        // Batches of one builder are about as large.
        let has_room = kept < MAX_KEPT || bytes.saturating_mul(kept) < MANY_KEPT_BYTES;
        if has_room && self.may_keep(bytes) {
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
        if kept.len() < MAX_KEPT && self.may_keep(column.capacity_bytes()) {
            kept.push(column);
        }
    }

    fn clear(&self) {
        let mut free = self.lock();
        let kept = std::mem::take(&mut free.batches);
        let columns = std::mem::take(&mut free.columns);
        drop(free);
        for kept in kept.into_iter().chain(columns) {
            let bytes = bytes_of(&kept);
            drop(kept);
            if let Some(keeper) = self.keeper.get() {
                keeper.release(bytes);
            }
        }
    }

    /// Takes out what is kept, of which `most` bytes are left to another builder.
    pub(crate) fn leave(&self, spec: &BatchSpec, most: usize) -> Spare {
        let mut free = std::mem::take(&mut *self.lock());
        let (mut all, mut left) = (0, 0);
        let mut fits = |bytes| {
            all += bytes;
            let fits = left + bytes <= most;
            left += if fits { bytes } else { 0 };
            fits
        };
        free.batches.retain(|batch| fits(bytes_of(batch)));
        for kept in &mut free.columns {
            kept.retain(|column| fits(column.capacity_bytes()));
        }
        if let Some(keeper) = self.keeper.get() {
            keeper.release(all);
        }
        let spec = spec.clone();
        Spare { spec, free }
    }

    /// Keeps what another builder has left, as far as the keeper lets it.
    pub(crate) fn take_over(&self, spec: &BatchSpec, spare: Spare) {
        if spare.spec != *spec {
            return;
        }
        let mut left = spare.free;
        left.batches.retain(|batch| self.may_keep(bytes_of(batch)));
        for kept in &mut left.columns {
            kept.retain(|column| self.may_keep(column.capacity_bytes()));
        }
        *self.lock() = left;
    }

    fn may_keep(&self, bytes: usize) -> bool {
        let keeper = self.keeper.get();
        keeper.is_none_or(|keeper| keeper.keep(bytes))
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
