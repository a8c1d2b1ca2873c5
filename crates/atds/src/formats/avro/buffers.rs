//! The buffers of decompressed blocks.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use atds_format::{Arena, Prepared};
use avro_block::DecompressBuffer;

use crate::lock::lock;

/// The records of a compressed block, in memory that is used again.
#[derive(Debug)]
pub(super) struct DecompressedBlock {
    pub(super) buffer: DecompressBuffer,
    pool: Arc<BufferPool>,
}

impl Drop for DecompressedBlock {
    fn drop(&mut self) {
        self.pool.give_back(std::mem::take(&mut self.buffer));
    }
}

/// Buffers of decompressed blocks that are not used.
#[derive(Debug)]
pub(crate) struct BufferPool {
    unused: Mutex<Unused>,
    most_bytes: usize,
}

#[derive(Debug)]
struct Unused {
    /// In the order in which they were given back.
    buffers: VecDeque<DecompressBuffer>,
    /// Lends its parts to the buffers of blocks that wait in a shuffled window.
    arena: Arena,
}

/// The most unused buffers, and their bytes. They do not count, so they are a small part of the memory
/// limit, too.
const MAX_UNUSED: usize = 128;
const MAX_UNUSED_BYTES: u64 = 32 << 20;
const UNUSED_SHARE: u64 = 64;

/// Bytes of a block below which its buffer is no part of the arena: the least buffer would be larger than the part.
const SMALL_BLOCK: usize = 4 << 10;

/// The largest capacity of a buffer of its own that holds a block of `len` bytes. So what a block counts for depends
/// on its size alone, and not on the buffers that are free.
fn most_capacity(len: usize) -> usize {
    len + len / 3 + 256
}

impl BufferPool {
    /// A pool for blocks that are read in a `random` order, or not.
    pub(crate) fn new(memory_limit: u64, random: bool) -> Self {
        let most_bytes = MAX_UNUSED_BYTES.min(memory_limit / UNUSED_SHARE) as usize;
        BufferPool {
            unused: Mutex::new(Unused {
                buffers: VecDeque::new(),
                arena: Arena::new(if random { most_bytes } else { 0 }),
            }),
            most_bytes,
        }
    }

    /// A buffer for `len` bytes: a new one if none is large enough and not too large. The one that was
    /// used last may still be in a cache.
    pub(crate) fn take(&self, len: usize) -> DecompressBuffer {
        let Unused { buffers, arena } = &mut *lock(&self.unused);
        let fits =
            |buffer: &DecompressBuffer| (len..=most_capacity(len)).contains(&buffer.capacity());
        // An eighth more than the blocks before needed: few blocks outgrow it.
        let part = Some(Arena::rounded(len + len / 8)).filter(|_| len >= SMALL_BLOCK);
        if let Some(part) = part.and_then(|part| arena.take(part)) {
            return DecompressBuffer::with_memory(part);
        }
        let found = buffers.iter().rposition(fits);
        found.and_then(|at| buffers.remove(at)).unwrap_or_default()
    }

    /// The block that was decompressed into `buffer`, which returns to the pool after it.
    pub(super) fn prepared(self: &Arc<Self>, mut buffer: DecompressBuffer) -> Prepared {
        let (bytes, memory_bytes) = (buffer.len(), most_capacity(buffer.len()));
        if buffer.capacity() > memory_bytes {
            buffer.shrink_to_fit();
        }
        let pool = self.clone();
        Prepared::of_value(DecompressedBlock { buffer, pool }, bytes, memory_bytes)
    }

    /// Keeps the buffer, and lets those go that were not used for longest.
    pub(super) fn give_back(&self, mut buffer: DecompressBuffer) {
        let Unused { buffers, arena } = &mut *lock(&self.unused);
        let part = buffer.take_memory();
        if arena.has(&part) {
            arena.give_back(part);
        }
        if buffer.capacity() == 0 {
            return;
        }
        buffers.push_back(buffer);
        let mut bytes: usize = buffers.iter().map(DecompressBuffer::capacity).sum();
        while (buffers.len() > MAX_UNUSED || bytes > self.most_bytes)
            && let Some(oldest) = buffers.pop_front()
        {
            bytes -= oldest.capacity();
        }
    }
}
