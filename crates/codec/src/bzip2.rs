//! bzip2.

use bzip2::{Action, Compress, Compression, Decompress, Error, Status};

use crate::stream::{self, StreamStep};
use crate::{Codec, CompressError, DecompressBuffer, DecompressError};

const CODEC: Codec = Codec::Bzip2;

/// Bytes that the decoder of `payload` takes: four for each byte of a block of the level that the
/// header says.
pub(crate) fn working_memory(payload: &[u8]) -> u64 {
    let level = payload
        .get(3)
        .map_or(0, |level| level.wrapping_sub(b'0').min(9));
    u64::from(level) * 400_000
}

/// Decompresses one or more streams in a row, as parallel compressors write them.
pub(crate) fn decompress(
    payload: &[u8],
    out: &mut DecompressBuffer,
    limit: usize,
) -> Result<(), DecompressError> {
    let mut decoder = Decompress::new(false);
    stream::decompress(CODEC, payload, out, limit, |payload, free| {
        let before = (decoder.total_in(), decoder.total_out());
        let status = decoder.decompress(payload, free).map_err(corrupt)?;
        let step = StreamStep {
            read: (decoder.total_in() - before.0) as usize,
            written: (decoder.total_out() - before.1) as usize,
            ended: status == Status::StreamEnd,
        };
        if status == Status::MemNeeded {
            return Err(DecompressError::OutOfMemory);
        }
        if step.ended && step.read < payload.len() {
            decoder = Decompress::new(false);
        }
        Ok(step)
    })
}

#[cold]
fn corrupt(error: Error) -> DecompressError {
    let detail = match error {
        Error::DataMagic => "not a bzip2 stream",
        Error::Data => "invalid data or a wrong checksum",
        Error::Sequence | Error::Param => "invalid stream",
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
    let level = level.map_or(Compression::best(), |level| Compression::new(level as u32));
    let mut encoder = Compress::new(level, 0);
    out.clear();
    loop {
        out.reserve(decompressed.len() / 2 + 1024);
        let before = encoder.total_in();
        let status = encoder.compress_vec(decompressed, out, Action::Finish);
        let status = status.map_err(|_| CompressError::Failed {
            codec: CODEC,
            detail: "invalid state",
        })?;
        decompressed = &decompressed[(encoder.total_in() - before) as usize..];
        if status == Status::StreamEnd {
            return Ok(());
        }
    }
}
