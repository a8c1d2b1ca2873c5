//! A dataset and the iteration over its batches.

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use atds_pipeline::{Options, Pipeline, Slice};
use atds_sched::{Costs, ThreadPool, Threads};
use avro_decode::{LeftOut, Sampled};
use tensor_batch::{Batch, BatchSpec};

use crate::Error;
use crate::avro::file_blocks::{FileBlocks, whole_index};
use crate::avro::records::RecordOptions;
use crate::avro::schema::FileSchemas;
use crate::formats::avro::AvroFormat;
use crate::lock::lock;
use crate::source::{Mappings, OnceInputs, Reading, Stop};
use crate::stats::{Stats, StatsHandle};

/// A data set: Avro files, read as batches.
///
/// A dataset is a description: each [`iter`](Dataset::iter) reads the files with its own threads.
/// Iterations share memory for decompressed blocks, and mapped files up to the memory limit. They share
/// threads only with [`keep_threads`](crate::DatasetBuilder::keep_threads).
#[derive(Clone)]
pub struct Dataset {
    settings: Arc<Settings>,
}

impl fmt::Debug for Dataset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let run = &self.settings.run;
        f.debug_struct("Dataset")
            .field("files", &self.files().len())
            .field("first_file", &self.files().first())
            .field("batch_size", &run.pipeline.batch_size)
            .field("threads", &run.threads)
            .field("epochs", &run.epochs)
            .field("columns", self.spec())
            .finish_non_exhaustive()
    }
}

/// The settings that [`DatasetBuilder::build`] has checked.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) files: Arc<[PathBuf]>,
    pub(crate) format: Arc<AvroFormat>,
    pub(crate) schemas: Arc<FileSchemas>,
    pub(crate) left_out: Vec<LeftOut>,
    /// The features that are dense by a sample.
    pub(crate) sampled: Vec<Sampled>,
    pub(crate) run: RunOptions,
    pub(crate) inputs: Arc<OnceInputs>,
    // What one iteration leaves for the next:
    /// The mapped files, if files are mapped.
    pub(crate) mappings: Option<Arc<Mappings>>,
    pub(crate) threads: Arc<ThreadPool>,
    /// What decoding costs.
    pub(crate) costs: Arc<Costs>,
    /// The number of records of packed files, because counting takes long.
    pub(crate) file_counts: Arc<Mutex<HashMap<PathBuf, u64>>>,
}

/// The options of an iteration.
#[derive(Clone, Debug)]
pub(crate) struct RunOptions {
    /// The options of the pipeline, but for the number of threads and how files are read.
    pub(crate) pipeline: Options,
    pub(crate) threads: Threads,
    /// For tests: the number of cores that `threads` sees.
    pub(crate) cores: Option<usize>,
    /// Whether threads wait for the next iteration.
    pub(crate) keep_threads: bool,
    pub(crate) mmap: bool,
    /// How files are read.
    pub(crate) reading: RecordOptions,
    pub(crate) epochs: u64,
}

impl Dataset {
    pub(crate) fn new(settings: Settings) -> Self {
        Dataset {
            settings: Arc::new(settings),
        }
    }

    /// The files, in the order in which an unshuffled iteration reads them.
    pub fn files(&self) -> &[PathBuf] {
        &self.settings.files
    }

    /// The columns of a batch, sorted by name.
    pub fn spec(&self) -> &BatchSpec {
        self.settings.format.plans.spec()
    }

    /// The schemas that determine the columns: the first file's, and those of later files with
    /// fields that it lacks. Another process that builds the same data set with these schemas reads
    /// no headers, see [`DatasetBuilder::schemas`](crate::DatasetBuilder::schemas).
    pub fn schemas(&self) -> &FileSchemas {
        &self.settings.schemas
    }

    /// The fields that cannot be a tensor, if the features were inferred.
    pub fn left_out(&self) -> &[LeftOut] {
        &self.settings.left_out
    }

    /// The features that were inferred as dense, because all lists of a
    /// [sample](crate::DatasetBuilder::sample_records) have one length.
    pub fn sampled(&self) -> &[Sampled] {
        &self.settings.sampled
    }

