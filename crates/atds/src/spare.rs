//! Buffers of drained blocks, kept for the next blocks.

use std::sync::{Mutex, MutexGuard, PoisonError};

use avro_block::InflateBuffer;

use crate::limits::{MAX_SPARE_BYTES, SMALL_BUFFER};

/// How many buffers are looked at for one of the right size. Most blocks of a
/// file are about as large, so the first is usually one.
const LOOKED_AT: usize = 8;

/// Buffers that nobody uses.
#[derive(Debug, Default)]
pub(crate) struct Spare(Mutex<Buffers>);

#[derive(Debug, Default)]
struct Buffers {
    buffers: Vec<InflateBuffer>,
    /// Bytes of memory they hold.
    bytes: usize,
}

impl Spare {
    /// The buffer that was given last: it may still be in a cache.
    pub(crate) fn take(&self) -> InflateBuffer {
        let mut spare = self.lock();
        let last = spare.buffers.len();
        spare.take(last.wrapping_sub(1))
    }

    /// A copy of `bytes`, in a buffer that is not much larger.
    pub(crate) fn copy(&self, bytes: &[u8]) -> InflateBuffer {
        let mut buffer = self.take_fitting(bytes.len());
        buffer.assign(bytes);
        buffer
    }

    pub(crate) fn give(&self, buffer: InflateBuffer) {
        let mut spare = self.lock();
        if spare.bytes + buffer.capacity() <= MAX_SPARE_BYTES {
            spare.bytes += buffer.capacity();
            spare.buffers.push(buffer);
        }
    }

    fn take_fitting(&self, len: usize) -> InflateBuffer {
        let mut spare = self.lock();
        let found = spare
            .buffers
            .iter()
            .rev()
            .take(LOOKED_AT)
            .position(|buffer| {
                let capacity = buffer.capacity();
                capacity >= len && !is_wasteful(capacity, len)
            });
        match found {
            Some(i) => {
                let i = spare.buffers.len() - 1 - i;
                spare.take(i)
            }
            None => InflateBuffer::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Buffers> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Buffers {
    /// Buffer `i`, an empty one if there is none.
    fn take(&mut self, i: usize) -> InflateBuffer {
        if i >= self.buffers.len() {
            return InflateBuffer::new();
        }
        let buffer = self.buffers.swap_remove(i);
        self.bytes -= buffer.capacity();
        buffer
    }
}

/// Whether a buffer of `capacity` is far too large to be held for `len` bytes.
pub(crate) fn is_wasteful(capacity: usize, len: usize) -> bool {
    capacity > 2 * len + SMALL_BUFFER
}
