//! The bytes that a framer holds: pushed pieces, joined only for a block that crosses their borders.

use bytes::{Buf, Bytes, BytesMut};

/// Size in bytes of what a processor loads at once.
const CACHE_LINE: usize = 64;

/// Consecutive bytes of a file.
#[derive(Debug, Default)]
pub(crate) struct Input {
    /// File offset of the first byte held.
    at: u64,
    /// The first bytes, copied out of pieces before the last one.
    held: BytesMut,
    /// The bytes after `held`: the rest of the last piece.
    piece: Bytes,
}

impl Input {
    /// No bytes; the next piece begins at file offset `at`.
    pub(crate) fn starting_at(at: u64) -> Self {
        Input {
            at,
            ..Input::default()
        }
    }

    /// File offset of the first byte held.
    pub(crate) fn at(&self) -> u64 {
        self.at
    }

    /// Number of bytes held.
    pub(crate) fn len(&self) -> u64 {
        (self.held.len() + self.piece.len()) as u64
    }

    /// File offset after the last byte held.
    pub(crate) fn end(&self) -> u64 {
        self.at + self.len()
    }

    pub(crate) fn push(&mut self, piece: Bytes) {
        if self.held.is_empty() && self.piece.is_empty() {
            self.piece = piece;
        } else if !piece.is_empty() {
            self.held.extend_from_slice(&self.piece);
            self.piece = piece;
        }
    }

    /// The `N` bytes from byte `from` of those held on, if they are all here.
    #[inline]
    pub(crate) fn peek<const N: usize>(&self, from: u64) -> Option<[u8; N]> {
        let from = usize::try_from(from).ok()?;
        if self.held.is_empty() {
            return self.piece.get(from..)?.first_chunk().copied();
        }
        let mut bytes = [0; N];
        (self.peek_some(from, &mut bytes) == N).then_some(bytes)
    }

    /// Has the processor load the first `len` bytes of the last piece into its caches, many at a time. Who goes
    /// from length to length waits for the memory of each.
    pub(crate) fn load(&self, len: u64) {
        let len = usize::try_from(len).unwrap_or(usize::MAX);
        let bytes = &self.piece[..self.piece.len().min(len)];
        let lines = bytes.iter().step_by(CACHE_LINE);
        std::hint::black_box(lines.fold(0, |all, byte| all ^ byte));
    }

    /// Copies the bytes from byte `from` of those held on into `out`, as far as they are here, and
    /// returns their number.
    pub(crate) fn peek_some(&self, from: usize, out: &mut [u8]) -> usize {
        let held = self.held.get(from..).unwrap_or_default();
        let of_held = held.len().min(out.len());
        out[..of_held].copy_from_slice(&held[..of_held]);
        let from = from.saturating_sub(self.held.len());
        let piece = self.piece.get(from..).unwrap_or_default();
        let of_piece = piece.len().min(out.len() - of_held);
        out[of_held..of_held + of_piece].copy_from_slice(&piece[..of_piece]);
        of_held + of_piece
    }

    /// Removes the first `len` bytes, all of which must be here: a slice of the last piece if it has
    /// them all, otherwise a copy.
    pub(crate) fn take(&mut self, len: u64) -> Bytes {
        self.at += len;
        // They are in memory.
        let len = len as usize;
        if self.held.is_empty() {
            return self.piece.split_to(len);
        }
        let more = len.saturating_sub(self.held.len());
        self.held.extend_from_slice(&self.piece.split_to(more));
        self.held.split_to(len).freeze()
    }

    /// Removes all bytes before file offset `at`, also those that are not here yet: the next piece
    /// then begins there.
    pub(crate) fn skip_to(&mut self, at: u64) {
        let skipped = at.saturating_sub(self.at);
        let here = skipped.min(self.len()) as usize;
        let of_held = here.min(self.held.len());
        self.held.advance(of_held);
        self.piece.advance(here - of_held);
        self.at = self.at.max(at);
    }

    /// All bytes, in one slice.
    pub(crate) fn all(&mut self) -> &[u8] {
        if self.held.is_empty() {
            return &self.piece;
        }
        self.held.extend_from_slice(&self.piece);
        self.piece.clear();
        &self.held
    }
}
