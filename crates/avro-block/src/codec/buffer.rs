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

    /// Puts a copy of `bytes` in place of what is there.
    pub fn assign(&mut self, bytes: &[u8]) {
        self.len = 0;
        if bytes.len() > self.room.len() {
            self.room = Vec::new();
            self.room.reserve_exact(round_up(bytes.len()));
            self.room.resize(self.room.capacity(), 0);
        }
        self.room[..bytes.len()].copy_from_slice(bytes);
        self.len = bytes.len();
    }

    /// Empties the buffer and keeps its memory.
    pub fn clear(&mut self) {
        self.len = 0;
    }

    /// Makes room for `capacity` bytes in all, or somewhat more if `limit` allows it, and keeps
    /// what is there.
    pub(super) fn grow_to(&mut self, capacity: usize, limit: usize) -> Result<(), InflateError> {
        if capacity <= self.room.len() {
            return Ok(());
        }
        let capacity = round_up(capacity).min(limit.max(capacity));
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
        self.grow_to(
            doubled.max(crate::limits::MIN_INFLATE_BYTES).min(limit),
            limit,
        )
    }

    /// The room behind the bytes that are there, up to `limit` bytes in all.
    pub(super) fn spare(&mut self, limit: usize) -> &mut [u8] {
        let end = self.room.len().min(limit);
        &mut self.room[self.len.min(end)..end]
    }

    /// All the memory, and how much of it is the payload.
    #[cfg(feature = "deflate")]
    pub(super) fn parts(&mut self) -> (&mut Vec<u8>, &mut usize) {
        (&mut self.room, &mut self.len)
    }

    /// Counts `n` bytes of [`spare`](Self::spare) in.
    pub(super) fn advance(&mut self, n: usize) {
        self.len += n;
        debug_assert!(self.len <= self.room.len());
    }
}

/// The next of few sizes, at most an eighth above: buffers that are used again for payloads of
/// about the same size then soon have room for all of them, and not for the largest so far.
fn round_up(size: usize) -> usize {
    let step = (size / 16).next_power_of_two();
    size.checked_next_multiple_of(step).unwrap_or(size)
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
