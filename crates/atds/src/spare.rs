//! Memory for blocks: that of drained ones, kept for the next.

use std::collections::BTreeMap;
use std::mem;
use std::ops::{Deref, RangeInclusive};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use avro_block::{DecompressBuffer, DecompressError};

use crate::limits::{MAX_SPARE_BYTES, SMALL_BUFFER};
use crate::slab::Slab;

/// Buffers that nobody uses, and the memory that others are made of.
#[derive(Debug, Default)]
pub(crate) struct Spare(Mutex<Buffers>);

#[derive(Debug, Default)]
struct Buffers {
    /// By their capacity, of which there are few. Of those with the same, the
    /// one that was given last may still be in a cache.
    buffers: BTreeMap<usize, Vec<DecompressBuffer>>,
    slab: Slab,
    /// Bytes of memory that the buffers hold besides the slab.
    bytes: usize,
}

/// A buffer that a block waits in, given back when it is dropped, wherever that is.
#[derive(Debug)]
pub(crate) struct Lent {
    buffer: DecompressBuffer,
    spare: Arc<Spare>,
}

impl Spare {
    /// What has been decompressed into `buffer`, with its memory if that is not much more.
    pub(crate) fn keep(
        self: &Arc<Self>,
        buffer: &mut DecompressBuffer,
    ) -> Result<Lent, DecompressError> {
        match fits(buffer.len()).contains(&buffer.capacity()) {
            true => Ok(self.lent(mem::take(buffer))),
            false => self.copy(buffer),
        }
    }

    /// A copy of `bytes`, in a buffer that fits.
    pub(crate) fn copy(self: &Arc<Self>, bytes: &[u8]) -> Result<Lent, DecompressError> {
        let mut buffer = self.take(bytes.len());
        buffer.assign(bytes)?;
        Ok(self.lent(buffer))
    }

    fn lent(self: &Arc<Self>, buffer: DecompressBuffer) -> Lent {
        Lent {
            buffer,
            spare: self.clone(),
        }
    }

    /// Bytes that may be decompressed into `buffer`. A part of the slab would be lost if it was
    /// left for larger memory.
    pub(crate) fn limit(&self, buffer: &DecompressBuffer) -> usize {
        match self.lock().slab.have(buffer.as_ptr()) {
            true => buffer.capacity(),
            false => usize::MAX,
        }
    }

    /// The smallest buffer that fits `len` bytes, or one made for them.
    pub(crate) fn take(&self, len: usize) -> DecompressBuffer {
        let mut spare = self.lock();
        let fitting = spare.buffers.range_mut(fits(len));
        if let Some(buffer) = fitting.map(|(_, alike)| alike).find_map(Vec::pop) {
            if !spare.slab.have(buffer.as_ptr()) {
                spare.bytes -= buffer.capacity();
            }
            return buffer;
        }
        let part = spare.slab.part(DecompressBuffer::capacity_for(len));
        // One without any memory finds its own.
        part.map(DecompressBuffer::from_memory).unwrap_or_default()
    }

    /// Takes a buffer back that a block has waited in.
    fn give(&self, buffer: DecompressBuffer) {
        self.lock().give(buffer, MAX_SPARE_BYTES);
    }

    /// Takes a buffer back that no block fits. There may never be one, so that only
    /// what cannot be freed is kept.
    pub(crate) fn give_misfit(&self, buffer: DecompressBuffer) {
        // Mostly there is none: its memory was taken away.
        if buffer.capacity() > 0 {
            self.lock().give(buffer, 0);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Buffers> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Deref for Lent {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.buffer
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        self.spare.give(mem::take(&mut self.buffer));
    }
}

impl Buffers {
    /// Takes a buffer back: a part of the slab, or one with which the others hold
    /// `most` bytes.
    fn give(&mut self, buffer: DecompressBuffer, most: usize) {
        let capacity = buffer.capacity();
        if !self.slab.have(buffer.as_ptr()) {
            if capacity == 0 || self.bytes + capacity > most {
                return;
            }
            self.bytes += capacity;
        }
        let alike = self.buffers.entry(capacity).or_default();
        alike.push(buffer);
    }
}

/// The capacities of buffers that `len` bytes may wait in: a third more at most. As
/// blocks are decompressed into buffers for the largest of them, those that are much
/// smaller have others.
pub(crate) fn fits(len: usize) -> RangeInclusive<usize> {
    len..=len + len / 3 + SMALL_BUFFER
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::MAX_PART_BYTES;

    fn filled(mut buffer: DecompressBuffer, len: usize) -> DecompressBuffer {
        buffer.assign(&vec![7; len]).expect("memory");
        buffer
    }

    #[test]
    fn what_fits_is_kept_and_what_is_roomy_is_copied() {
        let spare = Arc::new(Spare::default());
        let mut buffer = filled(spare.take(16_000), 13_000);
        let room = buffer.as_ptr();
        let kept = spare.keep(&mut buffer).expect("memory");
        assert_eq!((kept.as_ptr(), kept.len()), (room, 13_000));
        assert_eq!(buffer.capacity(), 0);
        drop(kept);
        assert_eq!(spare.take(13_000).as_ptr(), room);

        let mut buffer = filled(spare.take(16_000), 9_000);
        let copied = spare.keep(&mut buffer).expect("memory");
        assert_eq!(*copied, [7; 9_000]);
        assert!(fits(9_000).contains(&copied.buffer.capacity()));
        assert!(fits(16_000).contains(&buffer.capacity()));
    }

    #[test]
    fn a_buffer_that_is_given_back_is_taken_again_by_what_it_fits() {
        let spare = Spare::default();
        let buffer = spare.take(16_000);
        let room = buffer.as_ptr();
        spare.give(buffer);
        assert_ne!(spare.take(8_000).as_ptr(), room);
        assert_ne!(spare.take(20_000).as_ptr(), room);
        assert_eq!(spare.take(14_000).as_ptr(), room);
    }

    #[test]
    fn memory_besides_the_slab_is_kept_up_to_a_limit_and_no_misfit_of_it() {
        let spare = Spare::default();
        let own = || filled(spare.take(MAX_PART_BYTES + 1), MAX_PART_BYTES + 1);
        spare.give_misfit(own());
        assert_eq!(spare.lock().bytes, 0);
        let buffers: Vec<_> = (0..100).map(|_| own()).collect();
        let capacity = buffers[0].capacity();
        buffers.into_iter().for_each(|buffer| spare.give(buffer));
        let kept = MAX_SPARE_BYTES / capacity * capacity;
        assert_eq!(spare.lock().bytes, kept);
        spare.take(MAX_PART_BYTES + 1);
        assert_eq!(spare.lock().bytes, kept - capacity);

        let part = spare.take(16_000);
        let room = part.as_ptr();
        spare.give_misfit(part);
        assert_eq!(spare.take(16_000).as_ptr(), room);
    }

    #[test]
    fn a_part_of_the_slab_is_not_to_be_left() {
        let spare = Spare::default();
        let part = spare.take(16_000);
        assert_eq!(spare.limit(&part), part.capacity());
        assert_eq!(spare.limit(&DecompressBuffer::new()), usize::MAX);
        let own = filled(DecompressBuffer::new(), 16_000);
        assert_eq!(spare.limit(&own), usize::MAX);
    }

    #[test]
    fn buffers_without_memory_are_not_kept() {
        let spare = Spare::default();
        spare.give_misfit(DecompressBuffer::new());
        spare.give(DecompressBuffer::new());
        assert!(spare.lock().buffers.is_empty());
    }
}
