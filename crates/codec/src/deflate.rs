//! Raw deflate (RFC 1951): single payloads through libdeflate, several together through
//! `atds-inflate`.

use std::fmt;

use libdeflater::{CompressionLvl, DecompressionError, Decompressor};

use crate::limits::{DEFLATE_MAX_RATIO, MIN_TOGETHER};
use crate::{Codec, CompressError, DecompressBuffer, DecompressError, DecompressJob};

/// Both decoders, created on first use.
#[derive(Default)]
pub(crate) struct Decompress {
    single: Option<Decompressor>,
    together: Option<atds_inflate::Inflater>,
}

/// Whether inflating this number of payloads together is faster than one by one.
pub(crate) fn pays_together(payloads: usize) -> bool {
    payloads >= MIN_TOGETHER && atds_inflate::Inflater::is_fast()
}

impl Decompress {
    /// Inflates one payload. libdeflate inflates a payload whole or not at all. So if the buffer
    /// was too small, it doubles the buffer and starts over.
    pub(crate) fn decompress(
        &mut self,
        payload: &[u8],
        out: &mut DecompressBuffer,
        limit: usize,
    ) -> Result<(), DecompressError> {
        let decoder = self.single.get_or_insert_with(Decompressor::new);
        let most = payload.len().saturating_mul(DEFLATE_MAX_RATIO);
        loop {
            let free = out.free(limit);
            match decoder.deflate_decompress(payload, free) {
                Ok(written) => {
                    out.advance(written);
                    return Ok(());
                }
                Err(DecompressionError::BadData) => return Err(corrupt()),
                // This arm comes before the limit is checked, so that the error does not depend on
                // the buffer's first size.
                Err(DecompressionError::InsufficientSpace) if free.len() >= most => {
                    return Err(corrupt());
                }
                Err(DecompressionError::InsufficientSpace) if free.len() >= limit => {
                    return Err(DecompressError::TooLarge { limit });
                }
                Err(DecompressionError::InsufficientSpace) => out.grow(limit)?,
            }
        }
    }

    /// Inflates the `jobs` whose `result` is not yet an error. If a payload fails, the error does
    /// not have the exact reason.
    pub(crate) fn decompress_together(&mut self, jobs: &mut [DecompressJob<'_>]) {
        let streams = jobs.iter_mut().filter(|job| job.result.is_ok()).map(|job| {
            let (output, len) = job.out.parts();
            let (payload, limit) = (job.payload, job.limit);
            let stream = atds_inflate::Stream {
                payload,
                output,
                limit,
            };
            ((len, &mut job.result), stream)
        });
        let decoder = self.together.get_or_insert_default();
        decoder.inflate(streams, |(len, result), inflated| match inflated {
            Ok(inflated) => *len = inflated,
            Err(_) => *result = Err(corrupt()),
        });
    }
}

impl fmt::Debug for Decompress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Decompress(deflate)")
    }
}

#[cold]
fn corrupt() -> DecompressError {
    DecompressError::Corrupt {
        codec: Codec::Deflate,
        detail: "not a deflate stream, or one that ends early",
    }
}

/// libdeflate's encoder of one level.
pub(crate) struct Compress(libdeflater::Compressor);

impl Compress {
    pub(crate) fn new(level: Option<i32>) -> Self {
        // The caller has checked the level against `Codec::levels`.
        let level = level.and_then(|level| CompressionLvl::new(level).ok());
        Self(libdeflater::Compressor::new(level.unwrap_or_default()))
    }

    pub(crate) fn compress(
        &mut self,
        inflated: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), CompressError> {
        out.resize(self.0.deflate_compress_bound(inflated.len()), 0);
        let written = self.0.deflate_compress(inflated, out);
        let written = written.map_err(|_| CompressError::Failed {
            codec: Codec::Deflate,
            detail: "the output exceeds its bound",
        })?;
        out.truncate(written);
        Ok(())
    }
}
