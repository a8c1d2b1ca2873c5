//! Where a file's bytes come from, in order, in pieces.

use std::io::{self, Read};

use bytes::{Bytes, BytesMut};

use crate::limits::MAX_READ;

/// Gives the bytes of a file in order, in pieces of its own choosing.
pub trait Source {
    /// The next piece, empty at the end of the file and from then on.
    ///
    /// `wanted` is what the framer needs before it can go on. It may come from a damaged size, so
    /// it is advice and no reason to allocate that much.
    ///
    /// # Errors
    ///
    /// Whatever reading gives.
    fn next_piece(&mut self, wanted: u64) -> io::Result<Bytes>;
}

/// A [`Source`] over any [`Read`].
#[derive(Debug)]
pub struct ReadSource<R> {
    reader: R,
    buffer_size: usize,
    /// Bytes given so far.
    given: usize,
    /// Zeroed room for the next read: what earlier, short reads left of theirs.
    room: BytesMut,
}

impl<R: Read> ReadSource<R> {
    /// Reads `buffer_size` bytes at a time (at least one), more where a block is larger.
    pub fn new(reader: R, buffer_size: usize) -> Self {
        Self {
            reader,
            buffer_size: buffer_size.max(1),
            given: 0,
            room: BytesMut::new(),
        }
    }

    /// The reader, wherever it stands.
    pub fn into_inner(self) -> R {
        self.reader
    }
}

impl<R: Read> Source for ReadSource<R> {
    fn next_piece(&mut self, wanted: u64) -> io::Result<Bytes> {
        // A block longer than the buffer is read in few, long pieces, which end where it ends;
        // none is longer than all that came before, since the size may be false.
        let wanted = usize::try_from(wanted).unwrap_or(usize::MAX);
        let longest = self.given.min(MAX_READ);
        let size = wanted.min(longest).max(self.buffer_size);
        // A last scrap of room would make a last scrap of a piece.
        if self.room.len() < wanted.min(size).max(size / 2) {
            self.room = BytesMut::zeroed(size);
        }
        loop {
            match self.reader.read(&mut self.room) {
                Ok(n) => {
                    self.given = self.given.saturating_add(n);
                    return Ok(self.room.split_to(n).freeze());
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// A [`Source`] over bytes that are all there, such as a mapped file.
#[derive(Clone, Debug)]
pub struct BytesSource(Bytes);

impl BytesSource {
    /// Gives `bytes` in one piece.
    pub fn new(bytes: Bytes) -> Self {
        Self(bytes)
    }
}

impl Source for BytesSource {
    fn next_piece(&mut self, _wanted: u64) -> io::Result<Bytes> {
        Ok(std::mem::take(&mut self.0))
    }
}
