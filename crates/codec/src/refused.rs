//! Payloads that their decoder refuses: the reason, and whether only the checksum is wrong.

use crate::{Codec, CompressedFormat, DecompressBuffer, DecompressError, Decompressor};

impl Decompressor {
    /// Handles a payload that was refused with `error`. If only the checksum is wrong and the
    /// caller tolerates that, decompresses the payload without it. Otherwise returns the most
    /// precise error.
    #[cold]
    pub(crate) fn refused(
        &mut self,
        error: DecompressError,
        codec: Codec,
        payload: &[u8],
        out: &mut DecompressBuffer,
        limit: usize,
    ) -> Result<(), DecompressError> {
        let is_damage = matches!(
            error,
            DecompressError::Corrupt { .. }
                | DecompressError::Truncated { .. }
                | DecompressError::ChecksumMismatch { .. }
        );
        if !is_damage {
            return Err(error);
        }
        out.clear();
        if let Some(checksum) = self.decompress_unchecked(&error, codec, payload, out, limit) {
            if self.tolerates_checksums {
                self.bad_checksums += 1;
                return Ok(());
            }
            return Err(checksum);
        }
        match CompressedFormat::detect(payload) {
            Some(found) if !is_own(codec, found) => {
                Err(DecompressError::OtherFormat { codec, found })
            }
            _ => Err(error),
        }
    }

    /// Decompresses a payload whose checksum is wrong or missing, and returns the error for that
    /// checksum. `None` if anything else is wrong with the payload.
    fn decompress_unchecked(
        &mut self,
        error: &DecompressError,
        codec: Codec,
        payload: &[u8],
        out: &mut DecompressBuffer,
        limit: usize,
    ) -> Option<DecompressError> {
        match codec {
            #[cfg(feature = "snappy")]
            Codec::Snappy => {
                if let DecompressError::ChecksumMismatch { .. } = error {
                    let (stream, _) = payload.split_last_chunk::<4>()?;
                    crate::snappy::decompress_unchecked(stream, out, limit).ok()?;
                    return Some(error.clone());
                }
                crate::snappy::decompress_unchecked(payload, out, limit).ok()?;
                Some(DecompressError::MissingChecksum)
            }
            #[cfg(feature = "zstandard")]
            Codec::Zstandard => {
                let without = crate::zstandard::without_checksums(payload)?;
                self.zstandard.decompress(&without, out, limit).ok()?;
                Some(DecompressError::WrongChecksum { codec })
            }
            #[cfg(feature = "xz")]
            Codec::Xz => {
                crate::xz::decompress_unchecked(payload, out, limit).ok()?;
                Some(DecompressError::WrongChecksum { codec })
            }
            _ => {
                // Without these codecs the parameters are unused.
                let _ = (error, payload, out, limit);
                None
            }
        }
    }
}

/// Whether `found` is the format of `codec` itself, only damaged.
fn is_own(codec: Codec, found: CompressedFormat) -> bool {
    matches!(
        (codec, found),
        (Codec::Zstandard, CompressedFormat::Zstandard)
            | (Codec::Bzip2, CompressedFormat::Bzip2)
            | (Codec::Xz, CompressedFormat::Xz)
    )
}
