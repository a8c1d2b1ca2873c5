//! The builders of batches, with the memory that they keep.

use std::sync::{Arc, PoisonError, Weak};

use tensor_batch::{BatchBuilder, BatchSpec};

use crate::memory::{Cache, Lease, Memory};
use crate::read_pool::SpareMemory;
use crate::sync::{Mutex, MutexGuard};
use crate::tuning::KEPT_SHARE;

/// The builders of batches, which share the memory of dropped batches.
#[derive(Debug)]
pub(crate) struct Builders {
    memory: Arc<Memory>,
    /// Made no batch.
    first: BatchBuilder,
    /// The most bytes of its own that a builder keeps which does not count.
    most: u64,
    /// Each with a lease of its memory, if that is enough to count.
    free: Mutex<Vec<(BatchBuilder, Lease)>>,
    /// Bytes of a row in columns of fixed size.
    pub(crate) fixed_row_bytes: u64,
    /// Gets the memory of dropped batches when the iteration is over.
    spare: Arc<SpareMemory>,
}

impl Builders {
    /// Builders for `workers` workers.
    pub(crate) fn new(
        memory: Arc<Memory>,
        spec: BatchSpec,
        workers: usize,
        spare: Arc<SpareMemory>,
    ) -> Arc<Self> {
        let mut first = BatchBuilder::new(spec);
        first.set_keeper(memory.clone());
        if let Some(left) = spare.exchange_batches(None) {
            first.take_over(left);
        }
        let fixed_row_bytes = first.spec().fixed_row_bytes();
        Arc::new_cyclic(|builders: &Weak<Builders>| {
            memory.add_cache(builders.clone());
            Builders {
                most: memory.limit() / KEPT_SHARE / workers as u64,
                memory,
                first,
                free: Mutex::default(),
                fixed_row_bytes,
                spare,
            }
        })
    }

    pub(crate) fn spec(&self) -> &BatchSpec {
        self.first.spec()
    }

    /// A builder, and the lease of its memory. An op that runs alone gets a new one: memory of an
    /// earlier batch may be larger than it needs.
    pub(crate) fn take(&self) -> (BatchBuilder, Lease) {
        if self.memory.is_scarce() {
            let builder = BatchBuilder::new(self.spec().clone());
            return (builder, Lease::none(&self.memory));
        }
        let free = self.lock().pop();
        free.unwrap_or_else(|| (self.first.another(), Lease::none(&self.memory)))
    }

    pub(crate) fn give_back(&self, mut builder: BatchBuilder) {
        if self.memory.is_scarce() {
            return;
        }
        let mut lease = Lease::none(&self.memory);
        let bytes = builder.capacity_bytes() as u64;
        if bytes > self.most && !lease.try_keep(bytes) {
            builder.shrink();
        }
        self.lock().push((builder, lease));
    }

    /// Leaves the memory of dropped batches for the next iteration. A second call does nothing.
    pub(crate) fn leave(&self) {
        if self.memory.is_scarce() {
            return;
        }
        let most = self.memory.limit() / KEPT_SHARE;
        let left = self.first.leave(most as usize);
        self.spare.exchange_batches(Some(left));
        // What the consumer drops from now on is for no batch to come.
        self.memory.set_scarce(true);
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(BatchBuilder, Lease)>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Cache for Builders {
    fn clear(&self) {
        let free = std::mem::take(&mut *self.lock());
        drop(free);
        self.first.kept().clear();
    }
}

#[cfg(all(test, not(loom)))]
#[allow(clippy::unwrap_used, reason = "a panic is a failure")]
mod tests {
    use super::*;
    use tensor_batch::{ColumnSpec, DType};

    #[test]
    fn the_next_iteration_has_the_memory_of_batches_and_counts_it() {
        let spec = BatchSpec::new(vec![ColumnSpec::dense("a", &[10], DType::Int64)]).unwrap();
        let spare = Arc::<SpareMemory>::default();
        let builders = |limit| {
            let memory = Arc::new(Memory::new(limit, false));
            let builders = Builders::new(memory.clone(), spec.clone(), 1, spare.clone());
            (memory, builders)
        };
        let (memory, first) = builders(64_000);
        let (mut builder, _) = first.take();
        builder.slots(&[10]);
        drop(builder.finish());
        let bytes = memory.held();
        assert!(bytes >= 800, "{bytes}");
        first.leave();
        assert_eq!(memory.held(), 0);
        first.leave();
        let (memory, next) = builders(64_000);
        assert_eq!(memory.held(), bytes);
        // Where memory is missing, it goes.
        assert!(memory.try_add(64_000));
        next.leave();
        // A 64th of this limit is less.
        let (_, next) = builders(64_000);
        let (mut builder, _) = next.take();
        builder.slots(&[20]);
        drop(builder.finish());
        next.leave();
        assert_eq!(builders(64_000).0.held(), 0);
    }
}
