//! Any order in which threads hand things over, against one thread.

use std::cell::Cell;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use atds_pipeline::{Error, ErrorKind, Files, Interleave, Options};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use super::slices::slice;
use super::splits::split_of;
use super::suite::{FileRows, Outcome, Suite, all, ensure, name, rows};
use crate::{InMemory, Late, LateOptions};

/// Number of cases, unless `PROPTEST_CASES` says another.
const CASES: u32 = 12;

/// A limit in bytes that suffices, but not for what a changed byte can claim.
const AMPLE: u64 = 64 << 20;

/// The smallest limit in bytes that is tried: with less, a read takes more than its part.
const SMALLEST: u64 = 64 << 10;

/// Number of blocks of all files at most.
const MOST_BLOCKS: usize = 60;

/// Number of reads of a file at most.
const MOST_PIECES: usize = 100;

/// Order, values and errors are those of one thread without delays: for any number of threads, any sizes
/// of ops, any source, and random delays at every hand-over.
pub(super) fn delays(suite: &Suite<'_>) -> Result<(), String> {
    try_cases(suite, Just(None), |case| case.holds(suite).map(|_| ()))
}

/// The same for large rows with about as little memory as is enough for one thread: ops give back what they made and run
/// again alone, prepares are left out, and a batch that does not fit is the same error.
pub(super) fn little_memory(suite: &Suite<'_>) -> Result<(), String> {
    let (repeated, exceeded) = (Cell::new(0), Cell::new(0));
    let part = (880..1060_u64).prop_map(Some);
    try_cases(suite, part, |case| {
        let seen = case.holds(suite)?;
        repeated.set(repeated.get() + seen.repeated_ops);
        exceeded.set(exceeded.get() + u64::from(seen.is_exceeded));
        Ok(())
    })?;
    println!(
        "{} ops have run again, {} limits were exceeded",
        repeated.get(),
        exceeded.get()
    );
    ensure!(repeated.get() > 0, "no op has run again");
    ensure!(exceeded.get() > 0, "no limit was exceeded");
    Ok(())
}

/// Tries cases with as much memory as `memory` says.
fn try_cases(
    suite: &Suite<'_>,
    memory: impl Strategy<Value = Option<u64>>,
    holds: impl Fn(Case) -> Result<(), String>,
) -> Result<(), String> {
    let is_set = std::env::var_os("PROPTEST_CASES").is_some();
    let config = Config {
        cases: if is_set {
            Config::default().cases
        } else {
            CASES
        },
        failure_persistence: None,
        // A delay that is met by chance is not met again by each smaller case. Nobody reads the case of a fault.
        max_shrink_iters: if suite.has_fault() { 0 } else { 20 },
        ..Config::default()
    };
    let random = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(config, random);
    let holds = |case: Case| holds(case).map_err(TestCaseError::fail);
    runner
        .run(&cases(memory), holds)
        .map_err(|wrong| wrong.to_string())
}

/// Files, options, and how they are read.
#[derive(Clone, Debug)]
struct Case {
    /// The number of rows of each block of each file.
    files: Vec<Vec<usize>>,
    /// A row, at a place in 1/1000 of all, that is far longer than the others.
    long_row: Option<usize>,
    /// Damaged files, at a place in 1/1000 of all files.
    damaged: Vec<(usize, Damage)>,
    source: Source,
    options: Options,
    /// The memory limit in 1/1000 of the least that is enough for one thread; `None` for an ample one.
    memory: Option<u64>,
    /// The records that are read, as parts of all in 1/1000.
    slice: Option<Range<u64>>,
    /// The split that is read unless a slice is, as hashes in 1/1000 of all, and whether it is one of blocks.
    split: Option<(Range<u64>, bool)>,
    epochs: u64,
    /// For each number of threads, the sizes of ops and of pieces.
    ops: [(Option<u64>, Option<u64>); THREADS.len()],
}

const THREADS: [usize; 4] = [1, 2, 3, 16];

/// What is wrong with a file, at a place in 1/1000 of it.
#[derive(Clone, Copy, Debug)]
enum Damage {
    /// A row cannot be decoded.
    Row(usize),
    /// The long row cannot be decoded.
    LongRow,
    /// The file is truncated.
    Truncated(usize),
    /// A byte has another value: mostly, its block is damaged.
    Byte(usize),
    /// A read that comes so far fails.
    Read(usize),
}

/// Where the bytes come from.
#[derive(Clone, Copy, Debug)]
enum Source {
    /// What the format's files are.
    File,
    /// Memory, read by the workers.
    Blocking,
    /// An input of unknown size, if the options allow one.
    Stream,
    /// Late answers in another order, of so many bytes at most.
    Late { piece: usize, uses_buffer: bool },
}

