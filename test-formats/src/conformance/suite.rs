//! What checks share: the data, runs of the pipeline, and their outcome.

use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use atds_format::{ByteSource, Format, Location};
use atds_pipeline::{Error, Files, Options, Skipped};

use super::fault::{Fault, Running};
use super::probe::{Probe, ProbeFormat};
use crate::{Row, TestFile, TestFormat};

/// A wait after which a run hangs. Far longer than any run, on any machine.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);

/// Returns an error from a check if a condition does not hold.
macro_rules! ensure {
    ($condition:expr, $($text:tt)*) => {
        if !$condition {
            return Err(format!($($text)*));
        }
    };
}
pub(super) use ensure;

/// A format under test, and the fault of the pipeline.
#[derive(Clone, Copy, Debug)]
pub struct Suite<'a> {
    pub(super) format: &'a dyn TestFormat,
    fault: Option<Fault>,
}

/// The rows of a file, by blocks.
pub(super) type FileRows = Vec<Vec<Row>>;

/// What a run of the pipeline gave out.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    /// The rows of each batch.
    pub(super) batches: Vec<Vec<Row>>,
    /// Number of rows of each batch, with those that a mask says were not read.
    pub(super) batch_rows: Vec<usize>,
    /// The error after them.
    pub(super) error: Option<Error>,
    /// The most memory in bytes that was held.
    pub(super) memory_peak: u64,
    /// Number of ops that ran again, since memory was missing.
    pub(super) repeated_ops: u64,
    /// What was left out.
    pub(super) skipped: Vec<Skipped>,
    pub(super) skipped_records: u64,
    pub(super) skipped_bytes: u64,
}

impl Outcome {
    /// All rows.
    pub(super) fn rows(&self) -> Vec<Row> {
        self.batches.concat()
    }

    /// Number of rows of each batch.
    pub(super) fn lens(&self) -> Vec<usize> {
        self.batches.iter().map(Vec::len).collect()
    }

    /// All rows, if there is no error.
    pub(super) fn whole(self) -> Result<Vec<Row>, String> {
        match &self.error {
            None => Ok(self.rows()),
            Some(error) => Err(format!("an error: {error}")),
        }
    }
}

impl<'a> Suite<'a> {
    /// The checks of `format`, with a fault or without.
    pub(super) fn new(format: &'a dyn TestFormat, fault: Option<Fault>) -> Self {
        Suite { format, fault }
    }

    /// The format, with the fault, for what reads without a pipeline.
    pub(super) fn format_by_hand(&self) -> Arc<dyn Format> {
        Arc::new(ProbeFormat {
            inner: self.format.format(),
            probe: Arc::new(Probe::new(self.fault)),
        })
    }

    /// Whether the pipeline has a fault, so that nobody need be patient.
    pub(super) fn has_fault(&self) -> bool {
        self.fault.is_some()
    }

    /// Files with these rows.
    pub(super) fn files(&self, files: &[FileRows]) -> Arc<dyn Files> {
        self.files_of(files.iter().map(|file| self.format.write(file)))
    }

    /// Files with these bytes.
    pub(super) fn files_of(&self, files: impl IntoIterator<Item = Vec<u8>>) -> Arc<dyn Files> {
        self.opened_by(files, |name, bytes| self.format.file(name, bytes))
    }

    /// Inputs of unknown size with these bytes.
    pub(super) fn streams_of(&self, files: impl IntoIterator<Item = Vec<u8>>) -> Arc<dyn Files> {
        self.opened_by(files, |name, bytes| self.format.stream(name, bytes))
    }

    /// Files with these bytes, which `file` makes of a name and the bytes.
    pub(super) fn opened_by(
        &self,
        files: impl IntoIterator<Item = Vec<u8>>,
        file: impl Fn(&str, Vec<u8>) -> TestFile,
    ) -> Arc<dyn Files> {
        let files = files.into_iter().enumerate();
        Arc::new(TestFiles {
            files: files.map(|(i, bytes)| file(&name(i), bytes)).collect(),
            format: self.format.format(),
        })
    }

    /// Starts the iteration of `epochs`.
    pub(super) fn start(
        &self,
        files: &Arc<dyn Files>,
        options: &Options,
        epochs: Range<u64>,
    ) -> Running<'a> {
        self.start_after(files, options, 0, epochs)
    }

    /// Starts the iteration of `epochs` after the first `given` batches of the first epoch.
    pub(super) fn start_after(
        &self,
        files: &Arc<dyn Files>,
        options: &Options,
        given: u64,
        epochs: Range<u64>,
    ) -> Running<'a> {
        Running::start(self.format, self.fault, files, options, given, epochs)
    }

    /// Runs the pipeline to its end.
    pub(super) fn run(
        &self,
        files: &Arc<dyn Files>,
        options: &Options,
        epochs: Range<u64>,
    ) -> Result<Outcome, String> {
        let mut running = self.start(files, options, epochs);
        let mut outcome = Outcome::default();
        while let Some(item) = running.next()? {
            ensure!(outcome.error.is_none(), "an item after the error");
            match item {
                Ok(batch) => {
                    outcome.batches.push(batch);
                    outcome.batch_rows.push(running.batch_rows);
                }
                Err(error) => outcome.error = Some(error),
            }
        }
        ensure!(running.next()?.is_none(), "an item after the end");
        let stats = running.stats();
        outcome.memory_peak = stats.memory_peak;
        outcome.repeated_ops = stats.repeated_ops;
        outcome.skipped = running.skipped();
        outcome.skipped_records = stats.skipped_records;
        outcome.skipped_bytes = stats.skipped_bytes;
        Ok(outcome)
    }
}

/// The name of file `i`.
pub(super) fn name(i: usize) -> String {
    format!("part-{i}")
}

/// Rows that all differ, from label `first` on.
pub(super) fn rows(first: usize, n: usize) -> Vec<Row> {
    let row = |i: usize| Row {
        label: i as i64,
        numbers: (0..i % 5).map(|j| (100 * i + j) as i64).collect(),
    };
    (first..first + n).map(row).collect()
}

/// `files` files of `blocks` blocks of `len` rows.
pub(super) fn data(files: usize, blocks: usize, len: usize) -> Vec<FileRows> {
    let file = |file| {
        (0..blocks)
            .map(|block| rows((file * blocks + block) * len, len))
            .collect()
    };
    (0..files).map(file).collect()
}

/// All rows of files, in order.
pub(super) fn all(files: &[FileRows]) -> Vec<Row> {
    files.concat().concat()
}

/// `rows`, `n` times.
pub(super) fn repeated(rows: &[Row], n: usize) -> Vec<Row> {
    [rows].repeat(n).concat()
}

/// Whether `a` and `b` have the same rows in any order.
pub(super) fn same_rows(a: &[Row], b: &[Row]) -> bool {
    let sorted = |rows: &[Row]| {
        let mut rows = rows.to_vec();
        rows.sort();
        rows
    };
    sorted(a) == sorted(b)
}

#[derive(Debug)]
struct TestFiles {
    files: Vec<TestFile>,
    format: Arc<dyn Format>,
}

impl Files for TestFiles {
    fn len(&self) -> usize {
        self.files.len()
    }

    fn location(&self, file: usize) -> Location {
        self.files[file].location().clone()
    }

    fn source(&self, file: usize) -> io::Result<Arc<dyn ByteSource>> {
        self.files[file].open()
    }

    fn format(&self, _: usize) -> Arc<dyn Format> {
        self.format.clone()
    }

    /// No file changes: later epochs know where blocks are.
    fn version(&self, _: usize) -> Option<u64> {
        Some(0)
    }
}
