//! A stream to inflate.

use crate::Error;

/// A raw deflate stream and where it is inflated to.
#[derive(Debug)]
pub struct Stream<'a> {
    /// The stream. What follows its end is passed over.
    pub payload: &'a [u8],
    /// Takes the inflated bytes, from its start. All of its length is written over; it grows as
    /// needed, and grows least if it has some room to spare.
    pub room: &'a mut Vec<u8>,
    /// Most bytes to inflate to.
    pub limit: usize,
    /// How many bytes were inflated, once they are.
    pub result: Result<usize, Error>,
}

impl<'a> Stream<'a> {
    /// A stream that is not inflated yet.
    pub fn new(payload: &'a [u8], room: &'a mut Vec<u8>, limit: usize) -> Self {
        Stream {
            payload,
            room,
            limit,
            result: Ok(0),
        }
    }

    /// The room there is, up to the limit.
    #[inline(always)]
    pub(crate) fn room(&mut self) -> &mut [u8] {
        let len = self.room.len().min(self.limit);
        &mut self.room[..len]
    }

    /// Makes room for `more` bytes behind the `written` first ones.
    #[inline(always)]
    pub(crate) fn reserve(&mut self, written: usize, more: usize) -> Result<(), Error> {
        let needed = written + more;
        if needed <= self.room.len().min(self.limit) {
            return Ok(());
        }
        self.grow(needed)
    }

    /// Doubles the room, so that growing takes a time proportional to what is inflated.
    #[cold]
    fn grow(&mut self, needed: usize) -> Result<(), Error> {
        let limit = self.limit;
        if needed > limit {
            return Err(Error::TooLarge { limit });
        }
        let len = self.room.len().saturating_mul(2).min(limit).max(needed);
        let more = len - self.room.len();
        self.room
            .try_reserve_exact(more)
            .map_err(|_| Error::OutOfMemory)?;
        self.room.resize(len, 0);
        Ok(())
    }
}
