//! Damage: in a record, and of a file that is cut off.

use atds_pipeline::Options;

use super::suite::{self, FileRows, Outcome, Suite, all, data, ensure, name, rows, same_rows};
use crate::{ReadByHand, Row, read_by_hand};

/// Runs over three files, the second of which is damaged, and in file order the third, too; gives the
/// outcome to `check`.
fn damaged(
    suite: &Suite<'_>,
    check: impl Fn(&Outcome, &Damage) -> Result<(), String>,
) -> Result<(), String> {
    let files = data(3, 3, 10);
    for (block, row) in [(0, 0), (0, 9), (1, 4), (2, 0), (2, 9)] {
        let mut bytes = [
            suite.format.write(&files[0]),
            suite.format.write_damaged(&files[1], block, row),
            suite.format.write(&files[2]),
        ];
        let one_damaged = suite.files_of(bytes.clone());
        // The first error is reported, whichever worker comes to its own first.
        bytes[2] = suite.format.write_damaged(&files[2], 0, 1);
        let two_damaged = suite.files_of(bytes);
        let before = 30 + 10 * block + row;
        let framed = place_in(&suite.format.framed(&files[1]), 10 * block + row);
        for (threads, piece_rows) in [(1, None), (4, None), (4, Some(3))] {
            for (batch_size, buffer) in [(1, 0), (7, 0), (1000, 0), (7, 40)] {
                let mut options = Options::new(batch_size);
                (options.threads, options.shuffle_buffer_size) = (threads, buffer);
                options.piece_rows = piece_rows;
                let files = if buffer == 0 {
                    &two_damaged
                } else {
                    &one_damaged
                };
                let outcome = suite.run(files, &options, 0..3)?;
                let (block, row) = framed;
                let damage = Damage {
                    block,
                    row,
                    before,
                    batch_size,
                    is_shuffled: buffer > 0,
                };
                let checked = check(&outcome, &damage);
                checked.map_err(|wrong| format!("{wrong} ({damage:?}, {threads} threads)"))?;
            }
        }
    }
    Ok(())
}

/// The block and the row of it that row `row` of a file is.
pub(super) fn place_in(file: &FileRows, mut row: usize) -> (usize, usize) {
    for (number, block) in file.iter().enumerate() {
        if row < block.len() {
            return (number, row);
        }
        row -= block.len();
    }
    unreachable!("the file has the row")
}

#[derive(Debug)]
struct Damage {
    block: usize,
    row: usize,
    /// Number of rows before the damaged one, in order.
    before: usize,
    batch_size: usize,
    is_shuffled: bool,
}

/// The rows before a damaged record are given out, and none after it.
pub(super) fn damage_rows(suite: &Suite<'_>) -> Result<(), String> {
    let written = all(&data(3, 3, 10));
    damaged(suite, |outcome, damage| {
        let (lens, found) = (outcome.lens(), outcome.rows());
        if damage.is_shuffled {
            let bad = &written[damage.before];
            ensure!(!found.contains(bad), "the damaged record is given out");
            let mut distinct = found.clone();
            distinct.sort();
            distinct.dedup();
            ensure!(distinct.len() == found.len(), "records come twice");
            ensure!(found.iter().all(|row| written.contains(row)), "other rows");
        } else {
            ensure!(
                found == written[..damage.before],
                "batches of {lens:?} rows before it"
            );
        }
        let whole = lens.len().saturating_sub(1);
        ensure!(
            lens[..whole].iter().all(|&len| len == damage.batch_size),
            "batches of {lens:?} rows"
        );
        Ok(())
    })
}

/// The error names file, block and record.
pub(super) fn damage_error(suite: &Suite<'_>) -> Result<(), String> {
    damaged(suite, |outcome, damage| {
        let error = outcome.error.as_ref().ok_or("no error")?;
        let place = &error.place;
        let file = place.location.as_ref().map(ToString::to_string);
        ensure!(
            file.is_some_and(|file| file.ends_with(&name(1))),
            "another file: {error}"
        );
        // Damage may spoil the record after it, too, which comes first by a shuffled order.
        let is_it =
            place.block == Some(damage.block as u64) && place.record == Some(damage.row as u64);
        let is_known = place.block.is_some() && place.record.is_some();
        ensure!(
            is_it || damage.is_shuffled && is_known,
            "another record: {error}"
        );
        ensure!(place.field.is_some(), "no field: {error}");
        let text = error.to_string();
        ensure!(
            text.contains(&name(1)),
            "the text does not name the file: {text}"
        );
        Ok(())
    })
}

/// An error is the last item.
pub(super) fn damage_end(suite: &Suite<'_>) -> Result<(), String> {
    // Runs check that nothing comes after an error.
    damaged(suite, |outcome, _| {
        ensure!(outcome.error.is_some(), "no error");
        Ok(())
    })
}

