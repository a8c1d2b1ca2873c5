//! Literals and matches, as lookups give them.

use crate::kernel::MAX_LOOKUPS;

/// Maximum number of literals or tokens that lookups can give, and one token more. A power of two:
/// a mask is the whole bounds check.
pub(crate) const CAPACITY: usize = (MAX_LOOKUPS + 1).next_power_of_two();

/// Number of bytes that are copied at a time.
pub(crate) const CHUNK: usize = 16;

/// Maximum number of lookups that are sorted at a time.
pub(crate) const WIDTH: usize = 16;

/// Literals and matches.
///
/// The kernel that fills it guarantees: the number of literals before a token never decreases from
/// token to token, and is at most `literal_count`. Memory safety depends on that. A length or a
/// distance is at most 32,768 (RFC 1951, 3.2.5), so it stays within the low half.
#[derive(Clone)]
pub(crate) struct Tokens {
    /// The literals, and space for the rest of a chunk.
    pub(crate) literals: [u8; CAPACITY + CHUNK],
    /// Low half: a length or a distance, alternately. High half: the number of literals before it.
    /// After the tokens there is space for entries that turn out to be no tokens.
    pub(crate) tokens: [u32; CAPACITY + WIDTH],
    pub(crate) literal_count: usize,
    pub(crate) token_count: usize,
}

impl Tokens {
    pub(crate) const NONE: Self = Tokens {
        literals: [0; CAPACITY + CHUNK],
        tokens: [0; CAPACITY + WIDTH],
        literal_count: 0,
        token_count: 0,
    };

    /// Clears all, except for a length whose distance is still to come.
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