    /// Size of all files in bytes; `None` if a file is a pipe, whose size is unknown.
    ///
    /// # Errors
    /// A file does not exist any more.
    pub fn total_bytes(&self) -> Result<Option<u64>, Error> {
        let found = |file| std::fs::metadata(file).map_err(|error| Error::io(error, file));
        let sizes = self.files().iter().map(|file| Ok(found(file)?.len()));
        let total = sizes.sum::<Result<_, Error>>()?;
        Ok(self.settings.inputs.paths().is_empty().then_some(total))
    }

    /// Number of records of an epoch: of all files, see [`file_records`](Dataset::file_records), or
    /// of the slice, if this is a slice.
    ///
    /// # Errors
    /// As for [`file_records`](Dataset::file_records).
    pub fn num_records(&self) -> Result<u64, Error> {
        if let Some(Slice { records, .. }) = &self.settings.run.pipeline.slice {
            return Ok(records.end - records.start);
        }
        Ok(sum(&self.file_records()?))
    }

    /// Number of records of each file. Each call counts them, by reading a few bytes of every
    /// block; a slice has the counts that it was made with. Files that are packed as a whole are
    /// unpacked to count them, which takes about as long as reading them. This is logged, and done
    /// once for a data set.
    ///
    /// # Errors
    /// A file cannot be read, its framing is damaged, or it can be read only once.
    pub fn file_records(&self) -> Result<Arc<[u64]>, Error> {
        if let Some(slice) = &self.settings.run.pipeline.slice {
            return Ok(slice.file_records.clone());
        }
        let reason = "its records cannot be counted before they are read";
        self.settings.inputs.refuse(reason)?;
        let (mut is_logged, run) = (false, &self.settings.run);
        let count = |path: &PathBuf| match whole_index(path, &run.reading)? {
            Some(index) => Ok(index.records()),
            None => self.count_packed(path, &mut is_logged),
        };
        self.files().iter().map(count).collect()
    }

    /// The records of a packed file, counted once.
    fn count_packed(&self, path: &Path, is_logged: &mut bool) -> Result<u64, Error> {
        let (counts, run) = (&self.settings.file_counts, &self.settings.run);
        if let Some(records) = lock(counts).get(path) {
            return Ok(*records);
        }
        let reading = Reading::open(path, &Stop::default());
        let blocks = FileBlocks::new(path, reading, &run.reading)?;
        if let Some(packing) = blocks.packing
            && !std::mem::replace(is_logged, true)
        {
            log::warn!(
                "{}: the whole file is packed as {packing}, so that counting its records takes \
                 as long as reading it; this is done once for the data set",
                path.display()
            );
        }
        let mut records = 0u64;
        for block in blocks {
            records = records.saturating_add(block?.count);
        }
        lock(counts).insert(path.to_owned(), records);
        Ok(records)
    }

    /// The shard of this data set that one of `count` processes reads. Each record of an epoch is
    /// in exactly one shard, and shards differ by at most one record. Each call counts the records
    /// of all files; for several shards, count once and call [`slice`](Dataset::slice).
    ///
    /// A shard draws from its shuffle buffer as rank `index`, see [`with_rank`](Dataset::with_rank);
    /// a shard of a slice draws as a slice does.
    ///
    /// ```
    /// # use atds_generate::{generate, GenerateOptions, Preset};
    /// # let folder = tempfile::tempdir()?;
    /// # let folder = folder.path();
    /// # generate(folder, &GenerateOptions::new(Preset::Ads, 1_000))?;
    /// let dataset = atds::Dataset::builder(folder, 64).build()?;
    /// let shard = dataset.shard(2, 3)?;
    /// assert_eq!(shard.num_records()?, 334);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// An index that is not below `count`; otherwise as for
    /// [`file_records`](Dataset::file_records).
    pub fn shard(&self, index: u64, count: u64) -> Result<Dataset, Error> {
        Error::check(index < count, "index", "below the count of shards")?;
        let file_records = self.file_records()?;
        let records = shard(self.num_records()?, index, count);
        let shard = self.slice(records, file_records)?;
        Ok(match &self.settings.run.pipeline.slice {
            None => shard.with_rank(index, 0),
            Some(_) => shard,
        })
    }

