//! Zstandard (RFC 8878), through the reference library.

use std::fmt;

use zstd::zstd_safe::{
    self, CCtx, CParameter, DCtx, DParameter, ErrorCode, InBuffer, OutBuffer, ResetDirective,
    zstd_sys::ZSTD_ErrorCode,
};

use crate::limits::ZSTD_WINDOW_LOG;
use crate::stream::{self, StreamStep};
use crate::{Codec, CompressError, DecompressBuffer, DecompressError};

const CODEC: Codec = Codec::Zstandard;

/// The first bytes of every frame.
const MAGIC: [u8; 4] = 0xfd2f_b528_u32.to_le_bytes();

/// The kinds of damage that have an error text of their own. For all others, the size of the output
/// buffer decides which kind the library reports first.
const TOLD_APART: [ZSTD_ErrorCode; 3] = [
    ZSTD_ErrorCode::ZSTD_error_prefix_unknown,
    ZSTD_ErrorCode::ZSTD_error_frameParameter_unsupported,
    ZSTD_ErrorCode::ZSTD_error_dictionary_wrong,
];

/// The error text for all other kinds of damage.
const INVALID: &str = "invalid data";

/// The library's decoder, created on first use.
#[derive(Default)]
pub(crate) struct Decompress(Option<DCtx<'static>>);

impl Decompress {
    /// Decompresses by streaming, since a frame need not declare its content's size. If the output
    /// buffer happens to fit a whole frame, the library decompresses straight into it, without a
    /// window.
    pub(crate) fn decompress(
        &mut self,
        payload: &[u8],
        out: &mut DecompressBuffer,
        limit: usize,
    ) -> Result<(), DecompressError> {
        let context = match &mut self.0 {
            Some(context) => {
                // An earlier payload may have left a frame unfinished; the reset drops it.
                context
                    .reset(ResetDirective::SessionOnly)
                    .map_err(corrupt)?;
                context
            }
            none => none.insert(new_context()?),
        };
        let mut frame = None;
        let result = stream::decompress(CODEC, payload, out, limit, |payload, free| {
            let current = match &mut frame {
                Some(frame) => frame,
                none => none.insert(Frame::begin(payload)?),
            };
            let mut input = InBuffer::around(payload);
            let mut output = OutBuffer::around(free);
            let left = context
                .decompress_stream(&mut output, &mut input)
                .map_err(corrupt)?;
            current.decompressed += output.pos() as u64;
            if left == 0 {
                current.end()?;
                frame = None;
            }
            Ok(StreamStep {
                read: input.pos(),
                written: output.pos(),
                ended: left == 0,
            })
        });
        if working_memory(payload) > KEPT_WINDOW {
            self.0 = None;
        }
        result
    }
}

/// The largest window that a decoder keeps for the next payload: the one of the default level.
const KEPT_WINDOW: u64 = 1 << 21;

/// Bytes that the decoder of `payload` takes for its window: the largest of all frames up to one whose
/// window is not accepted.
pub(crate) fn working_memory(mut payload: &[u8]) -> u64 {
    let mut largest = 0;
    while let Some(window) = window(payload).filter(|&window| window <= 1 << ZSTD_WINDOW_LOG) {
        largest = largest.max(window);
        // After damage nothing is decompressed.
        let len = zstd_safe::find_frame_compressed_size(payload).unwrap_or(payload.len());
        payload = payload.get(len..).unwrap_or_default();
    }
    largest
}

/// The frames of a payload with their checksums removed. `None` if no frame has a checksum, or a
/// frame is invalid.
pub(crate) fn without_checksums(payload: &[u8]) -> Option<Vec<u8>> {
    const CHECKSUM_FLAG: u8 = 1 << 2;
    const CHECKSUM_LEN: usize = 4;
    let mut without = Vec::with_capacity(payload.len());
    let mut rest = payload;
    while !rest.is_empty() {
        let len = zstd_safe::find_frame_compressed_size(rest).ok()?;
        let (frame, later) = rest.split_at_checked(len)?;
        match frame.strip_prefix(&MAGIC).and_then(<[u8]>::split_first) {
            Some((descriptor, body)) if descriptor & CHECKSUM_FLAG != 0 => {
                without.extend(MAGIC);
                without.push(descriptor & !CHECKSUM_FLAG);
                without.extend(&body[..body.len().checked_sub(CHECKSUM_LEN)?]);
            }
            _ => without.extend(frame),
        }
        rest = later;
    }
    (without.len() < payload.len()).then_some(without)
}

impl fmt::Debug for Decompress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Decompress(zstandard)")
    }
}

