//! What lookups amount to.

use crate::kernel::STEPS;

/// Room for as many literals or tokens as lookups can give, and a token left over: a power of two,
/// so that a mask is all the bounds checking there is.
pub(crate) const ROOM: usize = (STEPS + 1).next_power_of_two();

/// Bytes that are copied at a time.
pub(crate) const CHUNK: usize = 16;

/// Lookups that are sorted at a time, at most.
pub(crate) const WIDTH: usize = 16;

/// Literals and matches.
///
/// Whoever makes them promises that the literals before a token are at least those before the
/// token in front of it, and at most `literal_count`: memory safety hangs on that. Lengths and
/// distances, of which 32,768 is the largest (RFC 1951, 3.2.5), never reach into their half.
#[derive(Clone)]
pub(crate) struct Tokens {
    /// The literals, and room for the rest of a chunk.
    pub(crate) literals: [u8; ROOM + CHUNK],
    /// Lengths and distances by turns, in the low half; in the high half, how many of the literals
    /// come before. Behind them there is room for what turns out to be none.
    pub(crate) tokens: [u32; ROOM + WIDTH],
    pub(crate) literal_count: usize,
    pub(crate) token_count: usize,
}

impl Tokens {
    pub(crate) const NONE: Self = Tokens {
        literals: [0; ROOM + CHUNK],
        tokens: [0; ROOM + WIDTH],
        literal_count: 0,
        token_count: 0,
    };

    /// Begins anew, with a length whose distance is still to come, if there is one.
    pub(crate) fn begin(&mut self, length: Option<u32>) {
        self.literal_count = 0;
        self.token_count = usize::from(length.is_some());
        self.tokens[0] = length.unwrap_or(0);
    }

    /// The length whose distance is still to come. The literals before it are written.
    pub(crate) fn left_over(&self) -> Option<u32> {
        let is_even = self.token_count.is_multiple_of(2);
        (!is_even).then(|| self.tokens[self.token_count - 1] & 0xffff)
    }
}
