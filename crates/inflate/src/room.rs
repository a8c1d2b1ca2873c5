//! What is inflated, and where to.

use std::collections::TryReserveError;
use std::fmt;

use crate::Error;

/// Memory that a stream is inflated to.
pub trait Memory: fmt::Debug {
    /// All of it.
    fn bytes(&mut self) -> &mut [u8];

    /// Makes it `len` bytes, which are more than it has, and keeps those.
    ///
    /// # Errors
    /// There is no memory left.
    fn lengthen(&mut self, len: usize) -> Result<(), TryReserveError>;
}

impl Memory for Vec<u8> {
    fn bytes(&mut self) -> &mut [u8] {
        self
    }

    fn lengthen(&mut self, len: usize) -> Result<(), TryReserveError> {
        self.try_reserve_exact(len.saturating_sub(self.len()))?;
        self.resize(len, 0);
        Ok(())
    }
}

/// A raw deflate stream and where it is inflated to.
#[derive(Debug)]
pub struct Stream<'a> {
    /// The stream. What follows its end is passed over.
    pub payload: &'a [u8],
    /// Takes the inflated bytes, from its start; any of its bytes may be written over. It grows as
    /// needed, by doubling. A room some 300 bytes larger than needed is fastest.
    pub room: &'a mut dyn Memory,
    /// Most bytes to inflate to, and to let the room grow to.
    pub limit: usize,
}

/// A stream in progress.
#[derive(Debug)]
pub(crate) struct Task<'a> {
    pub(crate) payload: &'a [u8],
    pub(crate) room: Room<'a>,
}

impl<'a> Task<'a> {
    pub(crate) fn new(stream: Stream<'a>) -> Self {
        let (memory, limit) = (stream.room, stream.limit);
        Task {
            payload: stream.payload,
            room: Room { memory, limit },
        }
    }
}

/// A room that grows up to a limit.
#[derive(Debug)]
pub(crate) struct Room<'a> {
    memory: &'a mut dyn Memory,
    limit: usize,
}

impl Room<'_> {
    /// All of it, up to the limit.
    #[inline(always)]
    pub(crate) fn bytes(&mut self) -> &mut [u8] {
        let bytes = self.memory.bytes();
        let len = bytes.len().min(self.limit);
        &mut bytes[..len]
    }

    /// Writes `bytes` behind the `written` first ones, and returns how many there are then.
    pub(crate) fn write(&mut self, written: usize, bytes: &[u8]) -> Result<usize, Error> {
        self.reserve(written, bytes.len())?;
        let end = written + bytes.len();
        self.bytes()[written..end].copy_from_slice(bytes);
        Ok(end)
    }

    /// Makes room for `more` bytes behind the `written` first ones.
    pub(crate) fn reserve(&mut self, written: usize, more: usize) -> Result<(), Error> {
        let needed = written + more;
        match needed <= self.bytes().len() {
            true => Ok(()),
            false => self.grow(needed),
        }
    }

    /// Doubles the room, so that growing takes a time proportional to what is inflated.
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
