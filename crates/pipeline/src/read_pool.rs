//! The buffers of reads, with the memory that they keep.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::{fmt, mem};

use atds_format::{Arena, BufferPool, ByteSource, ReadBuffer};
use bytes::{Bytes, BytesMut};
use tensor_batch::Spare;

use crate::memory::{Cache, Lease, Memory};
use crate::tuning::KEPT_SHARE;

/// The largest arena: systems refuse to reserve much more than they have.
const MAX_ARENA_BYTES: u64 = 256 << 20;

/// The buffers of reads and of payloads that are copied out of them. They count by their capacity as
/// long as a slice of them is used, or they are kept for others and are no parts of the arena.
#[derive(Debug)]
pub(crate) struct ReadPool {
    memory: Arc<Memory>,
    kept: Mutex<Buffers>,
    /// Gets what is kept when the iteration is over.
    spare: Arc<SpareMemory>,
    /// Bytes of the buffers of which a slice is used.
    used: AtomicU64,
}

/// With what workers read the payloads of a file.
#[derive(Clone, Debug)]
pub(crate) struct FileReads {
    pub(crate) source: Arc<dyn ByteSource>,
    pub(crate) pool: Arc<ReadPool>,
    /// Whether workers check the bytes of blocks. If not, all bytes of a block are its payload, and decoding checks them.
    pub(crate) checks: bool,
    /// The planning thread counts the clones of this: the number of files that are open for workers.
    pub(crate) _open: Arc<()>,
}

/// The memory that an iteration leaves for the next, so that short epochs need not make it again: of buffers of reads,
/// of dropped batches, and the arena, at most a 64th of its memory limit each.
#[derive(Default)]
pub struct SpareMemory {
    buffers: Mutex<Buffers>,
    batches: Mutex<Option<Spare>>,
}

#[derive(Debug, Default)]
struct Buffers {
    /// By their length, of which there are few. The last one may still be in a cache.
    by_len: BTreeMap<usize, Vec<BytesMut>>,
    bytes: u64,
    /// Lends its parts to the buffers of a shuffled window, as long as it has some. Its free parts do not count.
    arena: Arena,
}

impl ReadPool {
    /// A pool with what an iteration before has left. Its buffers are parts of an arena if many wait, to be read in a
    /// `random` order.
    pub(crate) fn new(memory: Arc<Memory>, spare: Arc<SpareMemory>, random: bool) -> Arc<Self> {
        Arc::new_cyclic(|pool: &Weak<ReadPool>| {
            let kept = spare.exchange(Buffers::default());
            let mut kept = match memory.try_add(kept.bytes) {
                true => kept,
                false => Buffers::default(),
            };
            if random && kept.arena.is_empty() {
                let bytes = (memory.limit() / KEPT_SHARE).min(MAX_ARENA_BYTES);
                kept.arena = Arena::new(bytes as usize);
            }
            memory.add_cache(pool.clone());
            ReadPool {
                memory,
                kept: Mutex::new(kept),
                spare,
                used: AtomicU64::new(0),
            }
        })
    }

    /// A copy of `bytes`, for which there is a lease; best of as many bytes as they are
    /// [`rounded`](Arena::rounded) to.
    pub(crate) fn copy(self: &Arc<Self>, bytes: &[u8], lease: Lease) -> Bytes {
        let mut buffer = self.take(lease.bytes() as usize, lease);
        buffer.space(bytes.len()).copy_from_slice(bytes);
        buffer.freeze(bytes.len())
    }

    /// A buffer of `len` bytes, for which there is a lease.
    pub(crate) fn take(self: &Arc<Self>, len: usize, lease: Lease) -> ReadBuffer {
        let mut kept = self.lock();
        let fitting = kept.by_len.range_mut(len..=len + len / 8);
        let counted = fitting.map(|(_, alike)| alike).find_map(Vec::pop);
        kept.bytes -= counted.as_ref().map_or(0, BytesMut::capacity) as u64;
        let part = match counted {
            Some(_) => None,
            None => kept.arena.take(len),
        };
        drop(kept);
        // A buffer that was kept counts already.
        let buffer = counted.unwrap_or_else(|| {
            lease.forget();
            part.unwrap_or_else(|| BytesMut::zeroed(len))
        });
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
    fn give_back(&self, buffer: BytesMut, capacity: usize) {
        self.used.fetch_sub(capacity as u64, Relaxed);
        let mut kept = self.lock();
        if kept.arena.has(&buffer) {
            kept.arena.give_back(buffer);
            drop(kept);
            return self.memory.remove(capacity as u64);
        }
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
        let mut kept = self.lock();
        let (freed, bytes) = (mem::take(&mut kept.by_len), mem::take(&mut kept.bytes));
        drop(kept);
        drop(freed);
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
#[allow(clippy::unwrap_used, reason = "a panic is a failure")]
mod tests {
    use super::*;

    fn pool(limit: u64, spare: &Arc<SpareMemory>) -> (Arc<Memory>, Arc<ReadPool>) {
        let memory = Arc::new(Memory::new(limit, false));
        (memory.clone(), ReadPool::new(memory, spare.clone(), false))
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
    fn parts_of_the_arena_count_while_they_are_used() {
        let spare: Arc<SpareMemory> = Arc::default();
        let memory = Arc::new(Memory::new(1 << 20, false));
        let pool = ReadPool::new(memory.clone(), spare.clone(), true);
        let buffer = |len: u64| pool.take(len as usize, Lease::try_new(&memory, len).unwrap());
        let first = buffer(4_096);
        let at = first.as_ref().as_ptr();
        // The arena has 16 KiB.
        let others = [buffer(1_024), buffer(16_384), buffer(1_000)];
        assert_eq!(memory.held(), 4_096 + 1_024 + 16_384 + 1_000);
        drop(first);
        assert_eq!(memory.held(), 1_024 + 16_384 + 1_000);
        // No smaller one has the part: it would count for less than it is.
        assert_ne!(buffer(3_968).as_ref().as_ptr(), at);
        assert_eq!(buffer(4_096).as_ref().as_ptr(), at);
        drop(others);
        memory.clear_caches();
        assert_eq!((memory.held(), pool.used()), (0, 0));
        drop(pool);
        let pool = ReadPool::new(memory.clone(), spare, true);
        let lease = Lease::try_new(&memory, 4_096).unwrap();
        assert_eq!(pool.take(4_096, lease).as_ref().as_ptr(), at);
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
