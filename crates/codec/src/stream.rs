//! The loop that the streaming codecs share: it gives a decoder memory and checks that it makes
//! progress.

use crate::{Codec, DecompressBuffer, DecompressError};

/// The result of one call of a decoder.
pub(crate) struct StreamStep {
    /// Bytes of the payload that the call read.
    pub(crate) read: usize,
    /// Bytes of output that the call wrote.
    pub(crate) written: usize,
    /// Whether a stream is complete; another may follow it.
    pub(crate) ended: bool,
}

/// Decompresses all of `payload` into `out`, up to `limit` bytes. Each call of `step` gets the rest
/// of the payload and at least one byte of free memory.
pub(crate) fn decompress(
    codec: Codec,
    mut payload: &[u8],
    out: &mut DecompressBuffer,
    limit: usize,
    mut step: impl FnMut(&[u8], &mut [u8]) -> Result<StreamStep, DecompressError>,
) -> Result<(), DecompressError> {
    loop {
        if out.free(limit).is_empty() {
            out.grow(limit)?;
        }
        let free = out.free(limit);
        let at_limit = free.is_empty();
        // At the limit, the decoder may still need to read the stream's end, but may not write
        // another byte.
        let mut probe = [0];
        let target = if at_limit { &mut probe[..] } else { free };

        let done = step(payload, target)?;
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
