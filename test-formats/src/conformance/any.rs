//! Any files with any options, against a plain model.

use std::sync::Arc;
use std::time::Duration;

use atds_pipeline::{Files, Interleave, Options};

use super::slices::slice;
use super::sources;
use super::suite::{FileRows, Suite, all, data, ensure, rows, same_rows};
use crate::{LateOptions, Row};

/// Number of combinations that are tried.
const CASES: u64 = 40;

/// Files and options of any kind: in order, batches are the rows cut up; shuffled, they are those of
/// one thread, and have each row once.
pub(super) fn any_options(suite: &Suite<'_>) -> Result<(), String> {
    for seed in 0..CASES {
        let mut random = Random(seed);
        let written = any_files(&mut random);
        let (mut options, epochs) = options(&mut random, &written);
        options.files = own_files(&mut random, &options, written.len());
        let files = any_source(suite, &written, &options, &mut random);
        let outcome = suite.run(&files, &options, 0..epochs)?;
        let of = format!("case {seed}: {options:?}");
        ensure!(outcome.error.is_none(), "{:?}: {of}", outcome.error);

        let is_own = |file: &usize| options.files.as_ref().is_none_or(|own| own.contains(file));
        let own = (0..written.len()).filter(is_own);
        let whole = in_turns(
            &own.map(|file| written[file].concat()).collect::<Vec<_>>(),
            &options,
        );
        let part = match &options.slice {
            Some(slice) => slice.records.start as usize..slice.records.end as usize,
            None => 0..whole.len(),
        };
        let mut cut_up: Vec<_> = whole[part.clone()].chunks(options.batch_size).collect();
        if options.drop_remainder {
            cut_up.retain(|batch| batch.len() == options.batch_size);
        }
        let mixes_files = options.shuffle_files || options.shuffle_blocks || options.shuffle_runs;
        if options.shuffle_buffer_size == 0 && !mixes_files {
            let expected = cut_up.repeat(epochs as usize);
            ensure!(outcome.batches == expected, "other batches, {of}");
            continue;
        }
        let lens: Vec<_> = cut_up.iter().map(|batch| batch.len()).collect();
        let lens = lens.repeat(epochs as usize);
        ensure!(
            outcome.lens() == lens,
            "batches of {:?} rows, {of}",
            outcome.lens()
        );
        let plain = suite.run(&suite.files(&written), &plain(&options), 0..epochs)?;
        ensure!(
            outcome.batches == plain.batches,
            "not the batches of one thread, {of}"
        );
        // Of shuffled files, a slice has other rows in each epoch.
        if !options.drop_remainder && (options.slice.is_none() || !mixes_files) {
            let each = outcome.batches.chunks(cut_up.len().max(1));
            let is_whole = |epoch: &[Vec<Row>]| same_rows(&epoch.concat(), &whole[part.clone()]);
            ensure!(each.into_iter().all(is_whole), "rows are lost, {of}");
        }
    }
    Ok(())
}

/// Files that take turns give their rows in turns, for any number of threads.
pub(super) fn turns(suite: &Suite<'_>) -> Result<(), String> {
    let mut written = data(4, 3, 7);
    written.insert(1, Vec::new());
    written[2].truncate(1);
    let by_file: Vec<_> = written.iter().map(|file| file.concat()).collect();
    let files = suite.files(&written);
    for (cycle_length, block_length) in [(1, 5), (2, 1), (3, 4), (9, 1000)] {
        let mut options = Options::new(5);
        options.interleave = Some(Interleave {
            cycle_length,
            block_length,
        });
        for threads in [1, 4] {
            options.threads = threads;
            let found = suite.run(&files, &options, 0..1)?.whole()?;
            ensure!(
                found == in_turns(&by_file, &options),
                "{cycle_length} files in turns of {block_length} rows: another order"
            );
        }
    }
    Ok(())
}

/// The rows of files, in file order or as the files take turns.
pub(super) fn in_turns(files: &[Vec<Row>], options: &Options) -> Vec<Row> {
    let Some(interleave) = options.interleave else {
        return files.concat();
    };
    let mut waiting = files.iter().map(|rows| rows.iter());
    let mut seats: Vec<_> = (0..interleave.cycle_length).map(|_| None).collect();
    let (mut rows, mut left) = (Vec::new(), files.concat().len());
    while left > 0 {
        for seat in &mut seats {
            if seat.is_none() {
                *seat = waiting.next();
            }
            let Some(file) = seat else { continue };
            let given = rows.len();
            rows.extend(
                file.by_ref()
                    .take(interleave.block_length as usize)
                    .cloned(),
            );
            left -= rows.len() - given;
            if rows.len() - given < interleave.block_length as usize {
                *seat = None;
            }
        }
    }
    rows
}

