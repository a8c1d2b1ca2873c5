//! Buffers of drained blocks, kept for the next blocks.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use avro_block::InflateBuffer;

use crate::limits::{MAX_SPARE_BYTES, SMALL_BUFFER};

/// Buffers that nobody uses.
#[derive(Debug, Default)]
pub(crate) struct Spare(Mutex<Buffers>);

#[derive(Debug, Default)]
struct Buffers {
    /// By their capacity, of which there are few. Of those with the same, the
    /// one that was given last may still be in a cache.
    buffers: BTreeMap<usize, Vec<InflateBuffer>>,
    /// Bytes of memory they hold.
    bytes: usize,
}

impl Spare {
    /// A copy of `bytes`, in the smallest buffer with room for them, or one made
    /// for them if that would be far too large.
    pub(crate) fn copy(&self, bytes: &[u8]) -> InflateBuffer {
        let mut buffer = self.take_fitting(bytes.len());
        buffer.assign(bytes);
        buffer
    }

    fn take_fitting(&self, len: usize) -> InflateBuffer {
        let mut spare = self.lock();
        let fitting = spare.buffers.range_mut(len..=2 * len + SMALL_BUFFER);
        let smallest = fitting.map(|(_, alike)| alike).find_map(Vec::pop);
        let buffer = smallest.unwrap_or_default();
        spare.bytes -= buffer.capacity();
        buffer
    }

    pub(crate) fn give(&self, buffer: InflateBuffer) {
        let mut spare = self.lock();
        if spare.bytes + buffer.capacity() <= MAX_SPARE_BYTES {
            spare.bytes += buffer.capacity();
            let alike = spare.buffers.entry(buffer.capacity()).or_default();
            alike.push(buffer);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Buffers> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
