//! The buffers of reads, with the memory that they keep.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::{fmt, mem};

use atds_format::{BufferPool, ReadBuffer};
use bytes::Bytes;
use tensor_batch::Spare;

use crate::memory::{Cache, Lease, Memory};
use crate::tuning::KEPT_SHARE;

/// The buffers of reads and of payloads that are copied out of them. They count by their capacity as
/// long as a slice of them is used, or they are kept for others.
#[derive(Debug)]
pub(crate) struct ReadPool {
    memory: Arc<Memory>,
    kept: Mutex<Buffers>,
    /// Gets what is kept when the iteration is over.
    spare: Arc<SpareMemory>,
    /// Bytes of the buffers of which a slice is used.
    used: AtomicU64,
}

/// The memory that an iteration leaves for the next, so that short epochs need not make it again: of buffers of reads,
/// and of dropped batches, at most a 64th of its memory limit each.
#[derive(Default)]
pub struct SpareMemory {
    buffers: Mutex<Buffers>,
    batches: Mutex<Option<Spare>>,
}

#[derive(Debug, Default)]
struct Buffers {
    /// By their length, of which there are few. The last one may still be in a cache.
    by_len: BTreeMap<usize, Vec<Vec<u8>>>,
    bytes: u64,
}

impl ReadPool {
    pub(crate) fn new(memory: Arc<Memory>, spare: Arc<SpareMemory>) -> Arc<Self> {
        Arc::new_cyclic(|pool: &Weak<ReadPool>| {
            let kept = spare.exchange(Buffers::default());
            let kept = match memory.try_add(kept.bytes) {
                true => kept,
                false => Buffers::default(),
            };
            memory.add_cache(pool.clone());
            ReadPool {
                memory,
                kept: Mutex::new(kept),
                spare,
                used: AtomicU64::new(0),
            }
        })
    }

    /// Bytes of a buffer for a copy of `len` bytes: rounded up by an eighth at most, so that it fits
    /// other payloads, too.
    pub(crate) fn rounded(len: usize) -> usize {
        len.next_multiple_of((len.next_power_of_two() / 16).max(64))
    }

    /// A copy of `bytes`, for which there is a lease; best of as many bytes as they are
    /// [`rounded`](Self::rounded) to.
    pub(crate) fn copy(self: &Arc<Self>, bytes: &[u8], lease: Lease) -> Bytes {
        let mut buffer = self.take(lease.bytes() as usize, lease);
        buffer.space(bytes.len()).copy_from_slice(bytes);
        buffer.freeze(bytes.len())
    }

    /// A buffer of `len` bytes, for which there is a lease.
    pub(crate) fn take(self: &Arc<Self>, len: usize, lease: Lease) -> ReadBuffer {
        let mut kept = self.lock();
        let fitting = kept.by_len.range_mut(len..=len + len / 8);
        let buffer = fitting.map(|(_, alike)| alike).find_map(Vec::pop);
        kept.bytes -= buffer.as_ref().map_or(0, Vec::capacity) as u64;
        drop(kept);
        let buffer = buffer.unwrap_or_else(|| {
            lease.forget();
            vec![0; len]
        });
        // Otherwise the lease ends here: a buffer that was kept counts already.
        self.used.fetch_add(buffer.capacity() as u64, Relaxed);
        ReadBuffer::new(buffer, Some(self.clone()))
    }

    /// Bytes of the buffers of which a slice is used.
    pub(crate) fn used(&self) -> u64 {
        self.used.load(Relaxed)
    }

    fn lock(&self) -> MutexGuard<'_, Buffers> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl BufferPool for ReadPool {
    fn give_back(&self, buffer: Vec<u8>, capacity: usize) {
        self.used.fetch_sub(capacity as u64, Relaxed);
        let mut kept = self.lock();
        let bytes = kept.bytes + capacity as u64;
        // A source may have made it larger.
        let fits = bytes <= self.memory.limit() / KEPT_SHARE && !self.memory.is_scarce();
        if fits && buffer.capacity() == capacity {
            kept.bytes = bytes;
            kept.by_len.entry(buffer.len()).or_default().push(buffer);
        } else {
            drop(kept);
            self.memory.remove(capacity as u64);
        }
    }
}

impl Cache for ReadPool {
    fn clear(&self) {
        let kept = mem::take(&mut *self.lock());
        let bytes = kept.bytes;
        drop(kept);
        self.memory.remove(bytes);
    }
}

impl Drop for ReadPool {
    fn drop(&mut self) {
        let kept = mem::take(&mut *self.lock());
        self.memory.remove(kept.bytes);
        self.spare.exchange(kept);
    }
}

impl SpareMemory {
    /// Leaves `buffers`, and takes what was left before.
    fn exchange(&self, buffers: Buffers) -> Buffers {
        exchange(&self.buffers, buffers)
    }

    /// Leaves memory of dropped batches, and takes what was left before.
    pub(crate) fn exchange_batches(&self, batches: Option<Spare>) -> Option<Spare> {
        exchange(&self.batches, batches)
    }
}

/// Replaces what is there. It waits for nobody: in a forked process, there may be nobody who would unlock it.
fn exchange<T: Default>(of: &Mutex<T>, new: T) -> T {
    match of.try_lock() {
        Ok(mut old) => mem::replace(&mut old, new),
        Err(_) => T::default(),
    }
}

impl fmt::Debug for SpareMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SpareMemory").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool(limit: u64, spare: &Arc<SpareMemory>) -> (Arc<Memory>, Arc<ReadPool>) {
        let memory = Arc::new(Memory::new(limit, false));
        (memory.clone(), ReadPool::new(memory, spare.clone()))
    }

    /// Reads `len` bytes, and says where they lay.
    fn read(memory: &Arc<Memory>, pool: &Arc<ReadPool>, len: usize) -> Option<*const u8> {
        let lease = Lease::try_new(memory, len as u64)?;
        Some(pool.take(len, lease).freeze(len).as_ptr())
    }

    #[test]
    fn the_next_iteration_has_the_buffers_and_counts_them() {
        let spare = Arc::default();
        let (memory, pool) = self::pool(64_000, &spare);
        let first = read(&memory, &pool, 1_000);
        drop(pool);
        assert_eq!(memory.held(), 0);
        let (memory, pool) = self::pool(64_000, &spare);
        assert_eq!(memory.held(), 1_000);
        // Another iteration at the same time has none.
        assert_eq!(self::pool(64_000, &spare).0.held(), 0);
        assert_eq!(read(&memory, &pool, 1_000), first);
        assert_eq!((memory.held(), pool.used()), (1_000, 0));
        // They go where memory is missing.
        assert!(memory.try_add(64_000));
    }

    #[test]
    fn buffers_that_do_not_fit_are_freed() {
        let spare = Arc::default();
        let (memory, pool) = self::pool(64_000, &spare);
        assert!(read(&memory, &pool, 1_000).is_some());
        drop((memory, pool));
        let (memory, pool) = self::pool(999, &spare);
        assert_eq!(memory.held(), 0);
        drop((memory, pool));
        assert_eq!(self::pool(64_000, &spare).0.held(), 0);
    }

    #[test]
    fn nobody_waits_for_spare_buffers() {
        let spare: Arc<SpareMemory> = Arc::default();
        let _locked = spare.buffers.lock();
        let (memory, pool) = self::pool(64_000, &spare);
        assert!(read(&memory, &pool, 1_000).is_some());
        drop(pool);
        assert_eq!(memory.held(), 0);
    }
}
