//! Errors of a stream.

/// An error in a deflate stream.
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
        /// The bytes that should be its complement.
        complement: u16,
    },
    /// A repetition of code lengths has no length before it, or goes past the last (RFC 1951,
    /// 3.2.7).
    #[error("a repeated code length with none before it, or too many repetitions")]
    Repetition,
    /// The lengths of a code's words belong to no code, or leave words unused. Only a single word
    /// of one bit may leave the other unused (RFC 1951, 3.2.7).
    #[error("a Huffman code with too many or too few code words")]
    Code,
    /// A match begins before the start of the stream.
    #[error(
        "a match at byte {written} of the stream begins {distance} bytes earlier, before the stream"
    )]
    Distance {
        /// The distance back.
        distance: u16,
        /// Bytes decompressed before it.
        written: usize,
    },
    /// The payload ends before the stream does.
    #[error("the stream ends early")]
    Truncated,
    /// The stream decompresses to more bytes than the caller allows.
    #[error("the stream inflates to more than {limit} byte{}", if *limit == 1 { "" } else { "s" })]
    TooLarge {
        /// The caller's limit.
        limit: usize,
    },
    /// The system has no memory left.
    #[error("out of memory")]
    OutOfMemory,
}
