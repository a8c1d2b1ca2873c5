//! The buffer payloads are decompressed into.

use std::collections::TryReserveError;
use std::fmt;
use std::ops::Deref;

use bytes::{Bytes, BytesMut};

use super::DecompressError;

/// A reusable buffer of decompressed bytes; dereferences to the bytes of the last payload.
///
/// Its memory is zeroed once, when it grows, and never again: clearing or refilling a buffer
/// costs nothing, so keep buffers and give them to the next [`Decompressor::decompress`].
///
/// [`Decompressor::decompress`]: super::Decompressor::decompress
#[derive(Clone, Default)]
pub struct DecompressBuffer {
    room: Room,
    /// How much of `room` is the payload.
    len: usize,
}

/// Memory that is initialised over its whole length.
#[derive(Clone, Debug, Default)]
pub(super) struct Room(BytesMut);

impl DecompressBuffer {
    /// An empty buffer, which allocates nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty buffer that has all of `room`, and other memory from when it must grow beyond that.
    #[doc(hidden)]
    pub fn with_room(room: BytesMut) -> Self {
        DecompressBuffer {
            room: Room(room),
            len: 0,
        }
    }

    /// Bytes the buffer can hold before it grows.
    pub fn capacity(&self) -> usize {
        self.room.0.len()
    }

    /// Where its memory begins.
    #[doc(hidden)]
    pub fn room(&self) -> *const u8 {
        self.room.0.as_ptr()
    }

    /// The capacity to give a buffer for `len` bytes: the next of few sizes, at most an eighth
    /// above. Buffers that are used again for payloads of about the same size then soon have room
    /// for all of them, and not for the largest so far.
    #[doc(hidden)]
    pub fn capacity_for(len: usize) -> usize {
        let step = (len / 16).next_power_of_two();
        len.checked_next_multiple_of(step).unwrap_or(len)
    }

    /// Puts a copy of `bytes` in place of what is there.
    ///
    /// # Errors
    /// [`DecompressError::OutOfMemory`].
    pub fn assign(&mut self, bytes: &[u8]) -> Result<(), DecompressError> {
        self.len = 0;
        self.grow_to(bytes.len(), usize::MAX)?;
        self.room.0[..bytes.len()].copy_from_slice(bytes);
        self.len = bytes.len();
        Ok(())
    }

    /// Empties the buffer and keeps its memory.
    pub fn clear(&mut self) {
        self.len = 0;
    }

    /// Makes room for `capacity` bytes in all, or somewhat more if `limit` allows it, and keeps
    /// what is there.
    pub(super) fn grow_to(&mut self, capacity: usize, limit: usize) -> Result<(), DecompressError> {
        if capacity <= self.capacity() {
            return Ok(());
        }
        let capacity = Self::capacity_for(capacity).min(limit.max(capacity));
        self.room
            .replace(capacity, self.len)
            .map_err(|_| DecompressError::OutOfMemory)
    }

    /// Doubles the room, up to `limit` bytes in all, for codecs that do not know their size.
    #[cfg(any(
        feature = "deflate",
        feature = "zstandard",
        feature = "bzip2",
        feature = "xz"
    ))]
    pub(super) fn grow(&mut self, limit: usize) -> Result<(), DecompressError> {
        let doubled = self.capacity().saturating_mul(2);
        self.grow_to(
            doubled.max(crate::limits::MIN_DECOMPRESS_BYTES).min(limit),
            limit,
        )
    }

    /// The room behind the bytes that are there, up to `limit` bytes in all.
    pub(super) fn spare(&mut self, limit: usize) -> &mut [u8] {
        let end = self.capacity().min(limit);
        &mut self.room.0[self.len.min(end)..end]
    }

    /// All the memory, and how much of it is the payload.
    #[cfg(feature = "deflate")]
    pub(super) fn parts(&mut self) -> (&mut Room, &mut usize) {
        (&mut self.room, &mut self.len)
    }

    /// Counts `n` bytes of [`spare`](Self::spare) in.
    pub(super) fn advance(&mut self, n: usize) {
        self.len += n;
        debug_assert!(self.len <= self.capacity());
    }
}

impl Room {
    /// Other memory, of `len` bytes, the first `kept` of which are what they were.
    fn replace(&mut self, len: usize, kept: usize) -> Result<(), TryReserveError> {
        let mut room = Vec::new();
        room.try_reserve_exact(len)?;
        room.extend_from_slice(&self.0[..kept]);
        room.resize(len, 0);
        self.0 = Bytes::from(room).into();
        Ok(())
    }
}

#[cfg(feature = "deflate")]
impl atds_inflate::Output for Room {
    fn bytes(&mut self) -> &mut [u8] {
        &mut self.0
    }

    fn lengthen(&mut self, len: usize) -> Result<(), TryReserveError> {
        self.replace(len, self.0.len())
    }
}

impl Deref for DecompressBuffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.room.0[..self.len]
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