/// What was seen of a case.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    /// Number of ops that ran again, since memory was missing.
    repeated_ops: u64,
    /// Whether a batch or its window did not fit the limit.
    is_exceeded: bool,
}

fn cases(memory: impl Strategy<Value = Option<u64>>) -> impl Strategy<Value = Case> {
    let place = || 0..1000_usize;
    let files = vec(vec(0..20_usize, 0..10), 1..4);
    let long_row = proptest::option::weighted(0.5, place());
    let damage = prop_oneof![
        2 => place().prop_map(Damage::Row),
        3 => Just(Damage::LongRow),
        2 => place().prop_map(Damage::Byte),
        1 => place().prop_map(Damage::Truncated),
        1 => place().prop_map(Damage::Read),
    ];
    let damaged = prop_oneof![
        1 => Just(Vec::new()),
        2 => vec((place(), damage), 1..3),
    ];
    let source = prop_oneof![
        Just(Source::File),
        Just(Source::Blocking),
        Just(Source::Stream),
        (1..2000_usize, any::<bool>())
            .prop_map(|(piece, uses_buffer)| Source::Late { piece, uses_buffer }),
    ];
    let ops = (
        proptest::option::weighted(0.7, 1..100_u64),
        proptest::option::weighted(0.5, 1..40_u64),
    );
    let ops = [ops.clone(), ops.clone(), ops.clone(), ops];
    let part = (0..=1000_u64, 0..=1000_u64).prop_map(|(a, b)| a.min(b)..a.max(b));
    let slice = proptest::option::weighted(0.2, part.clone());
    let split = proptest::option::weighted(0.3, (part, any::<bool>()));
    let read = (slice, split, 1..4_u64, memory);
    ((files, long_row, damaged), source, options(), read, ops).prop_map(
        |((files, long_row, damaged), source, options, (slice, split, epochs, memory), ops)| Case {
            files,
            long_row,
            options,
            damaged,
            source,
            memory,
            slice,
            split,
            epochs,
            ops,
        },
    )
}

fn options() -> impl Strategy<Value = Options> {
    let sizes = (
        prop_oneof![3 => 1..60_usize, 1 => 60..300_usize],
        select(&[0, 0, 1, 10, 60][..]),
        0..5_usize,
        1..3000_usize,
    );
    let flags = any::<[bool; 5]>();
    let interleave = select(
        &[
            None,
            None,
            Some((1, 7)),
            Some((2, 1)),
            Some((3, 4)),
            Some((9, 50)),
        ][..],
    );
    // Of runs of one block, of some, and of whole files.
    let runs = select(&[None, None, None, Some(1), Some(300), Some(1 << 20)][..]);
    let all = (sizes, flags, (runs, interleave), any::<u64>(), any::<u64>());
    all.prop_map(|(sizes, flags, (runs, interleave), seed, delays)| {
        let mut options = Options::new(sizes.0);
        (
            options.shuffle_buffer_size,
            options.prefetch,
            options.read_size,
        ) = (sizes.1, sizes.2, sizes.3);
        let has_mask;
        [
            options.shuffle_files,
            options.shuffle_blocks,
            options.drop_remainder,
            options.skip_damage,
            has_mask,
        ] = flags;
        options.mask = has_mask.then(|| "mask".into());
        options.shuffle_runs = runs.is_some();
        options.run_bytes = runs.unwrap_or(1);
        options.interleave = interleave.map(|(cycle_length, block_length)| Interleave {
            cycle_length,
            block_length,
        });
        (options.seed, options.delays) = (seed, Some(delays));
        options.memory_limit = AMPLE;
        options
    })
}

