//! Reads a file with the pipeline.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::path::Path;

use atds::avro::inference::Sampled;
use atds::damage::Skipped;
use atds::stats::Stats;
use atds::{
    Batch, BatchSpec, ColumnKind, Dataset, Error, ErrorKind, Feature, Layout, OnError, OutOfBounds,
    Shuffle, Threads, avro,
};
use tempfile::NamedTempFile;

use crate::properties::input::Input;

/// Memory limits; small ones are likely to be reached.
const MEMORY_LIMITS: [u64; 4] = [1 << 20, 1 << 20, 1 << 16, 1 << 10];

/// The column with the place of each record, where damage is left out. It comes after all features.
pub(super) const PLACES: &str = "\u{10ffff}place";

/// Options for reading.
#[derive(Clone, Debug)]
pub(super) struct Options {
    pub(super) batch_size: usize,
    pub(super) out_of_bounds: OutOfBounds,
    shuffle_buffer_size: usize,
    shuffle_blocks: bool,
    pub(super) shuffle_runs: bool,
    pub(super) on_error: OnError,
    reader_buffer_size: usize,
    prefetch: usize,
    memory_limit: u64,
    pub(super) layout: Option<Layout>,
}

impl Options {
    /// Random options, from four bytes.
    pub(super) fn any(input: &mut Input<'_>) -> Self {
        let [batch, shuffle, buffer, flags] = input.array();
        Options {
            batch_size: 1 + usize::from(batch),
            out_of_bounds: match flags & 1 {
                0 => OutOfBounds::Error,
                _ => OutOfBounds::Drop,
            },
            // Half of all cases are in file order.
            shuffle_buffer_size: usize::from(shuffle).saturating_sub(128),
            shuffle_blocks: flags & 6 == 6,
            shuffle_runs: flags & 6 == 2,
            on_error: match (flags & 128, flags & 6) {
                (0, _) => OnError::Raise,
                (_, 4) => OnError::SkipFile,
                _ => OnError::SkipBlock,
            },
            reader_buffer_size: 1 + 32 * usize::from(buffer),
            prefetch: usize::from(flags >> 3 & 1),
            memory_limit: MEMORY_LIMITS[usize::from(flags >> 4 & 3)],
            layout: (flags & 64 != 0).then_some(Layout::Ragged),
        }
    }

    /// Whether records come in file order.
    pub(super) fn is_in_order(&self) -> bool {
        self.shuffle_buffer_size == 0 && !self.shuffle_blocks && !self.shuffle_runs
    }
}

/// The result of reading.
#[derive(Debug)]
pub(super) struct Outcome {
    /// The columns, if the dataset could be built.
    pub(super) spec: Option<BatchSpec>,
    /// The features that are dense by a sample.
    pub(super) sampled: Vec<Sampled>,
    pub(super) batches: Vec<Batch>,
    /// The error that ended reading.
    pub(super) error: Option<Error>,
    /// What was left out.
    pub(super) skipped: Vec<Skipped>,
    /// The number of records of the file, as far as its framing is good, and the figures at the end.
    pub(super) figures: Option<(u64, Stats)>,
}

/// Reads all batches of a file with these bytes.
pub(super) fn read(
    file: &[u8],
    features: Option<&[Feature]>,
    options: &Options,
    threads: usize,
    mmap: bool,
) -> Outcome {
    let path = written(file);
    let mut builder = Dataset::builder(path.path(), options.batch_size)
        .shuffle_buffer_size(options.shuffle_buffer_size)
        .shuffle_blocks(options.shuffle_blocks)
        .on_error(options.on_error)
        .reader_buffer_size(options.reader_buffer_size)
        .prefetch(options.prefetch)
        .memory_limit(options.memory_limit)
        .out_of_bounds(options.out_of_bounds)
        .threads(Threads::Fixed(threads))
        .mmap(mmap);
    if options.shuffle_runs {
        let bytes = options.reader_buffer_size as u64;
        builder = builder.shuffle(Shuffle::Blocks).run_bytes(bytes);
    }
    if options.on_error == OnError::SkipBlock {
        builder = builder.provenance(PLACES.to_owned());
    }
    if let Some(features) = features {
        builder = builder.features(features.to_vec());
    }
    if let Some(layout) = options.layout {
        builder = builder.layout(layout);
    }
    let mut outcome = Outcome {
        spec: None,
        sampled: Vec::new(),
        batches: Vec::new(),
        error: None,
        skipped: Vec::new(),
        figures: None,
    };
    match builder.build() {
        Err(error) => outcome.error = Some(error),
        Ok(dataset) => {
            outcome.spec = Some(dataset.spec().clone());
            outcome.sampled = dataset.sampled().to_vec();
            let mut batches = dataset.iter();
            for batch in &mut batches {
                match batch {
                    Ok(batch) => outcome.batches.push(batch),
                    Err(error) => outcome.error = Some(error),
                }
            }
            assert!(batches.next().is_none(), "an end is an end");
            let rows: usize = outcome.batches.iter().map(Batch::rows).sum();
            assert_eq!(batches.stats().records, rows as u64);
            if options.on_error == OnError::SkipBlock {
                outcome.skipped = batches.skipped(0);
                match dataset.num_records() {
                    Ok(records) => outcome.figures = Some((records, batches.stats())),
                    Err(error) => {
                        let is_memory = matches!(error.kind, ErrorKind::MemoryLimit { .. });
                        assert!(is_memory && outcome.is_out_of_memory(), "{error}");
                    }
                }
            }
        }
    }
    outcome.check(path.path(), options);
    outcome
}

