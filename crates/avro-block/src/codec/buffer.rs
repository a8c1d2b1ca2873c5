//! The buffer payloads are inflated into.

use std::fmt;
use std::ops::Deref;

use super::InflateError;

/// A reusable buffer of inflated bytes; dereferences to the bytes of the last payload.
///
/// Its memory is zeroed once, when it grows, and never again: clearing or refilling a buffer
/// costs nothing, so keep buffers and give them to the next [`Inflater::inflate`].
///
/// [`Inflater::inflate`]: super::Inflater::inflate
#[derive(Clone, Default)]
pub struct InflateBuffer {
    /// Initialised over its whole length.
    room: Vec<u8>,
    /// How much of `room` is the payload.
    len: usize,
}

impl InflateBuffer {
    /// An empty buffer, which allocates nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Bytes the buffer can hold before it grows.
    pub fn capacity(&self) -> usize {
        self.room.len()
    }

    /// A copy of the bytes in a buffer that has room for no more.
    pub fn to_exact(&self) -> Self {
        let room = self.to_vec();
        Self {
            len: room.len(),
            room,
        }
    }

    /// Empties the buffer and keeps its memory.
    pub fn clear(&mut self) {
        self.len = 0;
    }

    /// Makes room for `capacity` bytes in all and keeps what is there.
    pub(super) fn grow_to(&mut self, capacity: usize) -> Result<(), InflateError> {
        if capacity <= self.room.len() {
            return Ok(());
        }
        if self.len == 0 {
            // Nothing to keep, so nothing for a reallocation to copy.
            self.room = Vec::new();
        }
        let more = capacity - self.room.len();
        self.room
            .try_reserve_exact(more)
            .map_err(|_| InflateError::OutOfMemory)?;
        self.room.resize(capacity, 0);
        Ok(())
    }

    /// Doubles the room, up to `limit` bytes in all, for codecs that do not know their size.
    #[cfg(any(
        feature = "deflate",
        feature = "zstandard",
        feature = "bzip2",
        feature = "xz"
    ))]
    pub(super) fn grow(&mut self, limit: usize) -> Result<(), InflateError> {
        let doubled = self.room.len().saturating_mul(2);
        self.grow_to(doubled.max(crate::limits::MIN_INFLATE_BYTES).min(limit))
    }

    /// The room behind the bytes that are there, up to `limit` bytes in all.
    pub(super) fn spare(&mut self, limit: usize) -> &mut [u8] {
        let end = self.room.len().min(limit);
        &mut self.room[self.len.min(end)..end]
    }

    /// Counts `n` bytes of [`spare`](Self::spare) in.
    pub(super) fn advance(&mut self, n: usize) {
        self.len += n;
        debug_assert!(self.len <= self.room.len());
    }
}

impl Deref for InflateBuffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.room[..self.len]
    }
}

impl AsRef<[u8]> for InflateBuffer {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl fmt::Debug for InflateBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InflateBuffer")
            .field("len", &self.len)
            .field("capacity", &self.capacity())
            .finish()
    }
}
