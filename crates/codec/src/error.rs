//! Errors of a payload. They have no position: the caller knows where the payload is.

use crate::{Codec, CompressedFormat};

/// A payload could not be decompressed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecompressError {
    /// The codec is not compiled in.
    #[error(
        "codec {0} is not compiled in (cargo feature {0}); the codecs read are {read}",
        read = Codec::enabled_names()
    )]
    Disabled(Codec),
    /// The payload is not in the codec's format.
    #[error("corrupt {codec} payload: {detail}")]
    Corrupt {
        /// The codec.
        codec: Codec,
        /// The decoder's reason.
        detail: &'static str,
    },
    /// The payload ends before the compressed stream does.
    #[error("the {codec} payload ends early")]
    Truncated {
        /// The codec.
        codec: Codec,
    },
    /// The payload is in another format than the header says.
    #[error("the header names codec {codec}, but the payload is {found}")]
    OtherFormat {
        /// The codec that the header names.
        codec: Codec,
        /// The format that the payload begins like.
        found: CompressedFormat,
    },
    /// A snappy payload without the CRC-32 that Avro appends.
    #[error("the snappy payload has no CRC-32 after it; `tolerate` 'checksum' reads such payloads")]
    MissingChecksum,
    /// The payload decompresses, but its checksum does not match the decompressed bytes.
    #[error("the {codec} payload's checksum is wrong; `tolerate` 'checksum' reads it nevertheless")]
    WrongChecksum {
        /// The codec.
        codec: Codec,
    },
    /// The CRC-32 of the decompressed bytes is not the stored one.
    #[error(
        "checksum {actual:08x} of the decompressed payload is not {expected:08x} as stored; `tolerate` \
         'checksum' reads it nevertheless"
    )]
    ChecksumMismatch {
        /// The stored checksum.
        expected: u32,
        /// The checksum of the decompressed bytes.
        actual: u32,
    },
    /// The payload decompresses to more bytes than the caller allows.
    #[error(
        "the payload decompresses to more than the limit of {limit} byte{}: raise `max_block_bytes` if \
         the file is whole",
        if *limit == 1 { "" } else { "s" }
    )]
    TooLarge {
        /// The caller's limit.
        limit: usize,
    },
    /// The payload asks its decoder for more working memory than this crate allows.
    #[error("the {codec} payload asks for more than {limit} bytes of working memory")]
    NeedsMemory {
        /// The codec.
        codec: Codec,
        /// The limit on working memory.
        limit: u64,
    },
    /// The system has no memory left.
    #[error("out of memory")]
    OutOfMemory,
}

/// A payload could not be compressed, or a compressor could not be created.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CompressError {
    /// The codec is not compiled in.
    #[error("codec {0} is not compiled in (cargo feature {0})")]
    Disabled(Codec),
    /// The codec has no such level; see [`Codec::levels`].
    #[error("codec {codec} has no level {level}")]
    BadLevel {
        /// The codec.
        codec: Codec,
        /// The level asked for.
        level: i32,
    },
    /// The codec's library failed.
    #[error("{codec} could not compress: {detail}")]
    Failed {
        /// The codec.
        codec: Codec,
        /// The library's reason.
        detail: &'static str,
    },
}
