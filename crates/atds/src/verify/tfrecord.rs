//! Verification of TFRecord files: the checksums of lengths and of data.

use std::sync::Arc;

use atds_tfrecord::{Block, Error as RecordError, ErrorKind as Fault, Frame, Framer, Records};

use super::stream::{Piece, Stream, shifted};
use super::{Cause, Damage, Verified, VerifyOptions};
use crate::avro::verify::evidence;
use crate::formats::tfrecord::framing;
use crate::opened::Opened;
use crate::{Error, ErrorKind};

/// Verifies a file.
///
/// # Errors
/// The caller has cancelled.
pub(super) fn verify(
    opened: Opened,
    options: &VerifyOptions,
    on_read: &dyn Fn(u64),
) -> Result<Verified, Error> {
    let format = opened.format;
    let mut stream = match Stream::new(opened, options, on_read) {
        Ok(stream) => stream,
        Err(found) => return Ok(*found),
    };
    let mut framer = Framer::new(framing(&options.records()));
    // The part that frames no record.
    let mut open: Option<RecordError> = None;
    let (mut position, mut failed) = (0, None);
    loop {
        match framer.next() {
            Ok(Frame::Block(block)) => {
                position = block.offset + block.payload.len() as u64;
                check(&block, options, &mut stream);
            }
            Ok(Frame::Skipped { offset, len }) => {
                position = offset + len;
                if let Some(error) = open.take() {
                    add(error, (offset, len), &mut stream);
                }
            }
            Ok(Frame::NeedMore(_)) => match stream.piece()? {
                Piece::Bytes(piece) => framer.push(piece),
                Piece::End => framer.end(),
                Piece::Failed(error) => {
                    // What was read before has whole records.
                    framer.end();
                    failed = Some(error);
                }
            },
            Ok(_) => break,
            Err(_) if failed.is_some() => break,
            Err(error) => {
                open = Some(error);
                framer.resync();
            }
        }
    }
    if let Some(error) = failed {
        stream.fail(error, position);
    }
    // Not one length fits.
    let found = &mut stream.found;
    if let ([damage], 0) = (&mut *found.damages, found.records)
        && (damage.offset, damage.records) == (0, None)
        && matches!(damage.cause, Cause::Overwritten)
    {
        damage.cause = Cause::NotOfFormat { format };
    }
    Ok(stream.finish())
}

/// Verifies the checksums of a block's records.
fn check(block: &Block, options: &VerifyOptions, stream: &mut Stream<'_>) {
    // A framer's blocks hold whole records.
    for (number, record) in (block.first_record..).zip(Records::new(&block.payload).flatten()) {
        let bytes = (record.end() - record.offset) as u64;
        let offset = block.offset + record.offset as u64;
        match record.verify() {
            Err(_) if options.tolerate.checksum => stream.found.tolerated.bad_checksums += 1,
            Err(kind) => {
                let kind = ErrorKind::Format(Arc::new(kind));
                let seen = evidence::of_bytes(record.data, avro_block::Codec::Null, None);
                // What the data may have of itself, if they are text, tells nothing.
                let zeros = seen.filter(|cause| matches!(cause, Cause::ZeroFilled { .. }));
                let begins = offset + bytes - 4 - record.data.len() as u64;
                stream.found.add(Damage {
                    error: stream.locate(kind, Some(offset), Some(number)),
                    cause: zeros.map_or(Cause::Overwritten, |cause| shifted(cause, begins)),
                    offset,
                    bytes,
                    records: Some(1),
                });
                continue;
            }
            Ok(()) => {}
        }
        stream.found.records += 1;
        stream.found.decompressed_bytes += bytes;
    }
}

/// Adds a part of a file that frames no record.
fn add(error: RecordError, (offset, bytes): (u64, u64), stream: &mut Stream<'_>) {
    let (cause, records) = match error.kind {
        Fault::Truncated { missing } => (Cause::Cut { missing }, Some(1)),
        Fault::TooLarge { .. } => (Cause::NotChecked, None),
        _ => {
            let seen = stream.cause_by_bytes(offset, bytes);
            (seen.unwrap_or(Cause::Overwritten), None)
        }
    };
    let kind = ErrorKind::Format(Arc::new(error.kind));
    stream.found.add(Damage {
        error: stream.locate(kind, Some(error.offset), Some(error.record)),
        cause,
        offset,
        bytes,
        records,
    });
}
