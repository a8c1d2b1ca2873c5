//! Streams and their output.

use std::collections::TryReserveError;
use std::fmt;

use crate::Error;

/// The memory that a stream is decompressed to.
pub trait Output: fmt::Debug {
    /// The whole memory.
    fn bytes(&mut self) -> &mut [u8];

    /// Extends the memory to `len` bytes, which is more than it has, and keeps its contents.
    ///
    /// # Errors
    /// The system has no memory left.
    fn lengthen(&mut self, len: usize) -> Result<(), TryReserveError>;
}

impl Output for Vec<u8> {
    fn bytes(&mut self) -> &mut [u8] {
        self
    }

    fn lengthen(&mut self, len: usize) -> Result<(), TryReserveError> {
        self.try_reserve_exact(len.saturating_sub(self.len()))?;
        self.resize(len, 0);
        Ok(())
    }
}

/// A raw deflate stream and its output.
#[derive(Debug)]
pub struct Stream<'a> {
    /// The compressed bytes. Bytes after the end of the stream are ignored.
    pub payload: &'a [u8],
    /// Receives the decompressed bytes, from its start. Any of its bytes may be overwritten. It
    /// grows by doubling. An output that is some 300 bytes larger than needed is fastest.
    pub output: &'a mut dyn Output,
    /// Maximum number of decompressed bytes, and of bytes that the output grows to.
    pub limit: usize,
}

/// A stream in progress.
#[derive(Debug)]
pub(crate) struct ActiveStream<'a> {
    pub(crate) payload: &'a [u8],
    pub(crate) output: BoundedOutput<'a>,
}

impl<'a> ActiveStream<'a> {
    pub(crate) fn new(stream: Stream<'a>) -> Self {
        let (memory, limit) = (stream.output, stream.limit);
        ActiveStream {
            payload: stream.payload,
            output: BoundedOutput { memory, limit },
        }
    }
}

/// An output that grows up to a limit.
#[derive(Debug)]
pub(crate) struct BoundedOutput<'a> {
    memory: &'a mut dyn Output,
    limit: usize,
}

impl BoundedOutput<'_> {
    /// The memory, up to the limit.
    #[inline(always)]
    pub(crate) fn bytes(&mut self) -> &mut [u8] {
        let bytes = self.memory.bytes();
        let len = bytes.len().min(self.limit);
        &mut bytes[..len]
    }

    /// Writes `bytes` after the first `written` bytes, and returns the new number of bytes.
    pub(crate) fn write(&mut self, written: usize, bytes: &[u8]) -> Result<usize, Error> {
        self.reserve(written, bytes.len())?;
        let end = written + bytes.len();
        self.bytes()[written..end].copy_from_slice(bytes);
        Ok(end)
    }

    /// Makes space for `more` bytes after the first `written` bytes.
    pub(crate) fn reserve(&mut self, written: usize, more: usize) -> Result<(), Error> {
        let needed = written + more;
        if needed <= self.bytes().len() {
            Ok(())
        } else {
            self.grow(needed)
        }
    }

    /// Doubles the output, so that growing takes time in proportion to the decompressed bytes.
    #[cold]
    fn grow(&mut self, needed: usize) -> Result<(), Error> {
        let limit = self.limit;
        if needed > limit {
            return Err(Error::TooLarge { limit });
        }
        let doubled = self.memory.bytes().len().saturating_mul(2);
        let len = doubled.min(limit).max(needed);
        self.memory.lengthen(len).map_err(|_| Error::OutOfMemory)
    }
}
