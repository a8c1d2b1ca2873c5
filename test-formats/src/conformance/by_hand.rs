//! The format without a pipeline: framing in any pieces, after damage, and decoding from any position.

use atds_format::{Decoder, Error, Pos, Prepared, Scratch};
use tensor_batch::BatchBuilder;

use super::suite::{Suite, all, ensure, rows};
use crate::reference::{prepared, read_with};
use crate::{ReadByHand, Row, TestFormat};

/// Blocks of 3, 0, 1, 5 and 2 rows.
fn blocks() -> Vec<Vec<Row>> {
    let firsts = [(0, 3), (3, 0), (3, 1), (4, 5), (9, 2)];
    firsts.map(|(first, n)| rows(first, n)).to_vec()
}

/// Ways to read a file. The first is the plainest.
fn ways(format: &dyn TestFormat) -> Vec<ReadByHand> {
    let mut ways = vec![ReadByHand::default()];
    for (piece, beyond) in [(1, 0), (2, 1), (5, 0), (30, 17), (64, 1000)] {
        for (payloads, size) in [(true, true), (false, true), (true, false), (false, false)] {
            if size || !format.needs_size() {
                ways.push(ReadByHand {
                    piece,
                    beyond,
                    payloads,
                    size,
                    ..ReadByHand::default()
                });
            }
        }
    }
    ways
}

fn texts(errors: &[Error]) -> Vec<String> {
    errors.iter().map(Error::to_string).collect()
}

/// However bytes are cut into pieces, whether payloads are read with the framing or listed, and
/// whether the size is known: the rows are the same, and so is the error of a damaged file.
pub(super) fn pieces(suite: &Suite<'_>) -> Result<(), String> {
    let (blocks, ways) = (blocks(), ways(suite.format));
    let whole = suite.format.write(&blocks);
    let found = in_all_ways(suite, &whole, &ways)?;
    ensure!(
        found == (all(&[blocks]), Vec::new()),
        "other rows, or an error: {:?}",
        found.1
    );
    for at in 0..whole.len() {
        // Not all ways for each byte, but each way for some bytes.
        let some: Vec<_> = ways.iter().copied().skip(at % 5).step_by(5).collect();
        in_all_ways(suite, &whole[..at], &some).map_err(|wrong| format!("{wrong}, cut at {at}"))?;
        let mut changed = whole.clone();
        changed[at] ^= 0x41;
        in_all_ways(suite, &changed, &some).map_err(|wrong| format!("{wrong}, changed at {at}"))?;
    }
    Ok(())
}

/// Reads a file in all ways, which must agree.
fn in_all_ways(
    suite: &Suite<'_>,
    file: &[u8],
    ways: &[ReadByHand],
) -> Result<(Vec<Row>, Vec<String>), String> {
    let format = suite.format_by_hand();
    let (rows, errors) = read_with(&*format, suite.format, file, ReadByHand::default());
    let errors = texts(&errors);
    for &way in ways {
        let (other_rows, other_errors) = read_with(&*format, suite.format, file, way);
        let other_errors = texts(&other_errors);
        ensure!(
            errors == other_errors,
            "{other_errors:?} and not {errors:?} by {way:?}"
        );
        ensure!(rows == other_rows, "other rows by {way:?}");
    }
    Ok((rows, errors))
}

/// After a block or record with a damaged head, reading goes on with the next one: no other is lost.
pub(super) fn resync(suite: &Suite<'_>) -> Result<(), String> {
    let blocks = suite.format.parts(&blocks());
    let whole = suite.format.write(&blocks);
    for damaged in 0..blocks.len() {
        let start = suite.format.write(&blocks[..damaged]).len();
        let mut file = whole.clone();
        file[start] = 1;
        let mut left = blocks.clone();
        left.remove(damaged);
        for way in ways(suite.format).into_iter().filter(|way| way.payloads) {
            let way = ReadByHand {
                resync: true,
                ..way
            };
            let format = suite.format_by_hand();
            let (rows, errors) = read_with(&*format, suite.format, &file, way);
            let of = format!("block {damaged} is damaged, {way:?}");
            ensure!(rows == left.concat(), "{} rows: {of}", rows.len());
            ensure!(errors.len() == 1, "{errors:?}: {of}");
            ensure!(
                errors[0].place.offset == Some(start as u64),
                "{} and not at {start}: {of}",
                errors[0]
            );
        }
    }
    Ok(())
}

/// Decoding starts at any record, from any position that is known.
pub(super) fn positions(suite: &Suite<'_>) -> Result<(), String> {
    let file = suite.format.write(&blocks());
    let blocks = suite.format.framed(&blocks());
    let text = |error: Error| error.to_string();
    let (decoder, prepared) = prepared(&*suite.format_by_hand(), &file).map_err(text)?;
    ensure!(prepared.len() == blocks.len(), "{} blocks", prepared.len());
    for (rows, (start, records, block)) in blocks.iter().zip(&prepared) {
        ensure!(rows.len() as u64 == *records, "{records} records");
        for from in 0..=*records {
            for first in from..=*records {
                let near = decoder.seek(block, *start, from).map_err(text)?;
                let at = decoder.seek(block, near, first).map_err(text)?;
                ensure!(at.record == first, "record {} and not {first}", at.record);
                let (found, end) = decode(suite.format, &*decoder, block, at, records - first);
                let end = end.map_err(text)?;
                ensure!(end.record == *records, "decodes to record {}", end.record);
                decoder.finish(block, end).map_err(text)?;
                ensure!(
                    found == rows[first as usize..],
                    "other rows from record {first} on, by way of {from}"
                );
            }
        }
    }
    Ok(())
}

/// Before a damaged record, whole rows are written, and counted.
pub(super) fn rows_before(suite: &Suite<'_>) -> Result<(), String> {
    let all = rows(0, 6);
    for damaged in 0..6 {
        let blocks = [all.clone()];
        let file = suite.format.write_damaged(&blocks, 0, damaged);
        let (decoder, prepared) = prepared(&*suite.format_by_hand(), &file)
            .map_err(|error| format!("an error before decoding: {error}"))?;
        let (mut before, mut error) = (Vec::new(), None);
        let blocks = suite.format.framed(&blocks);
        for (rows, (start, records, block)) in blocks.iter().zip(&prepared) {
            let first = before.len();
            let (found, decoded) = decode(suite.format, &*decoder, block, *start, *records);
            before.extend(found);
            if (first..first + rows.len()).contains(&damaged) {
                let expected = Some((damaged - first) as u64);
                error = decoded.err().map(|error| (expected, error));
                break;
            }
        }
        let Some((expected, error)) = error else {
            return Err(format!("no error, but record {damaged} is damaged"));
        };
        ensure!(error.place.record == expected, "another: {error}");
        ensure!(
            before[..] == all[..damaged],
            "other rows before record {damaged}"
        );
    }
    Ok(())
}

/// The rows that are decoded, and the position after them.
fn decode(
    format: &dyn TestFormat,
    decoder: &dyn Decoder,
    block: &Prepared,
    at: Pos,
    records: u64,
) -> (Vec<Row>, Result<Pos, Error>) {
    let mut builder = BatchBuilder::new(format.spec());
    let mut slots = builder.slots(&[records as usize]);
    let mut scratch = Scratch::default();
    let decoded = decoder.decode(block, at, records, &mut slots[0], &mut scratch, None);
    let decoded = decoded.map(|decoded| decoded.pos);
    if decoded.is_err() {
        return (format.written(&mut slots[0]), decoded);
    }
    drop(slots);
    builder.gather().into_iter().for_each(|task| task.run());
    (format.rows(&builder.finish()), decoded)
}
