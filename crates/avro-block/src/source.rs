//! Sources of a file's bytes, in order, in pieces.

use std::io::{self, Read};

use bytes::{Bytes, BytesMut};

use crate::limits::MAX_READ;

/// A source of a file's bytes, in order, in pieces whose size the source chooses.
pub trait Source {
    /// The next piece. It begins with `rest`, the unused end of the previous piece, which the
    /// framer wants in one piece with the bytes after it. At the end of the file, and in all later
    /// calls, the piece is `rest` alone.
    ///
    /// `wanted` is the number of further bytes that the framer needs before it can continue. It may
    /// come from a damaged size, so it is a hint, and no reason to allocate that much.
    ///
    /// # Errors
    ///
    /// The errors of reading.
    fn next_piece(&mut self, rest: Bytes, wanted: u64) -> io::Result<Bytes>;
}

/// A [`Source`] over any [`Read`].
#[derive(Debug)]
pub struct ReadSource<R> {
    reader: R,
    buffer_size: usize,
    /// Number of bytes returned so far.
    given: usize,
    /// Memory for the next read: the part that earlier, short reads left unused.
    room: BytesMut,
    /// An error that came after some bytes of the same piece; the next call returns it.
    failed: Option<io::Error>,
}

impl<R: Read> ReadSource<R> {
    /// Reads `buffer_size` bytes at a time (at least one), more where a block is larger.
    pub fn new(reader: R, buffer_size: usize) -> Self {
        Self {
            reader,
            buffer_size: buffer_size.max(1),
            given: 0,
            room: BytesMut::new(),
            failed: None,
        }
    }

    /// The underlying reader, at its current position.
    pub fn into_inner(self) -> R {
        self.reader
    }

    /// Reads into `room` after its first `filled` bytes, until it has `enough` bytes or the file
    /// ends. Returns the number of bytes in `room`.
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
        // A block longer than the buffer is read in few, long pieces. Since its size may be false,
        // no piece is longer than all bytes read before.
        let longest = self.given.min(MAX_READ);
        let wanted = usize::try_from(wanted).unwrap_or(usize::MAX);
        let needed = rest.len() + wanted.min(longest).max(1);
        let size = needed.max(self.buffer_size);
        // A small remainder of `room` would make a small piece, so allocate instead.
        if self.room.len() < needed.max(size / 2) {
            self.room = BytesMut::zeroed(size);
        }
        self.room[..rest.len()].copy_from_slice(&rest);
        let filled = self.fill(rest.len(), needed)?;
        Ok(self.room.split_to(filled).freeze())
    }
}

/// A [`Source`] over bytes that are all in memory, such as a mapped file.
#[derive(Clone, Debug)]
pub struct BytesSource(Bytes);

impl BytesSource {
    /// Creates a source that returns `bytes` in one piece.
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
