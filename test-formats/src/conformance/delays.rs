//! Any order in which threads hand things over, against one thread.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use atds_pipeline::{Error, ErrorKind, Files, Options};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use super::slices::slice;
use super::suite::{FileRows, Outcome, Suite, all, ensure, rows};
use crate::{InMemory, Late, LateOptions};

/// Number of cases, unless `PROPTEST_CASES` says another.
const CASES: u32 = 12;

/// Order, values and errors are those of one thread without delays: for any number of threads, any sizes
/// of ops, any source, and random delays at every hand-over.
pub(super) fn delays(suite: &Suite<'_>) -> Result<(), String> {
    let is_set = std::env::var_os("PROPTEST_CASES").is_some();
    let config = Config {
        cases: if is_set {
            Config::default().cases
        } else {
            CASES
        },
        failure_persistence: None,
        // A delay that is met by chance is not met again by each smaller case.
        max_shrink_iters: 20,
        ..Config::default()
    };
    let random = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(config, random);
    let holds = |case: Case| case.holds(suite).map_err(TestCaseError::fail);
    runner
        .run(&cases(), holds)
        .map_err(|wrong| wrong.to_string())
}

/// Files, options, and how they are read.
#[derive(Clone, Debug)]
struct Case {
    /// The number of rows of each block of each file.
    files: Vec<Vec<usize>>,
    damage: Damage,
    source: Source,
    options: Options,
    /// The records that are read, as parts of all in 1/1000.
    slice: Option<Range<u64>>,
    epochs: u64,
    /// For each number of threads, the sizes of ops and of pieces.
    ops: [(Option<u64>, Option<u64>); THREADS.len()],
}

const THREADS: [usize; 4] = [1, 2, 3, 16];

