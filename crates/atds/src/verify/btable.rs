//! Verification of BTables: the header, and each row.

use atds_btable::{Block, Error as TableError, ErrorKind as Fault, Frame, Framer};

use super::stream::{Piece, Stream};
use super::{Cause, Damage, Verified, VerifyOptions};
use crate::Error;
use crate::formats::btable::BLOCK_BYTES;
use crate::formats::btable::rows::row_error;
use crate::opened::Opened;

/// Verifies a file.
///
/// # Errors
/// The caller has cancelled.
pub(super) fn verify(
    opened: Opened,
    options: &VerifyOptions,
    on_read: &dyn Fn(u64),
) -> Result<Verified, Error> {
    let mut stream = match Stream::new(opened, options, on_read) {
        Ok(stream) => stream,
        Err(found) => return Ok(*found),
    };
    let mut framer = Framer::new().with_block_bytes(BLOCK_BYTES);
    let (mut columns, mut position, mut failed) = (0, 0, None);
    loop {
        match framer.next() {
            Ok(Frame::Header(header)) => (columns, position) = (header.columns(), header.len()),
            Ok(Frame::Block(block)) => {
                position = block.offset + block.payload.len() as u64;
                check(&block, columns, &mut stream);
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
                // Nothing tells where the next row begins.
                let end = stream.drain()?;
                add(error, (position, end - position), &mut stream);
                break;
            }
        }
    }
    if let Some(error) = failed {
        stream.fail(error, position);
    }
    Ok(stream.finish())
}

/// Checks the columns of a block's rows.
fn check(block: &Block, columns: u32, stream: &mut Stream<'_>) {
    let mut rows = block.rows(columns);
    let end = block.offset + block.payload.len() as u64;
    loop {
        let offset = end - rows.rest().len() as u64;
        let mut after = rows.clone();
        match rows.next() {
            None => return,
            Some(Ok(_)) => {
                stream.found.records += 1;
                let next = end - rows.rest().len() as u64;
                stream.found.decompressed_bytes += next - offset;
            }
            Some(Err(error)) => {
                // A framer's blocks hold whole rows: only columns are wrong.
                if after.skip_rows(1).is_err() {
                    return;
                }
                rows = after;
                let next = end - rows.rest().len() as u64;
                add(error, (offset, next - offset), stream);
            }
        }
    }
}

/// Adds a row that is wrong, or the rest of a file.
fn add(error: TableError, (offset, bytes): (u64, u64), stream: &mut Stream<'_>) {
    let format = stream.found.format;
    let (cause, records) = match error.kind {
        Fault::Empty => (Cause::NeverWritten, None),
        Fault::EndsInHeader { missing } => (Cause::Cut { missing }, None),
        Fault::EndsInRow { missing } => (Cause::Cut { missing }, Some(1)),
        Fault::Version(_) => (Cause::NotOfFormat { format }, None),
        Fault::LabelsTooLong { .. } => (Cause::NotChecked, None),
        Fault::NegativeCount(_)
        | Fault::CountAboveColumns { .. }
        | Fault::NegativeLength(_)
        | Fault::UnpairedSurrogate(_) => (Cause::Overwritten, None),
        _ => (Cause::Overwritten, Some(1)),
    };
    let seen = matches!(cause, Cause::Overwritten).then(|| stream.cause_by_bytes(offset, bytes));
    let file = (&*stream.found.path, stream.found.packing);
    let error = row_error(error, file);
    stream.found.add(Damage {
        error,
        cause: seen.flatten().unwrap_or(cause),
        offset,
        bytes,
        records,
    });
}
