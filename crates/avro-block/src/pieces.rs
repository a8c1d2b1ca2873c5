//! The bytes that a framer holds: pushed pieces in order, joined only for a value that crosses
//! their borders.

use std::collections::VecDeque;

use bytes::{Buf, Bytes};
use memchr::memmem;

use crate::sync::SyncMarker;

/// Consecutive bytes of a file, in pieces.
#[derive(Debug, Default)]
pub(crate) struct Pieces {
    /// File offset of each piece's first byte, and the piece; none is empty.
    pieces: VecDeque<(u64, Bytes)>,
    /// File offset of the first byte held.
    start: u64,
    /// File offset just past the last byte held.
    end: u64,
}

impl Pieces {
    /// Creates an empty run; the next piece pushed begins at file offset `offset`.
    pub(crate) fn starting_at(offset: u64) -> Self {
        Self {
            pieces: VecDeque::new(),
            start: offset,
            end: offset,
        }
    }

    /// Drops all bytes; the next piece pushed begins at file offset `offset`.
    pub(crate) fn restart(&mut self, offset: u64) {
        self.pieces.clear();
        self.start = offset;
        self.end = offset;
    }

    pub(crate) fn push(&mut self, piece: Bytes) {
        if !piece.is_empty() {
            let len = piece.len() as u64;
            self.pieces.push_back((self.end, piece));
            self.end += len;
        }
    }

    /// File offset of the first byte held.
    pub(crate) fn start(&self) -> u64 {
        self.start
    }

    /// File offset just past the last byte held.
    pub(crate) fn end(&self) -> u64 {
        self.end
    }

    /// Bytes held.
    pub(crate) fn len(&self) -> u64 {
        self.end - self.start
    }

    /// The bytes from `at` on: `joined.len()` bytes, or fewer if fewer are held. A slice of the
    /// first piece if it has them all, otherwise a copy in `joined`.
    pub(crate) fn view<'a>(&'a self, at: u64, joined: &'a mut [u8]) -> &'a [u8] {
        let range = |len: usize| {
            let at = usize::try_from(at).ok()?;
            Some(at..at.checked_add(len)?)
        };
        let first = self.pieces.front();
        let bytes = first.and_then(|(_, piece)| piece.get(range(joined.len())?));
        match bytes {
            Some(bytes) => bytes,
            None => {
                let n = self.peek(at, joined);
                &joined[..n]
            }
        }
    }

    /// Copies the bytes from `at` on into `out`, as far as they are held, and returns their number.
    pub(crate) fn peek(&self, at: u64, out: &mut [u8]) -> usize {
        let offset = self.start + at;
        let first = self
            .pieces
            .partition_point(|(start, piece)| start + piece.len() as u64 <= offset);
        let mut filled = 0;
        for (start, piece) in self.pieces.range(first..) {
            // Zero for every piece but the first.
            let skip = offset.saturating_sub(*start) as usize;
            let n = (piece.len() - skip).min(out.len() - filled);
            out[filled..filled + n].copy_from_slice(&piece[skip..skip + n]);
            filled += n;
            if filled == out.len() {
                break;
            }
        }
        filled
    }

    /// The bytes from file offset `offset` on, piece by piece.
    pub(crate) fn from(&self, offset: u64) -> impl Iterator<Item = &[u8]> {
        let first = self
            .pieces
            .partition_point(|(start, piece)| start + piece.len() as u64 <= offset);
        self.pieces.range(first..).map(move |(start, piece)| {
            // Zero for every piece but the first.
            &piece[offset.saturating_sub(*start) as usize..]
        })
    }

    /// Drops the first `n` bytes, all of which must be held.
    pub(crate) fn advance(&mut self, n: u64) {
        self.start += n;
        while let Some((start, piece)) = self.pieces.front_mut() {
            let past = self.start - *start;
            if past < piece.len() as u64 {
                piece.advance(past as usize);
                *start = self.start;
                break;
            }
            self.pieces.pop_front();
        }
    }

    /// Takes the first `n` bytes, all of which must be held: a slice of the first piece if it has
    /// them all, otherwise a copy.
    pub(crate) fn take(&mut self, n: usize) -> Bytes {
        let taken = match self.pieces.front() {
            Some((_, piece)) if piece.len() >= n => piece.slice(..n),
            _ => {
                let mut joined = Vec::with_capacity(n);
                for (_, piece) in &self.pieces {
                    joined.extend_from_slice(&piece[..piece.len().min(n - joined.len())]);
                }
                debug_assert_eq!(joined.len(), n);
                joined.into()
            }
        };
        self.advance(n as u64);
        taken
    }

    /// Drops the first `at` bytes and takes the next `n`, all of which must be held.
    pub(crate) fn take_after(&mut self, at: usize, n: usize) -> Bytes {
        match self.pieces.front() {
            Some((_, piece)) if piece.len() >= n && piece.len() - n >= at => {
                let taken = piece.slice(at..at + n);
                self.advance((at + n) as u64);
                taken
            }
            // The `n` bytes may lie in one piece once the bytes before them are dropped.
            _ => {
                self.advance(at as u64);
                self.take(n)
            }
        }
    }

    /// Takes all bytes, so that the caller can push them again together with the bytes after them.
    pub(crate) fn take_back(&mut self) -> Bytes {
        let start = self.start;
        let all = self.take(self.len() as usize);
        self.restart(start);
        all
    }

    /// File offset of the first `marker` at or after file offset `from`.
    pub(crate) fn find(&self, marker: &SyncMarker, from: u64) -> Option<u64> {
        const STRADDLE: usize = SyncMarker::LEN - 1;
        let finder = memmem::Finder::new(&marker.0);
        // The last bytes before the current piece, and its first bytes, at most fifteen of each. A
        // match here begins before the piece, so it is not found in the piece itself.
        let mut seam = Vec::with_capacity(2 * STRADDLE);
        let mut start = from.max(self.start);
        for piece in self.from(start) {
            let before = seam.len() as u64;
            seam.extend_from_slice(&piece[..piece.len().min(STRADDLE)]);
            if let Some(at) = finder.find(&seam) {
                return Some(start - before + at as u64);
            }
            if let Some(at) = finder.find(piece) {
                return Some(start + at as u64);
            }
            start += piece.len() as u64;
            if piece.len() > STRADDLE {
                seam.clear();
                seam.extend_from_slice(&piece[piece.len() - STRADDLE..]);
            } else {
                seam.drain(..seam.len().saturating_sub(STRADDLE));
            }
        }
        None
    }
}
