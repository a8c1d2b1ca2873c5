//! Snappy's raw format and the CRC-32 that Avro appends to it.

use snap::Error;
use snap::raw::{Decoder, Encoder, decompress_len, max_compress_len};

use crate::limits::SNAPPY_MAX_RATIO;
use crate::{Codec, CompressError, DecompressBuffer, DecompressError};

const CODEC: Codec = Codec::Snappy;

pub(crate) fn decompress(
    payload: &[u8],
    out: &mut DecompressBuffer,
    limit: usize,
) -> Result<(), DecompressError> {
    let Some((stream, stored)) = payload.split_last_chunk() else {
        return Err(DecompressError::Truncated { codec: CODEC });
    };
    let expected = u32::from_be_bytes(*stored);
    decompress_unchecked(stream, out, limit)?;
    let actual = crc32fast::hash(out);
    if actual != expected {
        return Err(DecompressError::ChecksumMismatch { expected, actual });
    }
    Ok(())
}

/// Decompresses `stream`, a payload without its checksum.
pub(crate) fn decompress_unchecked(
    stream: &[u8],
    out: &mut DecompressBuffer,
    limit: usize,
) -> Result<(), DecompressError> {
    let len = decompress_len(stream).map_err(corrupt)?;
    // First, so that damage is told from a payload that the limit is too small for.
    if len > stream.len().saturating_mul(SNAPPY_MAX_RATIO) {
        let detail = "more output declared than snappy can encode";
        return Err(DecompressError::Corrupt {
            codec: CODEC,
            detail,
        });
    }
    if len > limit {
        return Err(DecompressError::TooLarge { limit });
    }

    out.grow_to(len, limit)?;
    let written = Decoder::new().decompress(stream, &mut out.free(limit)[..len]);
    out.advance(written.map_err(corrupt)?);
    Ok(())
}

#[cold]
fn corrupt(error: Error) -> DecompressError {
    let detail = match error {
        Error::Empty => return DecompressError::Truncated { codec: CODEC },
        Error::TooBig { .. } => "too large",
        Error::BufferTooSmall { .. } => "its declared length is wrong",
        Error::Header => "invalid length",
        Error::HeaderMismatch { .. } => "less output than declared",
        Error::Literal { .. } => "a literal does not fit",
        Error::CopyRead { .. } => "a copy is cut short",
        Error::CopyWrite { .. } => "a copy does not fit",
        Error::Offset { .. } => "a copy from before the beginning",
        _ => "invalid stream",
    };
    DecompressError::Corrupt {
        codec: CODEC,
        detail,
    }
}

/// Snappy's encoder, with its hash table.
pub(crate) struct Compress(Encoder);

impl Compress {
    pub(crate) fn new() -> Self {
        Self(Encoder::new())
    }

    pub(crate) fn compress(
        &mut self,
        decompressed: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), CompressError> {
        out.resize(max_compress_len(decompressed.len()), 0);
        let written = self.0.compress(decompressed, out);
        let written = written.map_err(|_| CompressError::Failed {
            codec: CODEC,
            detail: "more than 4 GiB in one block",
        })?;
        out.truncate(written);
        out.extend_from_slice(&crc32fast::hash(decompressed).to_be_bytes());
        Ok(())
    }
}
