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
    /// The largest buffer, for what may be of any size; an empty one if there is
    /// none.
    pub(crate) fn take(&self) -> InflateBuffer {
        let mut spare = self.lock();
        let largest = spare.buffers.values_mut().rev().find_map(Vec::pop);
        spare.taken(largest)
    }

    /// A copy of `bytes`, in the smallest buffer with room for them, or one made
    /// for them if that would be far too large.
    pub(crate) fn copy(&self, bytes: &[u8]) -> InflateBuffer {
        let mut buffer = self.take_fitting(bytes.len());
        buffer.assign(bytes);
        buffer
    }

    fn take_fitting(&self, len: usize) -> InflateBuffer {
        let mut spare = self.lock();
        let fitting = spare.buffers.range_mut(len..=largest_for(len));
        let smallest = fitting.map(|(_, alike)| alike).find_map(Vec::pop);
        spare.taken(smallest)
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

impl Buffers {
    fn taken(&mut self, buffer: Option<InflateBuffer>) -> InflateBuffer {
        let buffer = buffer.unwrap_or_default();
        self.bytes -= buffer.capacity();
        buffer
    }
}

/// Whether a buffer of `capacity` is far too large to be held for `len` bytes.
pub(crate) fn is_wasteful(capacity: usize, len: usize) -> bool {
    capacity > largest_for(len)
}

/// The largest capacity that is not far too large for `len` bytes.
fn largest_for(len: usize) -> usize {
    2 * len + SMALL_BUFFER
}
