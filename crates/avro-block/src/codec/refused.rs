//! Payloads that their decoder refuses: why, and whether only the checksum is at fault.

use super::{Codec, InflateBuffer, InflateError, Inflater};
use crate::diagnose::Found;

impl Inflater {
    /// What becomes of a payload that was refused with `error`: it is inflated without its checksum
    /// if that alone is at fault and may be; else the error says what it can.
    #[cold]
    pub(super) fn refused(
        &mut self,
        error: InflateError,
        codec: Codec,
        payload: &[u8],
        out: &mut InflateBuffer,
        limit: usize,
    ) -> Result<(), InflateError> {
        let is_damage = matches!(
            error,
            InflateError::Corrupt { .. }
                | InflateError::Truncated { .. }
                | InflateError::ChecksumMismatch { .. }
        );
        if !is_damage {
            return Err(error);
        }
        out.clear();
        if let Some(checksum) = self.inflate_unchecked(&error, codec, payload, out, limit) {
            if self.tolerates_checksums {
                self.bad_checksums += 1;
                return Ok(());
            }
            return Err(checksum);
        }
        match Found::in_payload(payload) {
            Some(found) if !is_own(codec, found) => Err(InflateError::OtherFormat { codec, found }),
            _ => Err(error),
        }
    }

    /// Inflates a payload whose checksum is wrong or missing, and gives the error that says so;
    /// `None` if something else is wrong with it.
    fn inflate_unchecked(
        &mut self,
        error: &InflateError,
        codec: Codec,
        payload: &[u8],
        out: &mut InflateBuffer,
        limit: usize,
    ) -> Option<InflateError> {
        match codec {
            #[cfg(feature = "snappy")]
            Codec::Snappy => {
                if let InflateError::ChecksumMismatch { .. } = error {
                    let (stream, _) = payload.split_last_chunk::<4>()?;
                    super::snappy::inflate_unchecked(stream, out, limit).ok()?;
                    return Some(error.clone());
                }
                super::snappy::inflate_unchecked(payload, out, limit).ok()?;
                Some(InflateError::MissingChecksum)
            }
            #[cfg(feature = "zstandard")]
            Codec::Zstandard => {
                let without = super::zstandard::without_checksums(payload)?;
                self.zstandard.inflate(&without, out, limit).ok()?;
                Some(InflateError::WrongChecksum { codec })
            }
            #[cfg(feature = "xz")]
            Codec::Xz => {
                super::xz::inflate_unchecked(payload, out, limit).ok()?;
                Some(InflateError::WrongChecksum { codec })
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
