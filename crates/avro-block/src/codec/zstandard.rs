//! Zstandard (RFC 8878), through the reference library.

use std::fmt;

use zstd::zstd_safe::{
    self, CCtx, CParameter, DCtx, DParameter, ErrorCode, InBuffer, OutBuffer, ResetDirective,
};

use super::stream::{self, Step};
use super::{Codec, CompressError, InflateBuffer, InflateError};
use crate::limits::ZSTD_WINDOW_LOG;

const CODEC: Codec = Codec::Zstandard;

/// The library's decoder, made when first needed.
#[derive(Default)]
pub(super) struct Inflate(Option<DCtx<'static>>);

impl Inflate {
    /// Streams, since a frame need not say how long its content is. Where the room happens to
    /// hold the content of a whole frame the library inflates straight into it, without a window.
    pub(super) fn inflate(
        &mut self,
        payload: &[u8],
        out: &mut InflateBuffer,
        limit: usize,
    ) -> Result<(), InflateError> {
        let context = match &mut self.0 {
            Some(context) => {
                // What an earlier payload left unfinished must not run into this one.
                context
                    .reset(ResetDirective::SessionOnly)
                    .map_err(corrupt)?;
                context
            }
            none => none.insert(new_context()?),
        };
        stream::inflate(CODEC, payload, out, limit, |payload, room| {
            let mut input = InBuffer::around(payload);
            let mut output = OutBuffer::around(room);
            let left = context
                .decompress_stream(&mut output, &mut input)
                .map_err(corrupt)?;
            Ok(Step {
                read: input.pos(),
                written: output.pos(),
                ended: left == 0,
            })
        })
    }
}

impl fmt::Debug for Inflate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Inflate(zstandard)")
    }
}

fn new_context() -> Result<DCtx<'static>, InflateError> {
    let mut context = DCtx::try_create().ok_or(InflateError::OutOfMemory)?;
    context
        .set_parameter(DParameter::WindowLogMax(ZSTD_WINDOW_LOG))
        .map_err(corrupt)?;
    Ok(context)
}

#[cold]
fn corrupt(code: ErrorCode) -> InflateError {
    let detail = zstd_safe::get_error_name(code);
    InflateError::Corrupt {
        codec: CODEC,
        detail,
    }
}

/// The library's encoder.
pub(super) struct Compress(CCtx<'static>);

impl Compress {
    pub(super) fn new(level: Option<i32>) -> Result<Self, CompressError> {
        let mut context = CCtx::try_create().ok_or(CompressError::Failed {
            codec: CODEC,
            detail: "out of memory",
        })?;
        let level = level.unwrap_or(zstd::DEFAULT_COMPRESSION_LEVEL);
        context
            .set_parameter(CParameter::CompressionLevel(level))
            .map_err(failed)?;
        Ok(Self(context))
    }

    pub(super) fn compress(
        &mut self,
        inflated: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), CompressError> {
        out.clear();
        out.reserve(zstd_safe::compress_bound(inflated.len()));
        self.0.compress2(out, inflated).map_err(failed)?;
        Ok(())
    }
}

#[cold]
fn failed(code: ErrorCode) -> CompressError {
    let detail = zstd_safe::get_error_name(code);
    CompressError::Failed {
        codec: CODEC,
        detail,
    }
}