pub(super) fn any_files(random: &mut Random) -> Vec<FileRows> {
    let mut first = 0;
    let mut block = |random: &mut Random| {
        let len = random.below(30);
        first += len;
        rows(first - len, len)
    };
    let files = 1 + random.below(4);
    let files = (0..files).map(|_| {
        let blocks = random.below(12);
        (0..blocks).map(|_| block(random)).collect()
    });
    files.collect()
}

/// Any options, and a number of epochs.
pub(super) fn options(random: &mut Random, written: &[FileRows]) -> (Options, u64) {
    let mut options = Options::new(1 + random.below(100));
    options.threads = 1 + random.below(5);
    options.seed = random.below(1000) as u64;
    options.shuffle_buffer_size = random.one_of([0, 1, 10, 50, 200]);
    options.shuffle_files = random.below(3) == 0;
    options.shuffle_blocks = random.below(3) == 0;
    options.shuffle_runs = random.below(3) == 0;
    options.run_bytes = random.one_of([1, 200, 1 << 20]);
    options.interleave = (random.below(3) == 0).then(|| Interleave {
        cycle_length: 1 + random.below(5),
        block_length: random.one_of([1, 3, 25, 1000]),
    });
    options.drop_remainder = random.below(3) == 0;
    options.prefetch = random.below(5);
    options.read_size = 1 + random.below(5_000);
    options.op_rows = random.one_of([None, Some(1), Some(20)]);
    options.piece_rows = random.one_of([None, None, Some(1), Some(7)]);
    if random.below(3) == 0 {
        let rows = all(written).len();
        let ends = [random.below(rows + 1), random.below(rows + 1)].map(|end| end as u64);
        let records = ends[0].min(ends[1])..ends[0].max(ends[1]);
        options.slice = Some(slice(written, records));
    }
    (options, random.below(3) as u64)
}

/// Now and then some of the files, as a reader has them that shares whole files with others.
fn own_files(random: &mut Random, options: &Options, files: usize) -> Option<Arc<[usize]>> {
    let is_shared = options.slice.is_none() && random.below(3) == 0;
    let readers = 1 + random.below(3);
    is_shared.then(|| (random.below(readers)..files).step_by(readers).collect())
}

/// The files, in any source in which they can be read with the options.
pub(super) fn any_source(
    suite: &Suite<'_>,
    written: &[FileRows],
    options: &Options,
    random: &mut Random,
) -> Arc<dyn Files> {
    let bytes: Vec<_> = written
        .iter()
        .map(|file| suite.format.write(file))
        .collect();
    any_source_of(suite, &bytes, options, random)
}

/// Files of these bytes, in any source in which they can be read with the options.
pub(super) fn any_source_of(
    suite: &Suite<'_>,
    bytes: &[Vec<u8>],
    options: &Options,
    random: &mut Random,
) -> Arc<dyn Files> {
    let needs_size = options.shuffle_blocks || options.shuffle_runs || suite.format.needs_size();
    let bytes = bytes.iter().cloned();
    match random.below(3) {
        0 => {
            let late = LateOptions {
                seed: options.seed,
                piece: 1 + random.below(2000),
                delay: Duration::from_micros(100),
                ..LateOptions::default()
            };
            sources::files_of(suite, bytes, &late)
        }
        1 if !needs_size && options.slice.is_none() => suite.streams_of(bytes),
        _ => suite.files_of(bytes),
    }
}

/// Options that give the same batches, as plainly as can be.
fn plain(options: &Options) -> Options {
    let mut plain = options.clone();
    (plain.threads, plain.prefetch, plain.read_size) = (1, 1, 128 << 10);
    (plain.op_rows, plain.piece_rows) = (None, None);
    plain
}

/// Numbers that look random, the same ones for a seed.
pub(super) struct Random(pub(super) u64);

impl Random {
    /// A number below `n`, which is not 0.
    pub(super) fn below(&mut self, n: usize) -> usize {
        // Knuth's constants for a linear congruential generator.
        let next = self.0.wrapping_mul(6_364_136_223_846_793_005);
        self.0 = next.wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n
    }

    pub(super) fn one_of<T: Copy, const N: usize>(&mut self, of: [T; N]) -> T {
        of[self.below(N)]
    }
}
