//! What is inflated, and where to.

use crate::Error;

/// A raw deflate stream and where it is inflated to.
#[derive(Debug)]
pub struct Stream<'a> {
    /// The stream. What follows its end is passed over.
    pub payload: &'a [u8],
    /// Takes the inflated bytes, from its start; any of its bytes may be written over. It grows as
    /// needed, by doubling. A room some 300 bytes larger than needed is fastest.
    pub room: &'a mut Vec<u8>,
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
        let (bytes, limit) = (stream.room, stream.limit);
        Task {
            payload: stream.payload,
            room: Room { bytes, limit },
        }
    }
}

/// A room that grows up to a limit.
#[derive(Debug)]
pub(crate) struct Room<'a> {
    bytes: &'a mut Vec<u8>,
    limit: usize,
}

impl Room<'_> {
    /// All of it, up to the limit.
    #[inline(always)]
    pub(crate) fn bytes(&mut self) -> &mut [u8] {
        let len = self.bytes.len().min(self.limit);
        &mut self.bytes[..len]
    }

    /// Writes `bytes` behind the `written` first ones, and returns how many there are then.
    pub(crate) fn write(&mut self, written: usize, bytes: &[u8]) -> Result<usize, Error> {
        self.reserve(written, bytes.len())?;
        let end = written + bytes.len();
        self.bytes[written..end].copy_from_slice(bytes);
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
        let doubled = self.bytes.len().saturating_mul(2);
        let len = doubled.min(limit).max(needed);
        let more = len - self.bytes.len();
        self.bytes
            .try_reserve_exact(more)
            .map_err(|_| Error::OutOfMemory)?;
        self.bytes.resize(len, 0);
        Ok(())
    }
}
