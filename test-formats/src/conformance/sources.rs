//! Sources that answer late, in another order, in odd pieces, and with errors.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use atds_pipeline::{ErrorKind, Files, Options};

use super::suite::{FileRows, Suite, all, data, ensure};
use crate::{InMemory, Late, LateOptions};

/// Answers may come late, in any order, and be shorter than what was asked for. They may also come from
/// the workers, before the read returns.
pub(super) fn late_source(suite: &Suite<'_>) -> Result<(), String> {
    // Few rows, since small pieces come one after another, each after its delay.
    let written = data(2, 4, 9);
    for options in ways() {
        let expected = suite.run(&suite.files(&written), &options, 0..2)?;
        ensure!(expected.error.is_none(), "an error: {:?}", expected.error);
        for (seed, piece) in [(1, usize::MAX), (2, 100), (3, 7)] {
            for uses_buffer in [true, false] {
                let late = LateOptions {
                    seed,
                    piece,
                    uses_buffer,
                    delay: Duration::from_micros(100),
                    failing: 0..0,
                };
                let outcome = suite.run(&files(suite, &written, &late), &options, 0..2)?;
                ensure!(outcome.error.is_none(), "an error: {:?}", outcome.error);
                ensure!(
                    outcome.batches == expected.batches,
                    "other batches from pieces of up to {piece} bytes: {options:?}"
                );
            }
        }
        // A file whose reads wait is read by the workers.
        for piece in [usize::MAX, 100, 7] {
            let blocking = waiting(suite, &written, piece, 0..0);
            let outcome = suite.run(&blocking, &options, 0..2)?;
            ensure!(outcome.error.is_none(), "an error: {:?}", outcome.error);
            ensure!(
                outcome.batches == expected.batches,
                "other batches from reads of up to {piece} bytes that wait: {options:?}"
            );
        }
        // An input without a size cannot be listed: its blocks come in order.
        if !suite.format.needs_size() && !options.shuffle_blocks && !options.shuffle_runs {
            let bytes = written.iter().map(|file| suite.format.write(file));
            let outcome = suite.run(&suite.streams_of(bytes), &options, 0..2)?;
            ensure!(outcome.error.is_none(), "an error: {:?}", outcome.error);
            ensure!(
                outcome.batches == expected.batches,
                "other batches from a stream"
            );
        }
    }
    Ok(())
}

/// A payload of several ranges is prepared from its ranges in their order.
pub(super) fn ranges(suite: &Suite<'_>) -> Result<(), String> {
    let written = data(1, 6, 15);
    let late = LateOptions {
        delay: Duration::from_millis(2),
        ..LateOptions::default()
    };
    for files in [suite.files(&written), files(suite, &written, &late)] {
        let rows = suite.run(&files, &Options::new(8), 0..1)?.whole()?;
        ensure!(rows == all(&written), "other rows");
    }
    Ok(())
}

/// A read that fails ends the iteration with its error; the rows before are right.
pub(super) fn source_errors(suite: &Suite<'_>) -> Result<(), String> {
    let written = data(2, 3, 6);
    let len = suite.format.write(&written[0]).len() as u64;
    for options in ways() {
        let whole = suite.run(&suite.files(&written), &options, 0..1)?.whole()?;
        // Answers are shorter than what fails, so that a read begins there.
        for start in (0..len).step_by(24) {
            let late = LateOptions {
                piece: 16,
                delay: Duration::from_micros(50),
                failing: start..start + 24,
                ..LateOptions::default()
            };
            let files = match start % 48 {
                0 => files(suite, &written, &late),
                _ => waiting(suite, &written, late.piece, late.failing),
            };
            let outcome = suite.run(&files, &options, 0..1)?;
            let error = outcome.error.as_ref().ok_or_else(|| {
                format!("a read at {start} fails, of {len} bytes, but there is no error")
            })?;
            let text = error.to_string();
            ensure!(
                matches!(error.kind, ErrorKind::Io(_)),
                "another error: {text}"
            );
            ensure!(
                text.contains("the store does not answer"),
                "another text: {text}"
            );
            ensure!(
                text.contains("part-"),
                "the text does not name the file: {text}"
            );
            let found = outcome.rows();
            let is_shuffled = options.shuffle_blocks || options.shuffle_runs;
            let is_prefix = is_shuffled || whole.starts_with(&found);
            ensure!(is_prefix, "other rows before the error");
        }
    }
    Ok(())
}

/// Reading from start to end, by lists of blocks, and by runs of blocks.
fn ways() -> [Options; 5] {
    [(1, 0), (3, 0), (3, 1), (1, 2), (3, 2)].map(|(threads, shuffle)| {
        let mut options = Options::new(8);
        (options.threads, options.run_bytes) = (threads, 150);
        (options.shuffle_blocks, options.shuffle_runs) = (shuffle == 1, shuffle == 2);
        options.read_size = 64;
        options
    })
}

/// Files whose reads wait: answers have `piece` bytes at most, and no read can begin in `failing`.
fn waiting(
    suite: &Suite<'_>,
    written: &[FileRows],
    piece: usize,
    failing: Range<u64>,
) -> Arc<dyn Files> {
    let bytes = written.iter().map(|file| suite.format.write(file));
    suite.opened_by(bytes, |name, bytes| {
        let source = InMemory::new(name, bytes).as_blocking();
        source.in_pieces(piece, failing.clone()).into()
    })
}

pub(super) fn files(
    suite: &Suite<'_>,
    written: &[FileRows],
    options: &LateOptions,
) -> Arc<dyn Files> {
    let bytes = written.iter().map(|file| suite.format.write(file));
    files_of(suite, bytes, options)
}

pub(super) fn files_of(
    suite: &Suite<'_>,
    bytes: impl IntoIterator<Item = Vec<u8>>,
    options: &LateOptions,
) -> Arc<dyn Files> {
    suite.opened_by(bytes, |name, bytes| {
        Late::new(name, bytes, options.clone()).into()
    })
}
