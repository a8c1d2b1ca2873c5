//! What the streaming codecs share: a loop that gives them room and sees that they move.

use super::{Codec, DecompressBuffer, DecompressError};

/// What one step of a decoder did.
pub(super) struct Step {
    /// Bytes of the payload it took.
    pub(super) read: usize,
    /// Bytes of room it filled.
    pub(super) written: usize,
    /// Whether the stream, or one of several, is complete.
    pub(super) ended: bool,
}

/// Decompresses all of `payload` into `out`, up to `limit` bytes, by calls of `step` with the payload
/// that is left and room for more, of at least one byte.
pub(super) fn decompress(
    codec: Codec,
    mut payload: &[u8],
    out: &mut DecompressBuffer,
    limit: usize,
    mut step: impl FnMut(&[u8], &mut [u8]) -> Result<Step, DecompressError>,
) -> Result<(), DecompressError> {
    loop {
        if out.spare(limit).is_empty() {
            out.grow(limit)?;
        }
        let spare = out.spare(limit);
        let at_limit = spare.is_empty();
        // At the limit a stream may still have its end to come, but not another byte.
        let mut probe = [0];
        let room = if at_limit { &mut probe[..] } else { spare };

        let done = step(payload, room)?;
        if at_limit && done.written > 0 {
            return Err(DecompressError::TooLarge { limit });
        }
        payload = &payload[done.read..];
        out.advance(done.written);

        if done.ended && payload.is_empty() {
            return Ok(());
        }
        if done.read == 0 && done.written == 0 {
            return Err(match payload {
                [] => DecompressError::Truncated { codec },
                _ => DecompressError::Corrupt {
                    codec,
                    detail: "the decoder makes no progress",
                },
            });
        }
    }
}
