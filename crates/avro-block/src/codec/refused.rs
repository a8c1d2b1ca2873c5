//! Payloads that their decoder refuses: why, and whether only the checksum is at fault.

use super::{Codec, DecompressBuffer, DecompressError, Decompressor};
use crate::diagnose::Found;

impl Decompressor {
    /// What becomes of a payload that was refused with `error`: it is decompressed without its checksum
    /// if that alone is at fault and may be; else the error says what it can.
    #[cold]
    pub(super) fn refused(
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
        match Found::in_payload(payload) {
            Some(found) if !is_own(codec, found) => {
                Err(DecompressError::OtherFormat { codec, found })
            }
            _ => Err(error),
        }
    }

    /// Decompresses a payload whose checksum is wrong or missing, and gives the error that says so;
    /// `None` if something else is wrong with it.
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
                    super::snappy::decompress_unchecked(stream, out, limit).ok()?;
                    return Some(error.clone());
                }
                super::snappy::decompress_unchecked(payload, out, limit).ok()?;
                Some(DecompressError::MissingChecksum)
            }
            #[cfg(feature = "zstandard")]
            Codec::Zstandard => {
                let without = super::zstandard::without_checksums(payload)?;
                self.zstandard.decompress(&without, out, limit).ok()?;
                Some(DecompressError::WrongChecksum { codec })
            }
            #[cfg(feature = "xz")]
            Codec::Xz => {
                super::xz::decompress_unchecked(payload, out, limit).ok()?;
                Some(DecompressError::WrongChecksum { codec })
            }
            _ => {
                // Without these codecs nothing else uses them.
                let _ = (error, payload, out, limit);
                None
            }
        }
    }
}

/// Whether `found` is the format of `codec` itself, damaged.
fn is_own(codec: Codec, found: Found) -> bool {
    matches!(
        (codec, found),
        (Codec::Zstandard, Found::Zstandard)
            | (Codec::Bzip2, Found::Bzip2)
            | (Codec::Xz, Found::Xz)
    )
}