    /// The same records, drawn from the shuffle buffer by worker `worker` of rank `rank`. Seed,
    /// epoch, rank and worker fix the draws. The draws of different ranks and workers are
    /// independent. The orders of files and of blocks are the same for all ranks and workers.
    ///
    /// A data set that is no slice draws as worker 0 of rank 0. Give the slices of several processes
    /// the numbers of these, so that their order depends on nothing else.
    pub fn with_rank(&self, rank: u64, worker: u64) -> Dataset {
        self.with(|pipeline| (pipeline.stream.rank, pipeline.stream.worker) = (rank, worker))
    }

    /// Ends the threads that wait for the next iteration of the data set and of its slices, see
    /// [`keep_threads`](crate::DatasetBuilder::keep_threads). Running iterations continue, and the
    /// next iteration starts threads.
    pub fn end_threads(&self) {
        self.settings.threads.end();
    }

    /// The slice of this data set that reads the range `records` of an epoch. Positions count in
    /// the epoch's order of files and blocks, before the shuffle buffer. If files or blocks are
    /// shuffled, a slice has other records in every epoch. Slices that do not overlap never read
    /// the same record. A slice draws from its shuffle buffer as if the number of its first record
    /// were its [rank](Dataset::with_rank), so that other slices draw independently.
    ///
    /// Only files and blocks with records in the slice are read. `file_records`
    /// are the data set's [`file_records`](Dataset::file_records), counted here or
    /// by another process with the same files. A slice of a slice counts from the start of the
    /// outer slice.
    ///
    /// # Errors
    /// The range is beyond the records or ends before it starts, or there are counts for another
    /// number of files. Iterating fails if a file has another number of records than was counted.
    pub fn slice(
        &self,
        records: Range<u64>,
        file_records: impl Into<Arc<[u64]>>,
    ) -> Result<Dataset, Error> {
        let file_records = file_records.into();
        let inputs = &self.settings.inputs;
        inputs.refuse("shards and slices of it cannot be read")?;
        let is_right = file_records.len() == self.files().len();
        Error::check(is_right, "file_records", "a count for each file")?;
        let all = match &self.settings.run.pipeline.slice {
            Some(slice) => slice.records.clone(),
            None => 0..sum(&file_records),
        };
        let is_right = records.start <= records.end && records.end <= all.end - all.start;
        Error::check(is_right, "records", "a range of those there are")?;
        let records = all.start + records.start..all.start + records.end;
        let first = records.start;
        let slice = Slice {
            records,
            file_records,
        };
        let sliced = self.with(|pipeline| pipeline.slice = Some(slice));
        Ok(sliced.with_rank(first, 0))
    }

    /// The data set with other options of the pipeline.
    fn with(&self, change: impl FnOnce(&mut Options)) -> Dataset {
        let mut settings = Settings::clone(&self.settings);
        change(&mut settings.run.pipeline);
        Dataset::new(settings)
    }

    /// The batches of all epochs, from epoch 0.
    pub fn iter(&self) -> Batches {
        Batches::start(&self.settings, 0..self.settings.run.epochs)
    }

    /// The batches of one epoch.
    pub fn epoch(&self, epoch: u64) -> Batches {
        Batches::start(&self.settings, epoch..=epoch)
    }

    /// The batches of several epochs, one epoch after another. The threads go on to the next epoch
    /// while batches of this one are made.
    pub fn epochs(&self, epochs: Range<u64>) -> Batches {
        Batches::start(&self.settings, epochs)
    }
}

impl IntoIterator for &Dataset {
    type Item = Result<Batch, Error>;
    type IntoIter = Batches;

    fn into_iter(self) -> Batches {
        self.iter()
    }
}

/// An iterator over the batches of a dataset, prefetched by threads.
///
/// The first error is the last item; the batches before it are whole. Dropping the iterator stops
/// the threads and waits for them.
pub struct Batches {
    batches: atds_pipeline::Batches,
    /// Why the iteration could not begin: it has no batches.
    failed: Option<Error>,
    settings: Arc<Settings>,
    is_over: bool,
}

impl fmt::Debug for Batches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batches")
            .field("batches", &self.batches)
            .field("is_over", &self.is_over)
            .finish_non_exhaustive()
    }
}