impl Case {
    fn holds(&self, suite: &Suite<'_>) -> Result<Seen, String> {
        let written = self.written(suite);
        let mut options = self.options.clone();
        let records = all(&written).len() as u64;
        options.slice = self.slice.as_ref().map(|part| {
            let at = |place: u64| records * place / 1000;
            slice(&written, at(part.start)..at(part.end))
        });
        let split = self.split.as_ref().filter(|_| options.slice.is_none());
        options.split = split.map(|(part, by_block)| {
            let at = |place: u64| (u128::from(place) << 64) / 1000;
            let hashes = at(part.start)..at(part.end);
            Arc::new(split_of(hashes, *by_block, written.len()))
        });
        let bytes = self.bytes(suite, &written);
        let longest = bytes.iter().map(Vec::len).max().unwrap_or(0);
        options.read_size = options.read_size.max(longest / MOST_PIECES);
        let run = |options: &Options, source| {
            let files = self.open(suite, &bytes, source, options);
            let outcome = suite.run(&files, options, 0..self.epochs)?;
            let (peak, limit) = (outcome.memory_peak, options.memory_limit);
            ensure!(peak <= limit, "{peak} bytes were held of {limit}");
            Ok(outcome)
        };
        let mut plain = options.clone();
        (plain.threads, plain.delays) = (1, None);
        let mut expected = run(&plain, self.source)?;
        if self.damaged.is_empty() {
            ensure!(expected.error.is_none(), "{:?}", expected.error);
        }
        match self.memory {
            // What a read takes depends on the source.
            Some(part) => {
                let is_enough = |limit| {
                    plain.memory_limit = limit;
                    let outcome = run(&plain, self.source)?;
                    Ok(same(&outcome, &expected).is_ok())
                };
                options.memory_limit = (least(is_enough)? * part / 1000).max(SMALLEST);
                plain.memory_limit = options.memory_limit;
                expected = run(&plain, self.source)?;
            }
            None if self.damaged.is_empty() => {
                let of_file = run(&plain, Source::File)?;
                same(&of_file, &expected).map_err(|wrong| format!("of a file: {wrong}"))?;
            }
            None => {}
        }
        let error = expected.error.as_ref().map(|error| &error.kind);
        let mut seen = Seen {
            repeated_ops: 0,
            is_exceeded: matches!(error, Some(ErrorKind::MemoryLimit { .. })),
        };
        for (threads, (op_rows, piece_rows)) in THREADS.into_iter().zip(self.ops) {
            options.threads = threads;
            (options.op_rows, options.piece_rows) = (op_rows, piece_rows);
            let found = run(&options, self.source)?;
            let of = format!("{threads} threads, {} bytes", options.memory_limit);
            same(&found, &expected).map_err(|wrong| format!("{of}: {wrong}"))?;
            seen.repeated_ops += found.repeated_ops;
        }
        Ok(seen)
    }

    /// The rows of the files. Of a format with many small blocks they are fewer: each block has its delays.
    fn written(&self, suite: &Suite<'_>) -> Vec<FileRows> {
        let mut part = 0;
        loop {
            let files = self.written_part(part);
            let blocks = files.iter().map(|file| suite.format.framed(file).len());
            if blocks.sum::<usize>() <= MOST_BLOCKS {
                return files;
            }
            part += 1;
        }
    }

    /// The rows, with each block halved `part` times.
    fn written_part(&self, part: u32) -> Vec<FileRows> {
        let mut first = 0;
        let mut block = |len: &usize| {
            let len = len >> part;
            first += len;
            rows(first - len, len)
        };
        let mut file = |blocks: &Vec<usize>| blocks.iter().map(&mut block).collect();
        let mut files: Vec<FileRows> = self.files.iter().map(&mut file).collect();
        let mut all: Vec<_> = files.iter_mut().flatten().flatten().collect();
        let times = self.memory.map_or(1, |_| 100);
        for row in &mut all {
            row.numbers = row.numbers.repeat(times);
        }
        if let Some(place) = self.long_row {
            let at = all.len() * place / 1000;
            if let Some(row) = all.get_mut(at) {
                row.numbers = (0..300).collect::<Vec<_>>().repeat(times);
            }
        }
        files
    }

    /// The damage of each file.
    fn damages(&self) -> Vec<Option<Damage>> {
        let mut damages = vec![None; self.files.len()];
        for &(place, damage) in &self.damaged {
            match damage {
                // One of them has it.
                Damage::LongRow => damages.fill(Some(damage)),
                _ => damages[self.files.len() * place / 1000] = Some(damage),
            }
        }
        damages
    }

    fn bytes(&self, suite: &Suite<'_>, written: &[FileRows]) -> Vec<Vec<u8>> {
        let files = written.iter().zip(self.damages());
        let bytes = files.map(|(rows, damage)| damaged(suite, rows, damage));
        bytes.collect()
    }

