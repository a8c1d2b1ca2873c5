//! Where a file's bytes come from, in order, in pieces.

use std::io::{self, Read};

use bytes::{Bytes, BytesMut};

use crate::buffers::ReadBuffers;
use crate::limits::MAX_READ;

/// Gives the bytes of a file in order, in pieces of its own choosing.
pub trait Source {
    /// The next piece, which begins with `rest`: what the framer has not used of the piece before,
    /// and wants in one piece with what follows it. At the end of the file, and from then on,
    /// `rest` alone.
    ///
    /// `wanted` is what the framer needs besides before it can go on. It may come from a damaged
    /// size, so it is advice and no reason to allocate that much.
    ///
    /// # Errors
    ///
    /// Whatever reading gives.
    fn next_piece(&mut self, rest: Bytes, wanted: u64) -> io::Result<Bytes>;
}

/// A [`Source`] over any [`Read`].
#[derive(Debug)]
pub struct ReadSource<R> {
    reader: R,
    buffer_size: usize,
    buffers: ReadBuffers,
    /// Bytes given so far.
    given: usize,
    /// Room for the next read: what earlier, short reads left of theirs.
    room: BytesMut,
    /// What a read gave after others for the same piece: it comes with the next one.
    failed: Option<io::Error>,
}

impl<R: Read> ReadSource<R> {
    /// Reads `buffer_size` bytes at a time (at least one), more where a block is larger.
    pub fn new(reader: R, buffer_size: usize) -> Self {
        Self::with_buffers(reader, buffer_size, ReadBuffers::default())
    }

    /// The same, into `buffers`.
    pub fn with_buffers(reader: R, buffer_size: usize, buffers: ReadBuffers) -> Self {
        Self {
            reader,
            buffer_size: buffer_size.max(1),
            buffers,
            given: 0,
            room: BytesMut::new(),
            failed: None,
        }
    }

    /// The reader, wherever it stands.
    pub fn into_inner(self) -> R {
        self.reader
    }

    /// Reads into the room behind its first `filled` bytes until `enough` are there, or the file
    /// ends; says how many are.
    fn fill(&mut self, mut filled: usize, enough: usize) -> io::Result<usize> {
        let before = filled;
        while filled < enough {
            match self.reader.read(&mut self.room[filled..]) {
                Ok(0) => break,
                Ok(n) => filled += n,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if filled == before => return Err(error),
                Err(error) => {
                    self.failed = Some(error);
                    break;
                }
            }
        }
        self.given = self.given.saturating_add(filled - before);
        Ok(filled)
    }
}

impl<R: Read> Source for ReadSource<R> {
    fn next_piece(&mut self, rest: Bytes, wanted: u64) -> io::Result<Bytes> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        // A block longer than the buffer is read in few, long pieces; none is longer than all that
        // came before, since the size may be false.
        let longest = self.given.min(MAX_READ);
        let wanted = usize::try_from(wanted).unwrap_or(usize::MAX);
        let needed = rest.len() + wanted.min(longest).max(1);
        let size = needed.max(self.buffer_size);
        // A last scrap of room would make a last scrap of a piece.
        let is_new = self.room.len() < needed.max(size / 2);
        if is_new {
            self.room = self.buffers.take(size);
        }
        self.room[..rest.len()].copy_from_slice(&rest);
        let filled = self.fill(rest.len(), needed)?;
        let piece = self.room.split_to(filled).freeze();
        if is_new {
            self.buffers.give(&piece);
        }
        Ok(piece)
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
    fn next_piece(&mut self, rest: Bytes, _wanted: u64) -> io::Result<Bytes> {
        let all = std::mem::take(&mut self.0);
        if rest.is_empty() || all.is_empty() {
            return Ok(if rest.is_empty() { all } else { rest });
        }
        Ok([rest, all].concat().into())
    }
}