/// A temporary file, in memory if the system has a folder for that.
fn written(bytes: &[u8]) -> NamedTempFile {
    let in_memory = Path::new("/dev/shm");
    let mut builder = tempfile::Builder::new();
    builder.suffix(".avro");
    let file = match fs::metadata(in_memory) {
        Ok(_) => builder.tempfile_in(in_memory),
        Err(_) => builder.tempfile(),
    };
    let mut file = file.expect("a file can be made");
    file.write_all(bytes).expect("the file can be written");
    file
}

impl Outcome {
    fn check(&self, path: &Path, options: &Options) {
        let last = self.batches.len().saturating_sub(1);
        for (i, batch) in self.batches.iter().enumerate() {
            let is_whole = batch.rows() == options.batch_size;
            let loses_rows = options.on_error == OnError::SkipBlock;
            let is_shorter = batch.rows() < options.batch_size;
            assert!(
                is_whole || is_shorter && (loses_rows || i == last && batch.rows() > 0),
                "{} rows",
                batch.rows()
            );
        }
        if let Some(error) = &self.error {
            assert!(!error.to_string().is_empty());
            if !self.is_out_of_memory() && !self.is_left_out() {
                assert_eq!(error.place.location, Some(path.into()), "{error}");
            }
        }
    }

    /// Whether the memory limit ended reading.
    pub(super) fn is_out_of_memory(&self) -> bool {
        let kind = self.error.as_ref().map(|error| &error.kind);
        matches!(kind, Some(ErrorKind::MemoryLimit { .. }))
    }

    /// Whether the file was left out as a whole.
    pub(super) fn is_left_out(&self) -> bool {
        let kind = self.error.as_ref().map(|error| &error.kind);
        matches!(kind, Some(ErrorKind::AllSkipped { .. }))
    }

    /// Whether the schema has no feature, or none was requested.
    pub(super) fn has_no_features(&self) -> bool {
        let kind = self.error.as_ref().and_then(|error| error.kind.avro());
        matches!(
            kind,
            Some(avro::ErrorKind::NoFeatures { .. } | avro::ErrorKind::TooManyFields { .. })
        )
    }

    /// Gives the features that are dense by a sample their shapes.
    pub(super) fn set_sampled(&self, features: &mut [Feature]) {
        let spec = self.spec.as_ref().expect("the dataset was built");
        for sampled in &self.sampled {
            let mut features = features.iter_mut();
            let feature = features.find(|one| one.name == sampled.feature);
            let column = spec
                .columns()
                .iter()
                .find(|one| one.name == sampled.feature);
            let (Some(feature), Some(column)) = (feature, column) else {
                panic!("no column of {sampled:?}");
            };
            let ColumnKind::Dense { shape } = &column.kind else {
                panic!("{column:?} is dense by a sample");
            };
            let dense = Feature::dense(&feature.name, shape, feature.dtype);
            feature.kind = dense.kind;
        }
    }

    /// Panics unless `other` has the same batches and the same error.
    pub(super) fn assert_same(&self, other: &Outcome) {
        self.assert_same_but_for_memory(other);
        assert_eq!(
            self.error.is_some(),
            other.error.is_some(),
            "{self:?} {other:?}"
        );
    }

    /// Panics unless `other` has the same batches and the same error, as far as memory sufficed for both: a
    /// mapped file needs no memory for reads.
    pub(super) fn assert_same_but_for_memory(&self, other: &Outcome) {
        // If one block has an error and another is too large, either can be noticed first.
        let is_settled = !self.is_out_of_memory() && !other.is_out_of_memory();
        // Leaving out whole files reads them before the data set is there.
        if is_settled {
            assert_eq!(self.spec, other.spec);
        }
        for (left, right) in self.batches.iter().zip(&other.batches) {
            assert_eq!(text(left), text(right));
        }
        if is_settled {
            assert_eq!(self.batches.len(), other.batches.len());
            assert_eq!(self.fault(), other.fault());
            assert_eq!(self.lost(), other.lost());
        }
    }

    /// What was left out, in numbers and as places.
    fn lost(&self) -> (Option<(u64, u64)>, BTreeSet<String>) {
        let figures = self.figures.as_ref();
        let counts = figures.map(|(_, stats)| (stats.skipped_records, stats.skipped_bytes));
        let places = self.skipped.iter().map(|skipped| {
            let place = &skipped.error.place;
            let (block, record) = (place.block, place.record);
            format!(
                "{block:?} {record:?} {:?} {:?}",
                skipped.records, skipped.bytes
            )
        });
        (counts, places.collect())
    }

    /// The error without the file, whose name varies.
    fn fault(&self) -> Option<(String, String)> {
        self.error.as_ref().map(|error| {
            let kind = match error.kind.avro() {
                // If a payload has several errors, zstandard may notice another one; see the target
                // for zstandard.
                Some(avro::ErrorKind::Container(avro_block::ErrorKind::Decompress(_))) => {
                    "decompressing".to_owned()
                }
                _ => error.kind.to_string(),
            };
            let mut place = error.place.clone();
            place.location = None;
            (kind, format!("{place:?}"))
        })
    }
}

fn text(batch: &Batch) -> Vec<String> {
    let columns = batch.columns();
    columns.map(|(_, column)| format!("{column:?}")).collect()
}