impl Batches {
    fn start(settings: &Arc<Settings>, epochs: impl Iterator<Item = u64> + Send + 'static) -> Self {
        let run = &settings.run;
        let failed = settings.inputs.claim().err();
        let mut options = run.pipeline.clone();
        options.threads = match run.cores {
            Some(cores) => run.threads.number_on(cores),
            None => run.threads.number(),
        };
        options.max_block_bytes = run.reading.max_block_bytes;
        options.read_size = run.reading.buffer_size;
        options.automatic = !matches!(run.threads, Threads::Fixed(_));
        options.costs = Some(settings.costs.clone());
        options.pool = run.keep_threads.then(|| settings.threads.clone());
        let spec = settings.format.plans.spec().clone();
        let pipeline = Pipeline::new(spec, settings.clone(), options);
        let batches = match &failed {
            None => pipeline.iter(epochs),
            Some(_) => pipeline.iter(0..0),
        };
        Batches {
            batches,
            failed,
            settings: settings.clone(),
            is_over: false,
        }
    }

    /// Figures up to now.
    pub fn stats(&self) -> Stats {
        self.batches.stats()
    }

    /// The figures from any thread, also while this one waits for a batch and
    /// after the iteration is dropped.
    pub fn stats_handle(&self) -> StatsHandle {
        self.batches.stats_handle()
    }

    /// What each thread does now, or waits for, see
    /// [`StatsHandle::describe_waits`].
    pub fn describe_waits(&self) -> String {
        self.batches.describe_waits()
    }

    /// The next item of the iterator, or [`Poll::Pending`] if it is not ready after `timeout`; then
    /// call this again. A `timeout` of zero does not wait.
    pub fn next_within(&mut self, timeout: Duration) -> Poll<Option<Result<Batch, Error>>> {
        if let Some(error) = self.failed.take() {
            return Poll::Ready(Some(Err(error)));
        }
        let next = self.batches.next_within(timeout);
        if matches!(next, Poll::Ready(None | Some(Err(_)))) {
            self.end();
        }
        next.map_err(|error| self.settings.error(error))
    }

    /// Ends the iteration: stops its threads, and waits for them at most for `timeout`. Returns
    /// whether they have stopped; if not, this can be called again.
    pub fn stop_within(&mut self, timeout: Duration) -> bool {
        let stopped = self.batches.stop_within(timeout);
        if stopped {
            self.end();
        }
        stopped
    }

    /// Logs what was passed over, once.
    fn end(&mut self) {
        if !std::mem::replace(&mut self.is_over, true) {
            let tolerated = self.stats().tolerated;
            if !tolerated.is_empty() {
                log::warn!("passed over in all: {tolerated}");
            }
        }
    }
}

impl Iterator for Batches {
    type Item = Result<Batch, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        // Without an end: it is later than any time that the clock has.
        match self.next_within(Duration::MAX) {
            Poll::Ready(item) => item,
            Poll::Pending => None,
        }
    }
}

impl std::iter::FusedIterator for Batches {}

impl Drop for Batches {
    fn drop(&mut self) {
        // The threads stop before the figures are logged.
        self.batches.stop_within(Duration::MAX);
        self.end();
    }
}

/// The saturating sum: records may take no bytes, so any file could claim 2^64 records.
fn sum(counts: &[u64]) -> u64 {
    counts.iter().copied().fold(0, u64::saturating_add)
}

/// The records of one of `count` shards of `records` records: shards are as equal as can be, and one
/// begins where another ends.
fn shard(records: u64, index: u64, count: u64) -> Range<u64> {
    let bound = |shard: u64| {
        let bound = u128::from(records) * u128::from(shard) / u128::from(count);
        // No more than there are, since there are no more shards than `count`.
        u64::try_from(bound).unwrap_or(records)
    };
    bound(index)..bound(index + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_are_as_equal_as_can_be() {
        for (records, count) in [(0, 1), (0, 3), (2, 5), (10, 3), (10, 10), (u64::MAX, 7)] {
            let shards: Vec<_> = (0..count).map(|i| shard(records, i, count)).collect();
            let mut next = 0;
            for shard in &shards {
                assert_eq!(shard.start, next);
                assert!((shard.end - shard.start).abs_diff(records / count) <= 1);
                next = shard.end;
            }
            assert_eq!(next, records);
        }
        assert_eq!(
            shard(u64::MAX, u64::MAX - 1, u64::MAX),
            u64::MAX - 1..u64::MAX
        );
    }
}
