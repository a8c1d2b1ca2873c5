//! xz, through liblzma.

use liblzma::stream::{
    Action, CONCATENATED, Check, Error, Filters, IGNORE_CHECK, LzmaOptions, Status, Stream,
};

use crate::limits::XZ_MEMORY;
use crate::stream::{self, StreamStep};
use crate::xz_dictionary;
use crate::{Codec, CompressError, DecompressBuffer, DecompressError};

const CODEC: Codec = Codec::Xz;
/// The default preset of the `xz` command.
const DEFAULT_LEVEL: u32 = 6;
/// Smallest dictionary that liblzma accepts.
const MIN_DICT: u32 = 4096;

/// Bytes that a decoder takes besides its dictionary, or a few more.
const DECODER: u64 = 128 << 10;

/// Bytes that the decoder of `payload` takes at most.
pub(crate) fn working_memory(payload: &[u8]) -> u64 {
    let memory = xz_dictionary::largest(payload).saturating_add(DECODER);
    memory.min(XZ_MEMORY)
}

/// Decompresses one or more streams in a row, as parallel compressors write them.
pub(crate) fn decompress(
    payload: &[u8],
    out: &mut DecompressBuffer,
    limit: usize,
) -> Result<(), DecompressError> {
    decompress_with(CONCATENATED, payload, out, limit)
}

/// As [`decompress`], without verifying checksums.
pub(crate) fn decompress_unchecked(
    payload: &[u8],
    out: &mut DecompressBuffer,
    limit: usize,
) -> Result<(), DecompressError> {
    decompress_with(CONCATENATED | IGNORE_CHECK, payload, out, limit)
}

fn decompress_with(
    flags: u32,
    payload: &[u8],
    out: &mut DecompressBuffer,
    limit: usize,
) -> Result<(), DecompressError> {
    // An index may be damaged: no more memory is taken than its reader counts on.
    let memory = working_memory(payload);
    let corrupt = |error| corrupt(error, memory);
    let mut decoder = Stream::new_stream_decoder(memory, flags).map_err(corrupt)?;
    stream::decompress(CODEC, payload, out, limit, |payload, free| {
        let before = (decoder.total_in(), decoder.total_out());
        let status = decoder
            .process(payload, free, Action::Finish)
            .map_err(corrupt)?;
        Ok(StreamStep {
            read: (decoder.total_in() - before.0) as usize,
            written: (decoder.total_out() - before.1) as usize,
            ended: matches!(status, Status::StreamEnd),
        })
    })
}

#[cold]
fn corrupt(error: Error, limit: u64) -> DecompressError {
    let detail = match error {
        Error::Mem => return DecompressError::OutOfMemory,
        Error::MemLimit => {
            return DecompressError::NeedsMemory {
                codec: CODEC,
                limit,
            };
        }
        Error::Format => "not an xz stream",
        Error::Data => "invalid data or a wrong checksum",
        Error::Options => "options that are not supported",
        Error::NoCheck | Error::UnsupportedCheck => "a checksum that is not supported",
        Error::Program => "invalid stream",
    };
    DecompressError::Corrupt {
        codec: CODEC,
        detail,
    }
}

pub(crate) fn compress(
    level: Option<i32>,
    mut decompressed: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), CompressError> {
    let mut encoder = encoder(level, decompressed.len()).map_err(failed)?;
    out.clear();
    loop {
        out.reserve(decompressed.len() / 2 + 1024);
        let before = encoder.total_in();
        let status = encoder
            .process_vec(decompressed, out, Action::Finish)
            .map_err(failed)?;
        decompressed = &decompressed[(encoder.total_in() - before) as usize..];
        if let Status::StreamEnd = status {
            return Ok(());
        }
    }
}

/// An encoder whose dictionary is no larger than the data. A preset's own dictionary, up to 64
/// MiB, would be allocated for every payload, by the reader too.
fn encoder(level: Option<i32>, len: usize) -> Result<Stream, Error> {
    let level = level.map_or(DEFAULT_LEVEL, |level| level as u32);
    let mut options = LzmaOptions::new_preset(level)?;
    let len = u32::try_from(len).unwrap_or(u32::MAX);
    options.dict_size(len.clamp(MIN_DICT, preset_dict(level)));
    let mut filters = Filters::new();
    filters.lzma2(&options);
    Stream::new_stream_encoder(&filters, Check::Crc64)
}

/// The dictionary of a preset, in bytes: 256 KiB for 0, 1 MiB for 1, up to 64 MiB for 9.
fn preset_dict(level: u32) -> u32 {
    const LOG2: [u32; 10] = [18, 20, 21, 22, 22, 23, 23, 24, 25, 26];
    1 << LOG2[level.min(9) as usize]
}

#[cold]
fn failed(error: Error) -> CompressError {
    let detail = match error {
        Error::Mem => "out of memory",
        _ => "invalid state",
    };
    CompressError::Failed {
        codec: CODEC,
        detail,
    }
}
