//! The memory limit.

use std::sync::Arc;

use atds_pipeline::{Error, ErrorKind, Files, Options};

use super::suite::{Outcome, Suite, data, ensure};

/// The largest limit in bytes that must not suffice: a row has more than its part of them.
const TOO_SMALL: u64 = 256;

/// The smallest limit in bytes that must suffice: many times the files.
const AMPLE: u64 = 4 << 20;

/// Limits from too small to ample.
fn limits() -> impl Iterator<Item = u64> {
    let limits = std::iter::successors(Some(64), |limit| Some(limit + limit / 3));
    limits.take_while(|&limit| limit < 2 * AMPLE)
}

/// Batch sizes, and numbers of records that are shuffled.
const SIZES: [(usize, usize); 4] = [(100, 0), (2000, 0), (50, 500), (7, 60)];

/// A limit is held, or it is an error. Which of them, and after which batches, depends on the data
/// alone: not on the number of threads, nor on the sizes of ops.
pub(super) fn memory_limit(suite: &Suite<'_>) -> Result<(), String> {
    let files = suite.files(&data(2, 20, 50));
    for (batch_size, buffer) in SIZES {
        let mut options = Options::new(batch_size);
        (options.shuffle_buffer_size, options.read_size) = (buffer, 256);
        let whole = suite.run(&files, &options, 0..1)?;
        ensure!(whole.error.is_none(), "an error: {:?}", whole.error);
        for (number, limit) in limits().enumerate() {
            options.memory_limit = limit;
            let of = format!("{limit} bytes, batches of {batch_size} of {buffer}");
            let alone = run(suite, &files, &options)?;
            match &alone.error {
                None => ensure!(limit > TOO_SMALL, "no error: {of}"),
                Some(error) => {
                    needed(error).ok_or_else(|| format!("another error: {error}: {of}"))?;
                    ensure!(limit < AMPLE, "an error: {error}: {of}");
                }
            }
            let same = whole.batches.starts_with(&alone.batches);
            ensure!(same, "other batches: {of}");
            let threads = [2, 3, 16].map(|threads| (threads, None, None));
            let ops = [(3, Some(1), None), (3, Some(300), None)];
            let pieces = [(3, None, Some(20)), (2, None, Some(1))];
            let ways = threads.into_iter().chain(ops).chain(pieces);
            // Not all ways for each limit, but each way for every other one.
            for (threads, op_rows, piece_rows) in ways.skip(number % 2).step_by(2) {
                let mut options = options.clone();
                options.threads = threads;
                (options.op_rows, options.piece_rows) = (op_rows, piece_rows);
                let of = format!("{of}, {threads} threads, ops of {op_rows:?}, {piece_rows:?}");
                let outcome = run(suite, &files, &options)?;
                let errors = (&alone.error, &outcome.error);
                ensure!(
                    outcome.batches == alone.batches,
                    "{} batches, and {} with one thread; errors {errors:?}: {of}",
                    outcome.batches.len(),
                    alone.batches.len()
                );
                let is_same = alone.error.is_some() == outcome.error.is_some();
                ensure!(is_same, "errors {errors:?}: {of}");
            }
        }
    }
    bad_row(suite)
}

/// A bad row that takes most of the memory until its damage is met is the same error, or is left out, for any
/// number of threads, and whatever comes after it and was read ahead.
fn bad_row(suite: &Suite<'_>) -> Result<(), String> {
    let mut file = data(1, 30, 50).concat();
    for row in file.iter_mut().flatten() {
        row.numbers = row.numbers.repeat(30);
    }
    file[0][5].numbers = (0..30_000).collect();
    // The first blocks of both may share a payload.
    let files = [30, 3].map(|blocks| {
        let bytes = suite.format.write_damaged(&file[..blocks], 0, 5);
        suite.files_of([bytes])
    });
    let limits = std::iter::successors(Some(400_000), |limit| Some(limit + limit / 25));
    for limit in limits.take_while(|&limit| limit < 1_600_000) {
        for skip_damage in [false, true] {
            let mut options = Options::new(20);
            (options.skip_damage, options.memory_limit) = (skip_damage, limit);
            let mut expected = None;
            let ways = [
                (1, 1, None),
                (0, 1, Some(10_000)),
                (0, 3, Some(1)),
                (1, 16, Some(100)),
            ];
            for (number, threads, op_rows) in ways {
                (options.threads, options.op_rows) = (threads, op_rows);
                let mut outcome = run(suite, &files[number], &options)?;
                outcome.batches.truncate(1);
                let error = outcome.error.as_ref();
                let error = error.map(|error| (needed(error).is_some(), error.place.record));
                let found = (outcome.batches, error, outcome.skipped_records);
                let expected = expected.get_or_insert_with(|| found.clone());
                ensure!(
                    found == *expected,
                    "{} batches, then {:?}, {} rows left out; with one thread {}, {:?}, {}: {limit} bytes, {threads} \
                     threads, ops of {op_rows:?}",
                    found.0.len(),
                    found.1,
                    found.2,
                    expected.0.len(),
                    expected.1,
                    expected.2
                );
            }
        }
    }
    Ok(())
}

/// The limit that an error names suffices, and is not much more than what does. Far below it only a
/// part of the batch can be looked at; then it takes some steps.
pub(super) fn named_limit(suite: &Suite<'_>) -> Result<(), String> {
    let files = suite.files(&data(2, 20, 50));
    for (batch_size, buffer) in SIZES {
        let mut options = Options::new(batch_size);
        (options.shuffle_buffer_size, options.read_size) = (buffer, 256);
        let (mut least, mut small) = (AMPLE, 64);
        while small + 1 < least {
            options.memory_limit = small.midpoint(least);
            match run(suite, &files, &options)?.error {
                Some(_) => small = options.memory_limit,
                None => least = options.memory_limit,
            }
        }
        let ways = [(small, 1, 1), (small, 3, 1), (64, 1, 20), (64, 3, 20)];
        for (first, threads, most_steps) in ways {
            (options.memory_limit, options.threads) = (first, threads);
            for step in 0.. {
                let Some(error) = run(suite, &files, &options)?.error else {
                    break;
                };
                ensure!(
                    step < most_steps,
                    "after {step} limits that were named, from {first} on, {error}; of {batch_size} \
                     of {buffer}, {threads} threads; {least} suffice"
                );
                let limit = options.memory_limit;
                let named = needed(&error).ok_or_else(|| format!("another error: {error}"))?;
                ensure!(named > limit, "names {named} bytes for a limit of {limit}");
                options.memory_limit = named;
            }
            let (named, most) = (options.memory_limit, if first == small { 2 } else { 3 });
            ensure!(
                least <= named && named <= most * least,
                "names {named} from {first} on, where {least} suffice"
            );
        }
    }
    Ok(())
}

/// Runs to the end, and checks what was held.
fn run(suite: &Suite<'_>, files: &Arc<dyn Files>, options: &Options) -> Result<Outcome, String> {
    let outcome = suite.run(files, options, 0..1)?;
    let (peak, limit) = (outcome.memory_peak, options.memory_limit);
    ensure!(peak <= limit, "{peak} bytes were held of {limit}");
    Ok(outcome)
}

/// The limit that an error names.
fn needed(error: &Error) -> Option<u64> {
    match error.kind {
        ErrorKind::MemoryLimit { needed, .. } => Some(needed),
        _ => None,
    }
}