/// A frame being decompressed. It makes the checks that the library makes only in some cases,
/// depending on whether the output buffer fits the whole frame.
struct Frame {
    /// Bytes of the frame's content, if the frame declares them.
    content: Option<u64>,
    /// Bytes decompressed so far.
    decompressed: u64,
}

impl Frame {
    /// Parses the frame at the front of `payload`; refuses a frame with too large a window.
    fn begin(payload: &[u8]) -> Result<Self, DecompressError> {
        const LIMIT: u64 = 1 << ZSTD_WINDOW_LOG;
        if window(payload).is_some_and(|bytes| bytes > LIMIT) {
            return Err(DecompressError::NeedsMemory {
                codec: CODEC,
                limit: LIMIT,
            });
        }
        Ok(Self {
            // The library itself reports an invalid header.
            content: zstd_safe::get_frame_content_size(payload).unwrap_or(None),
            decompressed: 0,
        })
    }

    /// Checks the number of decompressed bytes against the header.
    fn end(&self) -> Result<(), DecompressError> {
        match self.content {
            Some(content) if content != self.decompressed => Err(DecompressError::Corrupt {
                codec: CODEC,
                detail: INVALID,
            }),
            _ => Ok(()),
        }
    }
}

/// Bytes of the window that a frame's header declares (RFC 8878, section 3.1.1.1). `None` if
/// `frame` is no frame, or ends early.
fn window(frame: &[u8]) -> Option<u64> {
    const SINGLE_SEGMENT: u8 = 1 << 5;
    let (&descriptor, rest) = frame.strip_prefix(&MAGIC)?.split_first()?;
    if descriptor & SINGLE_SEGMENT == 0 {
        let (exponent, mantissa) = (rest.first()? >> 3, rest.first()? & 7);
        let base = 1 << (10 + exponent);
        return Some(base + base / 8 * u64::from(mantissa));
    }
    // The window is the whole content. The content's size follows the dictionary's number.
    let dictionary = [0, 1, 2, 4][usize::from(descriptor & 3)];
    let mut size = [0; 8];
    let len = 1 << (descriptor >> 6);
    size[..len].copy_from_slice(rest.get(dictionary..)?.get(..len)?);
    let offset = if len == 2 { 256 } else { 0 };
    Some(u64::from_le_bytes(size).saturating_add(offset))
}

fn new_context() -> Result<DCtx<'static>, DecompressError> {
    let mut context = DCtx::try_create().ok_or(DecompressError::OutOfMemory)?;
    context
        .set_parameter(DParameter::WindowLogMax(ZSTD_WINDOW_LOG))
        .map_err(corrupt)?;
    Ok(context)
}

#[cold]
fn corrupt(code: ErrorCode) -> DecompressError {
    // The library's errors are the negatives of their numbers.
    let number = code.wrapping_neg();
    let is_told_apart = TOLD_APART.iter().any(|&kind| kind as ErrorCode == number);
    let detail = if is_told_apart {
        zstd_safe::get_error_name(code)
    } else {
        INVALID
    };
    DecompressError::Corrupt {
        codec: CODEC,
        detail,
    }
}

/// The library's encoder.
pub(crate) struct Compress(CCtx<'static>);

impl Compress {
    pub(crate) fn new(level: Option<i32>) -> Result<Self, CompressError> {
        let mut context = CCtx::try_create().ok_or(CompressError::Failed {
            codec: CODEC,
            detail: "out of memory",
        })?;
        let level = level.unwrap_or(zstd::DEFAULT_COMPRESSION_LEVEL);
        context
            .set_parameter(CParameter::CompressionLevel(level))
            .map_err(failed)?;
        // Without a checksum, damage that leaves a frame well formed would change values silently.
        context
            .set_parameter(CParameter::ChecksumFlag(true))
            .map_err(failed)?;
        Ok(Self(context))
    }

    pub(crate) fn compress(
        &mut self,
        decompressed: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), CompressError> {
        out.clear();
        out.reserve(zstd_safe::compress_bound(decompressed.len()));
        self.0.compress2(out, decompressed).map_err(failed)?;
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
