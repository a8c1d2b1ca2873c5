//! The bytes a framer holds: pushed pieces end to end, never joined until a value needs it.

use std::collections::VecDeque;

use bytes::{Buf, Bytes};
use memchr::memmem;

use crate::sync::SyncMarker;

/// A run of file bytes in pieces.
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
    /// No bytes; the next piece pushed begins at `offset` of the file.
    pub(crate) fn starting_at(offset: u64) -> Self {
        Self {
            pieces: VecDeque::new(),
            start: offset,
            end: offset,
        }
    }

    /// Drops all bytes; the next piece pushed begins at `offset` of the file.
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

    /// As many bytes from `at` on as `joined` has, or as there are: where they lie if that is in
    /// the first piece, else copied there.
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

    /// Copies bytes from `at` on into `out`, as many as there are, and says how many.
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

    /// The bytes held from file offset `offset` on, piece by piece.
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

    /// Takes the first `n` bytes, all of which must be held: a slice of the first piece if they
    /// lie in it, else a copy.
    pub(crate) fn take(&mut self, n: usize) -> Bytes {
        let taken = match self.pieces.front() {
            Some((_, piece)) if piece.len() >= n => piece.slice(..n),
            _ => {
                let mut joined = vec![0; n];
                let filled = self.peek(0, &mut joined);
                debug_assert_eq!(filled, n);
                joined.into()
            }
        };
        self.advance(n as u64);
        taken
    }

    /// Drops the first `at` bytes and takes the `n` behind them, all of which must be held.
    pub(crate) fn take_behind(&mut self, at: usize, n: usize) -> Bytes {
        match self.pieces.front() {
            Some((_, piece)) if piece.len() >= n && piece.len() - n >= at => {
                let taken = piece.slice(at..at + n);
                self.advance((at + n) as u64);
                taken
            }
            // They may lie in one piece once what is before them is gone.
            _ => {
                self.advance(at as u64);
                self.take(n)
            }
        }
    }

    /// Takes all bytes, to be pushed again with what follows them.
    pub(crate) fn take_back(&mut self) -> Bytes {
        let start = self.start;
        let all = self.take(self.len() as usize);
        self.restart(start);
        all
    }

    /// Where `marker` first begins, counted from the first byte held.
    pub(crate) fn find(&self, marker: &SyncMarker) -> Option<u64> {
        const STRADDLE: usize = SyncMarker::LEN - 1;
        let finder = memmem::Finder::new(&marker.0);
        // The last bytes before the piece in hand, then its first: fifteen each at most, so that
        // a match here begins before the piece and cannot lie in it whole.
        let mut seam = Vec::with_capacity(2 * STRADDLE);
        for (start, piece) in &self.pieces {
            let before = seam.len();
            seam.extend_from_slice(&piece[..piece.len().min(STRADDLE)]);
            if let Some(at) = finder.find(&seam) {
                return Some(start - before as u64 + at as u64 - self.start);
            }
            if let Some(at) = finder.find(piece) {
                return Some(start + at as u64 - self.start);
            }
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