    fn open(
        &self,
        suite: &Suite<'_>,
        bytes: &[Vec<u8>],
        source: Source,
        options: &Options,
    ) -> Arc<dyn Files> {
        let failing = self.damages().into_iter().enumerate();
        let failing: Vec<_> = failing
            .filter_map(|(file, damage)| match damage {
                Some(Damage::Read(place)) => Some((name(file), place)),
                _ => None,
            })
            .collect();
        let is_streamed =
            !suite.format.needs_size() && !options.shuffle_blocks && options.slice.is_none();
        let is_streamed = is_streamed && !options.shuffle_runs;
        let source = match source {
            // Reads of this source alone can fail.
            Source::Late { .. } => source,
            _ if !failing.is_empty() => Source::Late {
                piece: usize::MAX,
                uses_buffer: true,
            },
            Source::Stream if !is_streamed => Source::File,
            _ => source,
        };
        let bytes = bytes.iter().cloned();
        match source {
            Source::File => suite.files_of(bytes),
            Source::Blocking => suite.opened_by(bytes, |name, bytes| {
                InMemory::new(name, bytes).as_blocking().into()
            }),
            Source::Stream => suite.streams_of(bytes),
            Source::Late { piece, uses_buffer } => suite.opened_by(bytes, |name, bytes| {
                let failing = failing.iter().find(|(file, _)| file == name);
                let failing = failing.map_or(0..0, |(_, place)| {
                    let at = (bytes.len() * place / 1000) as u64;
                    at..at + 1
                });
                let late = LateOptions {
                    seed: self.options.seed,
                    delay: Duration::from_micros(200),
                    // Large rows in small pieces take minutes, each after its delay.
                    piece: piece.max(bytes.len() / MOST_PIECES),
                    failing,
                    uses_buffer,
                };
                Late::new(name, bytes, late).into()
            }),
        }
    }
}

/// A file, with its damage.
fn damaged(suite: &Suite<'_>, rows: &FileRows, damage: Option<Damage>) -> Vec<u8> {
    let mut bytes = suite.format.write(rows);
    match damage {
        None | Some(Damage::Read(_)) => {}
        Some(Damage::Row(_) | Damage::LongRow) => {
            let all = rows.iter().enumerate();
            let all = all.flat_map(|(block, rows)| (0..rows.len()).map(move |row| (block, row)));
            let all: Vec<_> = all.collect();
            let is_long =
                |&(block, row): &(usize, usize)| rows[block][row].numbers.starts_with(&[0, 1]);
            let bad = match damage {
                Some(Damage::Row(place)) => all.get(all.len() * place / 1000),
                _ => all.iter().find(|&at| is_long(at)),
            };
            if let Some(&(block, row)) = bad {
                bytes = suite.format.write_damaged(rows, block, row);
            }
        }
        Some(Damage::Truncated(place)) => bytes.truncate(bytes.len() * place / 1000),
        Some(Damage::Byte(place)) => {
            let at = bytes.len() * place / 1000;
            // A file may have no bytes.
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= 0x55;
            }
        }
    }
    bytes
}

/// About the least limit that is enough.
fn least(mut is_enough: impl FnMut(u64) -> Result<bool, String>) -> Result<u64, String> {
    let (mut small, mut least) = (SMALLEST, AMPLE);
    let mut next = 16 * SMALLEST;
    while least - small > least / 128 + 1 {
        match is_enough(next)? {
            true => least = next,
            false => small = next,
        }
        next = match least == AMPLE && 16 * small < AMPLE {
            true => 16 * small,
            false => small.midpoint(least),
        };
    }
    Ok(least)
}

/// Whether two runs gave out the same.
fn same(found: &Outcome, expected: &Outcome) -> Result<(), String> {
    let errors = [found, expected].map(|outcome| outcome.error.as_ref().map(plain_error));
    ensure!(
        found.batches == expected.batches,
        "batches of {:?} rows in place of {:?}, or other rows; errors {errors:?}",
        found.lens(),
        expected.lens()
    );
    let left_out = [found, expected].map(|outcome| {
        let skipped = outcome.skipped.iter();
        let skipped: Vec<_> = skipped.map(|skipped| plain_error(&skipped.error)).collect();
        (skipped, outcome.skipped_records, outcome.skipped_bytes)
    });
    ensure!(
        left_out[0] == left_out[1],
        "{:?} left out in place of {:?}",
        left_out[0],
        left_out[1]
    );
    let [found, expected] = errors;
    ensure!(found == expected, "{found:?} in place of {expected:?}");
    Ok(())
}

/// The error, without the limit that a memory error names, which is estimated, and without the folders of
/// files, of which each run may have others.
fn plain_error(error: &Error) -> String {
    let mut error = error.clone();
    if let ErrorKind::MemoryLimit { needed, .. } = &mut error.kind {
        *needed = 0;
    }
    let location = error.place.location.take();
    let location = location.map(|location| location.to_string());
    let text = format!("{:?} in {location:?} at {:?}", error.kind, error.place);
    let words = text.split(' ');
    let words = words.map(|word| word.rsplit('/').next().unwrap_or(word));
    words.collect::<Vec<_>>().join(" ")
}