/// A file that is cut anywhere gives the rows of the blocks before the cut, then an error that names
/// where. A cut between two blocks is no error if the format cannot tell.
pub(super) fn truncation(suite: &Suite<'_>) -> Result<(), String> {
    let file = vec![rows(0, 3), Vec::new(), rows(3, 5), rows(8, 4)];
    let (bytes, after) = (
        suite.format.write(&file),
        suite.format.write(&[rows(50, 3)]),
    );
    for cut in 0..bytes.len() {
        let whole = whole_before(suite, &file, cut);
        let (rows, errors) = read_by_hand(suite.format, &bytes[..cut], ReadByHand::default());
        ensure!(
            rows == whole.rows && errors.is_empty() == whole.is_file,
            "{} rows by hand, and not {}, {errors:?}, cut at {cut}",
            rows.len(),
            whole.rows.len()
        );
        let contents = [bytes[..cut].to_vec(), after.clone()];
        let files = suite.files_of(contents.clone());
        let mut runs = vec![(1, false, &files), (2, false, &files), (2, true, &files)];
        let streams = suite.streams_of(contents);
        if !suite.format.needs_size() {
            runs.push((1, false, &streams));
        }
        for (threads, is_listed, files) in runs {
            let mut options = Options::new(4);
            (options.threads, options.shuffle_blocks) = (threads, is_listed);
            let outcome = suite.run(files, &options, 0..1)?;
            let mut expected = whole.rows.clone();
            if whole.is_file {
                expected.extend(suite::rows(50, 3));
            }
            let found = outcome.rows();
            let is_right = match is_listed {
                true => same_rows(&found, &expected),
                false => found == expected,
            };
            ensure!(
                is_right,
                "{} rows, and not {}, cut at {cut}, listed: {is_listed}",
                found.len(),
                expected.len()
            );
            match (errors.first(), &outcome.error) {
                (None, None) => {}
                (Some(expected), Some(error)) => {
                    let (text, wrong) = (error.to_string(), expected.kind.to_string());
                    ensure!(
                        text.contains(&wrong),
                        "'{text}' and not '{wrong}', cut at {cut}"
                    );
                    ensure!(text.contains(&name(0)), "'{text}' does not name the file");
                    ensure!(
                        error.place.offset == expected.place.offset,
                        "another offset: {text}"
                    );
                }
                (None, Some(error)) => return Err(format!("cut at {cut} is an error: {error}")),
                (Some(error), None) => return Err(format!("cut at {cut} is none: {error}")),
            }
        }
    }
    Ok(())
}

/// What is whole of a file that is cut off.
struct Whole {
    rows: Vec<Row>,
    /// Whether it is a file by itself.
    is_file: bool,
}

/// What is whole of the blocks of `file`, of which the first `cut` bytes are left.
fn whole_before(suite: &Suite<'_>, file: &FileRows, cut: usize) -> Whole {
    if suite.format.needs_size() {
        // The list of blocks is at the end, which is missing.
        return Whole {
            rows: Vec::new(),
            is_file: false,
        };
    }
    let parts = suite.format.parts(file);
    let lens = (0..=parts.len()).map(|whole| suite.format.write(&parts[..whole]).len());
    let lens: Vec<_> = lens.collect();
    let whole = lens.iter().rposition(|&len| len <= cut).unwrap_or(0);
    Whole {
        rows: parts[..whole].concat(),
        is_file: lens.contains(&cut),
    }
}

/// A file of which any byte was changed gives what a reader by hand finds.
pub(super) fn changed_bytes(suite: &Suite<'_>) -> Result<(), String> {
    let bytes = suite
        .format
        .write(&[rows(0, 3), Vec::new(), rows(3, 5), rows(8, 4)]);
    // Each change in one way, in turns.
    let mut ways = [(1, 4), (2, 100)].into_iter().cycle();
    for at in 0..bytes.len() {
        for byte in [0, b' ', b'0', 0xff, bytes[at] ^ 0x41] {
            let mut changed = bytes.clone();
            changed[at] = byte;
            let (rows, errors) = read_by_hand(suite.format, &changed, ReadByHand::default());
            let files = suite.files_of([changed]);
            let (threads, batch_size) = ways.next().unwrap_or((1, 4));
            let mut options = Options::new(batch_size);
            options.threads = threads;
            let outcome = suite.run(&files, &options, 0..1)?;
            let (found, error) = (outcome.rows(), &outcome.error);
            let of = format!("byte {at} is {byte}, {threads} threads");
            ensure!(
                error.is_some() != errors.is_empty(),
                "{error:?} and not {errors:?}: {of}"
            );
            // By hand, a count that is too large is an error before the first row.
            let is_right = found.starts_with(&rows) && (error.is_some() || found == rows);
            ensure!(is_right, "{} rows, not {}: {of}", found.len(), rows.len());
        }
    }
    Ok(())
}
