//! What can be wrong with a stream.

/// A stream could not be inflated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A block of the third type, which RFC 1951 (3.2.3) reserves.
    #[error("a block of no known type")]
    BlockType,
    /// The length of a stored block and its complement differ (RFC 1951, 3.2.4).
    #[error("a stored block of length {length} with complement {complement}")]
    StoredLength {
        /// The length.
        length: u16,
        /// What should be its complement.
        complement: u16,
    },
    /// A repetition of code lengths has none before it, or goes on behind the last (RFC 1951,
    /// 3.2.7).
    #[error("a repetition of code lengths that is out of place")]
    Repetition,
    /// The lengths of a code's words cannot be those of any code, or leave some words unused: all
    /// but one, of one bit, may not be (RFC 1951, 3.2.7).
    #[error("a code with too many words or too few")]
    Code,
    /// A match begins before the stream does.
    #[error("a match at distance {distance}, {written} bytes into the stream")]
    Distance {
        /// How far back.
        distance: u16,
        /// Bytes inflated before it.
        written: usize,
    },
    /// The stream goes on behind its payload.
    #[error("the stream ends early")]
    Truncated,
    /// The stream inflates to more bytes than the caller allows.
    #[error("the stream inflates to more than {limit} bytes")]
    TooLarge {
        /// The caller's limit.
        limit: usize,
    },
    /// The system has no memory left.
    #[error("out of memory")]
    OutOfMemory,
}
