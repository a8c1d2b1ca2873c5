//! The buffer that payloads are decompressed into.

use std::collections::TryReserveError;
use std::fmt;
use std::ops::Deref;

use bytes::{Bytes, BytesMut};

use crate::DecompressError;

/// A reusable buffer of decompressed bytes. It dereferences to the bytes of the last payload.
///
/// The memory is zeroed when it grows, and never again: clearing or refilling a buffer costs
/// nothing. So keep buffers and give them to the next [`Decompressor::decompress`].
///
/// [`Decompressor::decompress`]: crate::Decompressor::decompress
#[derive(Clone, Default)]
pub struct DecompressBuffer {
    room: Room,
    /// Length of the payload at the front of `room`.
    len: usize,
}

/// Memory that is initialised over its whole length.
#[derive(Clone, Debug, Default)]
pub(crate) struct Room(BytesMut);

impl DecompressBuffer {
    /// An empty buffer, which allocates nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty buffer that uses the memory of `room`, and allocates only to grow beyond it.
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

    /// The address of the buffer's memory.
    #[doc(hidden)]
    pub fn room(&self) -> *const u8 {
        self.room.0.as_ptr()
    }

    /// The capacity to allocate for `len` bytes: the next of few sizes, at most an eighth above
    /// `len`. Reused buffers for payloads of similar size then soon fit every payload without
    /// growing again.
    #[doc(hidden)]
    pub fn capacity_for(len: usize) -> usize {
        let step = (len / 16).next_power_of_two();
        len.checked_next_multiple_of(step).unwrap_or(len)
    }

    /// Replaces the contents with a copy of `bytes`.
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

    /// Grows to at least `capacity` bytes in all, or somewhat more if `limit` allows it. The
    /// contents stay.
    pub(crate) fn grow_to(&mut self, capacity: usize, limit: usize) -> Result<(), DecompressError> {
        if capacity <= self.capacity() {
            return Ok(());
        }
        let capacity = Self::capacity_for(capacity).min(limit.max(capacity));
        self.room
            .replace(capacity, self.len)
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

    /// The unused memory after the payload, up to `limit` bytes in all.
    pub(crate) fn spare(&mut self, limit: usize) -> &mut [u8] {
        let end = self.capacity().min(limit);
        &mut self.room.0[self.len.min(end)..end]
    }

    /// All the memory, and the length of the payload in it.
    #[cfg(feature = "deflate")]
    pub(crate) fn parts(&mut self) -> (&mut Room, &mut usize) {
        (&mut self.room, &mut self.len)
    }

    /// Adds `n` bytes, just written to [`spare`](Self::spare), to the payload.
    pub(crate) fn advance(&mut self, n: usize) {
        self.len += n;
        debug_assert!(self.len <= self.capacity());
    }
}

impl Room {
    /// Replaces the memory with `len` bytes, and copies the first `kept` bytes over.
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
