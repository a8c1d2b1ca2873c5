//! Reads bits of a stream.

use crate::Error;
use crate::kernel::MAX_ROUNDS;

/// Number of bytes of a span at which a read can start. A power of two: a mask is the whole bounds
/// check.
pub(crate) const SPAN_BYTES: usize = 1024;

// A round consumes at most 55 bits, the header of a block some 4,600.
const _: () = assert!(MAX_ROUNDS * 7 + 8 <= SPAN_BYTES);

/// The part of a payload that is being read, with zeros after its end.
pub(crate) type Span = [u8; SPAN_BYTES + 8];

/// The span of `payload` from `base` on. If it crosses the end, it is copied to `tail`.
pub(crate) fn span<'a>(payload: &'a [u8], base: usize, tail: &'a mut Span) -> &'a Span {
    let rest = payload.get(base..).unwrap_or_default();
    if let Some(span) = rest.first_chunk() {
        return span;
    }
    tail[..rest.len()].copy_from_slice(rest);
    tail[rest.len()..].fill(0);
    tail
}

/// The bits of `span` from `bit` on, at least 57. The first bit is the lowest.
#[inline(always)]
pub(crate) fn word(span: &Span, bit: usize) -> u64 {
    let at = bit / 8 % SPAN_BYTES;
    let bytes = span[at..at + 8].try_into().expect("eight bytes");
    u64::from_le_bytes(bytes) >> (bit % 8)
}

/// The next bits of a span.
pub(crate) struct Bits<'a> {
    span: &'a Span,
    /// Bit of the span at which `word` begins.
    bit: usize,
    word: u64,
}

impl<'a> Bits<'a> {
    pub(crate) fn new(span: &'a Span, bit: usize) -> Self {
        let word = word(span, bit);
        Bits { span, bit, word }
    }

    /// Bit of the span at which the next bits begin.
    pub(crate) fn position(&self) -> usize {
        self.bit
    }

    /// Loads at least 57 bits.
    #[inline(always)]
    pub(crate) fn refill(&mut self) {
        self.word = word(self.span, self.bit);
    }

    /// The next bits; those that are not loaded are zeros.
    #[inline(always)]
    pub(crate) fn peek(&self) -> u32 {
        self.word as u32
    }

    /// Consumes `n` bits, which must be loaded.
    #[inline(always)]
    pub(crate) fn take(&mut self, n: u32) -> u32 {
        let bits = self.word & ((1 << n) - 1);
        self.word >>= n;
        self.bit += n as usize;
        bits as u32
    }
}

/// A position in a payload.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Position {
    /// Byte at which the span begins.
    pub(crate) base: usize,
    /// Bit within the span.
    pub(crate) bit: usize,
}

impl Position {
    /// The position of a byte.
    pub(crate) fn at(byte: usize) -> Self {
        Position { base: byte, bit: 0 }
    }

    /// Moves the start of the span to this position.
    pub(crate) fn slide(&mut self) {
        self.base += self.bit / 8;
        self.bit %= 8;
    }

    /// Number of bits of `payload` that are not consumed.
    ///
    /// # Errors
    ///
    /// [`Error::Truncated`] if more bits are consumed than the payload has.
    pub(crate) fn left(&self, payload: &[u8]) -> Result<usize, Error> {
        let bits = payload.len().saturating_sub(self.base).saturating_mul(8);
        bits.checked_sub(self.bit).ok_or(Error::Truncated)
    }
}
