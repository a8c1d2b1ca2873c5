//! The buffer that payloads are decompressed into.

use std::collections::TryReserveError;
use std::fmt;
use std::mem;
use std::ops::Deref;

use bytes::BytesMut;

use crate::DecompressError;

/// A reusable buffer of decompressed bytes. It dereferences to the bytes of the last payload.
///
/// The memory is zeroed when it grows, and never again: clearing or refilling a buffer costs
/// nothing. So keep buffers and give them to the next [`Decompressor::decompress`].
///
/// [`Decompressor::decompress`]: crate::Decompressor::decompress
#[derive(Clone, Default)]
pub struct DecompressBuffer {
    memory: Memory,
    /// Length of the data at the front of `memory`.
    len: usize,
}

/// Memory that is initialised over its whole length: that which it was given, until it grows beyond it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Memory {
    given: BytesMut,
    own: Vec<u8>,
}

impl DecompressBuffer {
    /// An empty buffer, which allocates nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty buffer in `memory`, until [`take_memory`](Self::take_memory). A payload that needs more gets memory of the
    /// buffer's own.
    pub fn with_memory(memory: BytesMut) -> Self {
        DecompressBuffer {
            memory: Memory {
                given: memory,
                own: Vec::new(),
            },
            len: 0,
        }
    }

    /// Takes the memory of [`with_memory`](Self::with_memory) out, all of it; empty if there is none. The buffer is then
    /// empty, with memory of its own if it has some.
    pub fn take_memory(&mut self) -> BytesMut {
        self.len = 0;
        mem::take(&mut self.memory.given)
    }

    /// Bytes the buffer can hold before it grows.
    pub fn capacity(&self) -> usize {
        self.memory.bytes().len()
    }

    /// Empties the buffer and keeps its memory.
    pub(crate) fn clear(&mut self) {
        self.len = 0;
    }

    /// Frees memory of its own after the contents. Nothing is copied if it is large.
    pub fn shrink_to_fit(&mut self) {
        self.memory.own.truncate(self.len);
        self.memory.own.shrink_to_fit();
    }

    /// Grows to at least `capacity` bytes in all, or somewhat more if `limit` allows it. The
    /// contents stay.
    pub(crate) fn grow_to(&mut self, capacity: usize, limit: usize) -> Result<(), DecompressError> {
        if capacity <= self.capacity() {
            return Ok(());
        }
        let capacity = capacity_for(capacity).min(limit.max(capacity));
        self.memory
            .grow_to(capacity, self.len)
            .map_err(|_| DecompressError::OutOfMemory)
    }

    /// Doubles the capacity, up to `limit` bytes in all, for codecs that do not know the
    /// decompressed size.
    #[cfg(any(
        feature = "deflate",
        feature = "zstandard",
        feature = "bzip2",
        feature = "xz"
    ))]
    pub(crate) fn grow(&mut self, limit: usize) -> Result<(), DecompressError> {
        let doubled = self.capacity().saturating_mul(2);
        self.grow_to(
            doubled.max(crate::limits::MIN_DECOMPRESS_BYTES).min(limit),
            limit,
        )
    }

    /// The free memory after the data, up to `limit` bytes in all.
    pub(crate) fn free(&mut self, limit: usize) -> &mut [u8] {
        let end = self.capacity().min(limit);
        &mut self.memory.bytes_mut()[self.len.min(end)..end]
    }

    /// All the memory, and the length of the data in it.
    #[cfg(feature = "deflate")]
    pub(crate) fn parts(&mut self) -> (&mut Memory, &mut usize) {
        (&mut self.memory, &mut self.len)
    }

    /// Adds `n` bytes, just written to [`free`](Self::free), to the data.
    pub(crate) fn advance(&mut self, n: usize) {
        self.len += n;
        debug_assert!(self.len <= self.capacity());
    }
}

/// The capacity that a buffer for `len` bytes gets: the next of few sizes, at most an eighth above
/// `len`. Reused buffers for payloads of similar size then soon fit every payload without growing
/// again.
fn capacity_for(len: usize) -> usize {
    let step = (len / 16).next_power_of_two();
    len.checked_next_multiple_of(step).unwrap_or(len)
}

impl Memory {
    /// Grows to `len` bytes, of which the first `kept` stay. Large memory of its own is moved by the system, so
    /// that old and new memory are never there at a time.
    fn grow_to(&mut self, len: usize, kept: usize) -> Result<(), TryReserveError> {
        let in_given = if self.own.is_empty() { kept } else { 0 };
        self.own.truncate(kept);
        self.own.try_reserve_exact(len - self.own.len())?;
        self.own.extend_from_slice(&self.given[..in_given]);
        self.own.resize(len, 0);
        Ok(())
    }

    fn bytes(&self) -> &[u8] {
        match self.own.is_empty() {
            true => &self.given,
            false => &self.own,
        }
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        match self.own.is_empty() {
            true => &mut self.given,
            false => &mut self.own,
        }
    }
}

#[cfg(feature = "deflate")]
impl atds_inflate::Output for Memory {
    fn bytes(&mut self) -> &mut [u8] {
        self.bytes_mut()
    }

    fn lengthen(&mut self, len: usize) -> Result<(), TryReserveError> {
        self.grow_to(len, Memory::bytes(self).len())
    }
}

impl Deref for DecompressBuffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.memory.bytes()[..self.len]
    }
}

impl AsRef<[u8]> for DecompressBuffer {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl fmt::Debug for DecompressBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DecompressBuffer")
            .field("len", &self.len)
            .field("capacity", &self.capacity())
            .finish()
    }
}
