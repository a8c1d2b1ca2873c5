//! Where a stream is being read.

use crate::Error;
use crate::kernel::MOST_ROUNDS;

/// Bytes that a window may be read from on: a power of two, so that a mask is all the bounds
/// checking there is.
pub(crate) const SPAN: usize = 1024;

// A round consumes 55 bits at most, a block's header some 4,600.
const _: () = assert!(MOST_ROUNDS * 7 + 8 <= SPAN);

/// The part of a payload that is being read; zeros behind its end.
pub(crate) type Window = [u8; SPAN + 8];

/// The window of `payload` from `base` on, which is copied to `tail` if it goes on behind the end.
pub(crate) fn window<'a>(payload: &'a [u8], base: usize, tail: &'a mut Window) -> &'a Window {
    let rest = payload.get(base..).unwrap_or_default();
    if let Some(window) = rest.first_chunk() {
        return window;
    }
    tail[..rest.len()].copy_from_slice(rest);
    tail[rest.len()..].fill(0);
    tail
}

/// The bits of `window` from `bit` on, the first one lowest: 57 at least.
#[inline(always)]
pub(crate) fn word(window: &Window, bit: usize) -> u64 {
    let at = bit / 8 % SPAN;
    let bytes = window[at..at + 8].try_into().expect("eight bytes");
    u64::from_le_bytes(bytes) >> (bit % 8)
}

/// The next bits of a window.
pub(crate) struct Bits<'a> {
    window: &'a Window,
    /// Where `word` begins in the window.
    bit: usize,
    word: u64,
}

impl<'a> Bits<'a> {
    pub(crate) fn new(window: &'a Window, bit: usize) -> Self {
        let word = word(window, bit);
        Bits { window, bit, word }
    }

    /// Where in the window they begin.
    pub(crate) fn position(&self) -> usize {
        self.bit
    }

    /// Makes them 57 at least.
    #[inline(always)]
    pub(crate) fn refill(&mut self) {
        self.word = word(self.window, self.bit);
    }

    /// The next ones, as many as there are.
    #[inline(always)]
    pub(crate) fn peek(&self) -> u32 {
        self.word as u32
    }

    /// Consumes `n`, which are there.
    #[inline(always)]
    pub(crate) fn take(&mut self, n: u32) -> u32 {
        let bits = self.word & ((1 << n) - 1);
        self.word >>= n;
        self.bit += n as usize;
        bits as u32
    }
}

/// A place in a payload.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Position {
    /// The byte where the window begins.
    pub(crate) base: usize,
    /// The bit of the window.
    pub(crate) bit: usize,
}

impl Position {
    /// At some byte of a payload.
    pub(crate) fn at(byte: usize) -> Self {
        Position { base: byte, bit: 0 }
    }

    /// Moves the window on to where it is read.
    pub(crate) fn slide(&mut self) {
        self.base += self.bit / 8;
        self.bit %= 8;
    }

    /// Bits of `payload` that are not consumed.
    ///
    /// # Errors
    ///
    /// [`Error::Truncated`] if more are than it has.
    pub(crate) fn left(&self, payload: &[u8]) -> Result<usize, Error> {
        let bits = payload.len().saturating_sub(self.base).saturating_mul(8);
        bits.checked_sub(self.bit).ok_or(Error::Truncated)
    }
}
