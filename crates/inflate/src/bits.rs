//! Where a stream is being read.

use crate::Error;
use crate::kernel::MOST_ROUNDS;

/// Bytes that a window may be read from on: a power of two, so that a mask is all the bounds
/// checking there is.
const SPAN: usize = 1024;

// A round consumes 56 bits at most, a block's header some 4,600.
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

/// The next bits of a stream.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bits {
    /// The next bits, the lowest first. Above `count` of them there may be more.
    pub(crate) word: u64,
    /// How many of them count, in the lowest six bits; what is above has no meaning.
    pub(crate) count: u64,
    /// Where the bytes behind them are in the window.
    at: usize,
}

impl Bits {
    /// Bits that last for ever: a refill brings none.
    pub(crate) const FULL: Self = Bits {
        word: 0,
        count: 63,
        at: 0,
    };

    /// None yet.
    pub(crate) const NONE: Self = Bits {
        word: 0,
        count: 0,
        at: 0,
    };

    /// Makes it 56 bits at least.
    #[inline(always)]
    pub(crate) fn refill(&mut self, window: &Window) {
        let at = self.at % SPAN;
        let next = window[at..at + 8].try_into().expect("eight bytes");
        self.word |= u64::from_le_bytes(next) << (self.count & 63);
        self.at += ((self.count & 63) ^ 63) as usize >> 3;
        self.count |= 56;
    }

    /// Consumes `n` bits, which are there.
    #[inline(always)]
    pub(crate) fn take(&mut self, n: u32) -> u32 {
        let bits = self.word & ((1 << n) - 1);
        self.word >>= n;
        self.count = self.count.wrapping_sub(u64::from(n));
        bits as u32
    }
}

/// A place in a payload.
#[derive(Clone, Debug)]
pub(crate) struct Position {
    pub(crate) bits: Bits,
    /// Where in the payload the window begins.
    pub(crate) base: usize,
}

impl Position {
    /// At some byte of a payload.
    pub(crate) fn at(byte: usize) -> Self {
        Position {
            bits: Bits::NONE,
            base: byte,
        }
    }

    /// Nowhere.
    pub(crate) fn idle() -> Self {
        Position {
            bits: Bits::FULL,
            base: 0,
        }
    }

    /// Moves the window on to where it is read.
    pub(crate) fn slide(&mut self) {
        self.base += self.bits.at;
        self.bits.at = 0;
    }

    /// Bits of `payload` that are not consumed.
    ///
    /// # Errors
    ///
    /// [`Error::Truncated`] if more are than it has.
    pub(crate) fn left(&self, payload: &[u8]) -> Result<u64, Error> {
        let read = (self.base + self.bits.at) as u64 * 8 - (self.bits.count & 63);
        (payload.len() as u64 * 8)
            .checked_sub(read)
            .ok_or(Error::Truncated)
    }
}