/// What is wrong with the last file, at a place in 1/1000 of it.
#[derive(Clone, Copy, Debug)]
enum Damage {
    None,
    /// A row cannot be decoded.
    Row(usize),
    /// The file is truncated.
    Truncated(usize),
    /// A byte has another value.
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

fn cases() -> impl Strategy<Value = Case> {
    let files = vec(vec(0..20_usize, 0..8), 1..4);
    let place = 0..1000_usize;
    let damage = prop_oneof![
        4 => Just(Damage::None),
        2 => place.clone().prop_map(Damage::Row),
        1 => place.clone().prop_map(Damage::Truncated),
        1 => place.clone().prop_map(Damage::Byte),
        1 => place.prop_map(Damage::Read),
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
    let slice = proptest::option::weighted(0.2, part);
    (files, damage, source, options(), slice, 1..3_u64, ops).prop_map(
        |(files, damage, source, options, slice, epochs, ops)| Case {
            files,
            damage,
            source,
            options,
            slice,
            epochs,
            ops,
        },
    )
}

fn options() -> impl Strategy<Value = Options> {
    let sizes = (
        1..60_usize,
        select(&[0, 0, 1, 10, 60][..]),
        0..5_usize,
        1..3000_usize,
    );
    let flags = any::<[bool; 3]>();
    (sizes, flags, any::<u64>(), any::<u64>()).prop_map(|(sizes, flags, seed, delays)| {
        let mut options = Options::new(sizes.0);
        (
            options.shuffle_buffer_size,
            options.prefetch,
            options.read_size,
        ) = (sizes.1, sizes.2, sizes.3);
        [
            options.shuffle_files,
            options.shuffle_blocks,
            options.drop_remainder,
        ] = flags;
        (options.seed, options.delays) = (seed, Some(delays));
        // A changed byte can claim any number of rows.
        options.memory_limit = 64 << 20;
        options
    })
}

impl Case {
    fn holds(&self, suite: &Suite<'_>) -> Result<(), String> {
        let written = self.written();
        let mut options = self.options.clone();
        let records = all(&written).len() as u64;
        options.slice = self.slice.as_ref().map(|part| {
            let at = |place: u64| records * place / 1000;
            slice(&written, at(part.start)..at(part.end))
        });
        let bytes = self.bytes(suite, &written);
        let mut plain = options.clone();
        (plain.threads, plain.delays) = (1, None);
        let run = |options: &Options, source| {
            let files = self.open(suite, &bytes, source, options);
            suite.run(&files, options, 0..self.epochs)
        };
        let expected = run(&plain, self.source)?;
        if matches!(self.damage, Damage::None) {
            let of_file = run(&plain, Source::File)?;
            ensure!(expected.error.is_none(), "{:?}", expected.error);
            ensure!(of_file.batches == expected.batches, "not those of a file");
        }
        for (threads, (op_rows, piece_rows)) in THREADS.into_iter().zip(self.ops) {
            options.threads = threads;
            (options.op_rows, options.piece_rows) = (op_rows, piece_rows);
            let found = run(&options, self.source)?;
            same(&found, &expected).map_err(|wrong| format!("{threads} threads: {wrong}"))?;
        }
        Ok(())
    }

    fn written(&self) -> Vec<FileRows> {
        let mut first = 0;
        let mut block = |&len: &usize| {
            first += len;
            rows(first - len, len)
        };
        let mut file = |blocks: &Vec<usize>| blocks.iter().map(&mut block).collect();
        self.files.iter().map(&mut file).collect()
    }

    /// The files, the last of which has the damage.
    fn bytes(&self, suite: &Suite<'_>, written: &[FileRows]) -> Vec<Vec<u8>> {
        let mut bytes: Vec<_> = written
            .iter()
            .map(|file| suite.format.write(file))
            .collect();
        let (Some(last), Some(rows)) = (bytes.last_mut(), written.last()) else {
            return bytes;
        };
        match self.damage {
            Damage::None | Damage::Read(_) => {}
            Damage::Row(place) => {
                let all = rows.iter().enumerate();
                let all =
                    all.flat_map(|(block, rows)| (0..rows.len()).map(move |row| (block, row)));
                let all: Vec<_> = all.collect();
                if let Some(&(block, row)) = all.get(all.len() * place / 1000) {
                    *last = suite.format.write_damaged(rows, block, row);
                }
            }
            Damage::Truncated(place) => last.truncate(last.len() * place / 1000),
            Damage::Byte(place) => {
                let at = last.len() * place / 1000;
                last[at] ^= 0x55;
            }
        }
        bytes
    }

    fn open(
        &self,
        suite: &Suite<'_>,
        bytes: &[Vec<u8>],
        source: Source,
        options: &Options,
    ) -> Arc<dyn Files> {
        let bytes = || bytes.iter().cloned();
        let is_streamed =
            !suite.format.needs_size() && !options.shuffle_blocks && options.slice.is_none();
        let (source, failing) = match (source, self.damage) {
            // Reads of this source alone can fail.
            (Source::Late { .. }, Damage::Read(place)) => (source, Some(place)),
            (_, Damage::Read(place)) => {
                let (piece, uses_buffer) = (usize::MAX, true);
                (Source::Late { piece, uses_buffer }, Some(place))
            }
            (Source::Stream, _) if !is_streamed => (Source::File, None),
            _ => (source, None),
        };
        match source {
            Source::File => suite.files_of(bytes()),
            Source::Blocking => suite.opened_by(bytes(), |name, bytes| {
                InMemory::new(name, bytes).as_blocking().into()
            }),
            Source::Stream => suite.streams_of(bytes()),
            Source::Late { piece, uses_buffer } => suite.opened_by(bytes(), |name, bytes| {
                let failing = failing.map_or(0..0, |place| {
                    let at = (bytes.len() * place / 1000) as u64;
                    at..at + 1
                });
                let late = LateOptions {
                    seed: self.options.seed,
                    delay: Duration::from_micros(200),
                    piece,
                    failing,
                    uses_buffer,
                };
                Late::new(name, bytes, late).into()
            }),
        }
    }
}

/// Whether two runs gave out the same.
fn same(found: &Outcome, expected: &Outcome) -> Result<(), String> {
    ensure!(
        found.batches == expected.batches,
        "batches of {:?} rows in place of {:?}, or other rows",
        found.lens(),
        expected.lens()
    );
    let (found, expected) = (found.error.as_ref(), expected.error.as_ref());
    let (found, expected) = (found.map(plain_error), expected.map(plain_error));
    ensure!(found == expected, "{found:?} in place of {expected:?}");
    Ok(())
}

/// The error, without the limit that a memory error names, which is estimated, and without the folder of
/// the file, of which each run may have another.
fn plain_error(error: &Error) -> String {
    let mut error = error.clone();
    if let ErrorKind::MemoryLimit { needed, .. } = &mut error.kind {
        *needed = 0;
    }
    let location = error.place.location.take();
    let location = location.map(|location| location.to_string());
    let file = location.as_ref().and_then(|path| path.rsplit('/').next());
    format!("{:?} in {file:?} at {:?}", error.kind, error.place)
}
