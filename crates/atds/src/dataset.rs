//! A dataset and the iteration over its batches.

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;
use std::time::{Duration, Instant};

use avro_block::{DecompressBuffer, Decompressor};
use avro_decode::{LeftOut, Sampled};
use tensor_batch::{Batch, BatchSpec};

use crate::avro::schema::FileSchemas;
use crate::budget::Budget;
use crate::engine::{Engine, EngineOptions, Ready};
use crate::handoff::{Nothing, Receiver, handoff};
use crate::intake::Intake;
use crate::kept::Kept;
use crate::limits::{READ_AHEAD, READ_ON};
use crate::once::OnceInputs;
use crate::outlet::Outlet;
use crate::planner::Planner;
use crate::plans::Plans;
use crate::reader::{Order, Reader};
use crate::slice::{Slice, shard};
use crate::source::{Opener, ReadOptions, WholeIndex, count_packed, whole_index};
use crate::stats::{Counters, Stats, StatsHandle};
use crate::threads::JobThread;
use crate::unpack::Packing;
use crate::{Error, ErrorKind};

/// A data set: Avro files, read as batches.
///
/// A dataset is a description: each [`iter`](Dataset::iter) reads the files with its own threads.
/// Iterations share the memory of a few batches and decompressed blocks, mapped files up to the
/// memory limit, and the measurements for choosing the number of threads. They share threads only
/// with [`keep_threads`](crate::DatasetBuilder::keep_threads).
#[derive(Clone)]
pub struct Dataset {
    settings: Arc<Settings>,
}

impl fmt::Debug for Dataset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Settings { engine, epochs, .. } = &*self.settings;
        f.debug_struct("Dataset")
            .field("files", &self.files().len())
            .field("first_file", &self.files().first())
            .field("batching", &engine.batching)
            .field("threads", &engine.threads)
            .field("epochs", epochs)
            .field("columns", self.spec())
            .finish_non_exhaustive()
    }
}

/// The settings that [`DatasetBuilder::build`] has checked.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) order: Order,
    pub(crate) plans: Arc<Plans>,
    pub(crate) schemas: Arc<FileSchemas>,
    pub(crate) left_out: Vec<LeftOut>,
    /// The features that are dense by a sample.
    pub(crate) sampled: Arc<[Sampled]>,
    pub(crate) engine: EngineOptions,
    pub(crate) read: ReadOptions,
    pub(crate) epochs: u64,
    pub(crate) memory_limit: u64,
    pub(crate) inputs: Arc<OnceInputs>,
    /// The number of records of packed files, because counting takes long.
    pub(crate) file_counts: Arc<Mutex<HashMap<PathBuf, u64>>>,
    pub(crate) kept: Arc<Kept>,
}

impl Dataset {
    pub(crate) fn new(settings: Settings) -> Self {
        Dataset {
            settings: Arc::new(settings),
        }
    }

    /// The files, in the order in which an unshuffled iteration reads them.
    pub fn files(&self) -> &[PathBuf] {
        &self.settings.order.files
    }

    /// The columns of a batch, sorted by name.
    pub fn spec(&self) -> &BatchSpec {
        self.settings.plans.spec()
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
        let sizes = self.files().iter().map(|file| {
            let found = std::fs::metadata(file).map_err(|error| Error::io(error, file))?;
            Ok(found.len())
        });
        let total = sizes.sum::<Result<_, Error>>()?;
        Ok(self.settings.inputs.is_empty().then_some(total))
    }

    /// Number of records of an epoch: of all files, see [`file_records`](Dataset::file_records), or
    /// of the slice, if this is a slice.
    ///
    /// # Errors
    /// As for [`file_records`](Dataset::file_records).
    pub fn num_records(&self) -> Result<u64, Error> {
        if let Some(Slice { records, .. }) = &self.settings.order.slice {
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
        if let Some(slice) = &self.settings.order.slice {
            return Ok(slice.file_records.clone());
        }
        let reason = "its records cannot be counted before they are read";
        self.settings.inputs.refuse(reason)?;
        let mut is_logged = false;
        let counts = self.files().iter().map(|path| {
            match whole_index(path, &self.settings.read.lenience)? {
                WholeIndex::Index(index) => Ok(index.records()),
                WholeIndex::Packed(packing) => self.count_packed(path, packing, &mut is_logged),
            }
        });
        counts.collect()
    }

    /// The records of a packed file, counted once.
    fn count_packed(
        &self,
        path: &Path,
        packing: Packing,
        is_logged: &mut bool,
    ) -> Result<u64, Error> {
        let counts = &self.settings.file_counts;
        let counts = || counts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(records) = counts().get(path).copied() {
            return Ok(records);
        }
        if !std::mem::replace(is_logged, true) {
            log::warn!(
                "{}: the whole file is packed as {packing}, so that counting its records takes \
                 as long as reading it; this is done once for the data set",
                path.display()
            );
        }
        let records = count_packed(path, self.settings.read)?;
        counts().insert(path.to_owned(), records);
        Ok(records)
    }

    /// The shard of this data set that one of `count` processes reads. Each record of an epoch is
    /// in exactly one shard, and shards differ by at most one record. Each call counts the records
    /// of all files; for several shards, count once and call [`slice`](Dataset::slice).
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
        if index >= count {
            return Err(Error::option("index", "below the count of shards"));
        }
        let file_records = self.file_records()?;
        let records = shard(self.num_records()?, index, count);
        self.slice(records, file_records)
    }

    /// Ends the threads that wait for the next iteration of the data set and of its slices, see
    /// [`keep_threads`](crate::DatasetBuilder::keep_threads). Running iterations continue, and the
    /// next iteration starts threads.
    pub fn end_threads(&self) {
        self.settings.kept.end_threads();
    }

    /// The slice of this data set that reads the range `records` of an epoch. Positions count in
    /// the epoch's order of files and blocks, before the shuffle buffer. If files or blocks are
    /// shuffled, a slice has other records in every epoch. Slices that do not overlap never read
    /// the same record.
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
        if file_records.len() != self.files().len() {
            return Err(Error::option("file_records", "a count for each file"));
        }
        let all = match &self.settings.order.slice {
            Some(slice) => slice.records.clone(),
            None => 0..sum(&file_records),
        };
        if records.start > records.end || records.end > all.end - all.start {
            return Err(Error::option("records", "a range of those there are"));
        }
        let mut settings = Settings::clone(&self.settings);
        let records = all.start + records.start..all.start + records.end;
        // Slices of the same epoch are shuffled differently.
        settings.engine.batching.seed = settings.order.seed.wrapping_add(records.start);
        settings.order.slice = Some(Slice {
            records,
            file_records,
        });
        Ok(Dataset::new(settings))
    }

    /// The batches of all epochs, from epoch 0.
    pub fn iter(&self) -> Batches {
        Batches::start(&self.settings, 0..self.settings.epochs)
    }

    /// The batches of one epoch.
    pub fn epoch(&self, epoch: u64) -> Batches {
        Batches::start(&self.settings, epoch..epoch.saturating_add(1))
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
    /// `None` once the iteration is over.
    ready: Option<Receiver<Result<Ready, Error>>>,
    /// The error if a thread could not be started.
    failed: Option<Error>,
    threads: Vec<JobThread>,
    /// The caches that keep the threads for the next iteration, if they are kept.
    keeper: Option<Arc<Kept>>,
    budget: Arc<Budget>,
    counters: Arc<Counters>,
    sampled: Arc<[Sampled]>,
}

impl fmt::Debug for Batches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stats = self.stats();
        f.debug_struct("Batches")
            .field("steps", &stats.steps)
            .field("records", &stats.records)
            .field("is_over", &self.ready.is_none())
            .finish_non_exhaustive()
    }
}

impl Batches {
    fn start(settings: &Settings, epochs: Range<u64>) -> Self {
        let budget = Arc::new(Budget::new(settings.memory_limit));
        let sampled = settings.sampled.clone();
        let kept = settings.kept.clone();
        let scheduler = kept.scheduler(settings.engine.threads);
        let counters = Arc::new(Counters::new(scheduler));
        let (steps_out, steps) = handoff(READ_AHEAD, READ_ON);
        let groups = kept.groups.clone();
        let prefetch = settings.engine.prefetch;
        let (ready_out, ready) = handoff(prefetch, prefetch);
        let waits = settings.engine.batching.shuffle_buffer_size > 0;
        let claimed = match settings.inputs.claim(&budget) {
            Ok(claimed) => claimed,
            Err(error) => {
                return Batches {
                    ready: None,
                    failed: Some(error),
                    threads: Vec::new(),
                    keeper: None,
                    budget,
                    counters,
                    sampled,
                };
            }
        };
        let reader = Reader {
            order: settings.order.clone(),
            claimed,
            stop: settings.inputs.stop().clone(),
            is_live: false,
            opener: kept
                .opener()
                .unwrap_or_else(|| Opener::new(settings.read, settings.memory_limit)),
            kept: kept.clone(),
            epochs: epochs.clone(),
            plans: settings.plans.clone(),
            budget: budget.clone(),
            counters: counters.clone(),
            detach: (waits && !settings.read.mmap).then(|| kept.spare.clone()),
            decompressor: Decompressor::new(),
            decompressed: DecompressBuffer::new(),
            outlet: Outlet::new(
                Planner::new(settings.engine.batching),
                budget.clone(),
                groups.clone(),
                steps_out,
            ),
        };
        let keeper = kept.clone();
        let (engine_options, spec) = (settings.engine.clone(), settings.plans.spec().clone());
        let (engine_budget, engine_counters) = (budget.clone(), counters.clone());
        let engine = move || {
            let (budget, counters) = (engine_budget, engine_counters);
            let intake = Intake::new(steps, groups, budget.clone(), counters.clone());
            Engine::new(
                engine_options,
                spec,
                kept,
                budget,
                counters,
                intake,
                ready_out,
            )
            .run(epochs);
        };
        let started = [
            keeper.begin("atds-reader", move || reader.run()),
            keeper.begin("atds-engine", engine),
        ];
        let mut batches = Batches {
            ready: Some(ready),
            failed: None,
            threads: Vec::new(),
            keeper: settings.engine.keep_threads.then_some(keeper),
            budget,
            counters,
            sampled,
        };
        for thread in started {
            match thread {
                Ok(thread) => batches.threads.push(thread),
                Err(error) => batches.failed = Some(Error::new(ErrorKind::Thread(Arc::new(error)))),
            }
        }
        if batches.failed.is_some() {
            batches.stop();
        }
        batches
    }

    /// Figures up to now.
    pub fn stats(&self) -> Stats {
        self.counters.snapshot(&self.budget)
    }

    /// The figures from any thread, also while this one waits for a batch and
    /// after the iteration is dropped.
    pub fn stats_handle(&self) -> StatsHandle {
        StatsHandle::new(self.counters.clone(), self.budget.clone())
    }

    /// The next item of the iterator, or [`Poll::Pending`] if it is not ready after `timeout`; then
    /// call this again. A `timeout` of zero does not wait.
    pub fn next_within(&mut self, timeout: Duration) -> Poll<Option<Result<Batch, Error>>> {
        let Some(ready) = &self.ready else {
            return Poll::Ready(self.failure());
        };
        match self
            .counters
            .batch_wait
            .time(|| ready.recv_timeout(timeout))
        {
            Ok(received) => Poll::Ready(Some(self.received(received))),
            Err(Nothing::Yet) => Poll::Pending,
            Err(Nothing::Gone) => {
                self.stop();
                Poll::Ready(self.failure())
            }
        }
    }

    fn received(&mut self, received: Result<Ready, Error>) -> Result<Batch, Error> {
        let Ready { batch, bytes } = received.map_err(|error| {
            self.stop();
            error.of_sampled(&self.sampled)
        })?;
        self.budget.handed_out(bytes);
        let rows = batch.rows() as u64;
        self.counters.records.fetch_add(rows, Relaxed);
        self.counters.steps.fetch_add(1, Relaxed);
        Ok(batch)
    }

    /// The error of a thread that could not be started, returned once.
    fn failure(&mut self) -> Option<Result<Batch, Error>> {
        self.failed.take().map(Err)
    }

    /// Ends the iteration: stops its threads, and waits for them at most for `timeout`. Returns
    /// whether they have stopped; if not, this can be called again.
    pub fn stop_within(&mut self, timeout: Duration) -> bool {
        self.stop_by(Instant::now().checked_add(timeout))
    }

    /// Stops the threads and waits for them.
    fn stop(&mut self) {
        self.stop_by(None);
    }

    fn stop_by(&mut self, deadline: Option<Instant>) -> bool {
        self.budget.stop();
        // A thread that waits to send then gets an error and ends.
        self.ready = None;
        while let Some(thread) = self.threads.last() {
            let Some(result) = thread.wait(deadline) else {
                return false;
            };
            let thread = self.threads.pop();
            if let Some(keeper) = &self.keeper {
                keeper.keep_threads(thread);
            }
            if let Err(panic) = result {
                // A bug of this library; hiding it would look like the end of the data.
                if !std::thread::panicking() {
                    std::panic::resume_unwind(panic);
                }
            }
        }
        // The iterator may outlive the data set.
        self.keeper = None;
        self.counters.finish();
        true
    }
}

impl Iterator for Batches {
    type Item = Result<Batch, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let Some(ready) = &self.ready else {
            return self.failure();
        };
        match self.counters.batch_wait.time(|| ready.recv()) {
            Ok(received) => Some(self.received(received)),
            Err(_) => {
                self.stop();
                self.failure()
            }
        }
    }
}

impl std::iter::FusedIterator for Batches {}

impl Drop for Batches {
    fn drop(&mut self) {
        self.stop();
    }
}

/// The saturating sum: records may take no bytes, so any file could claim 2^64 records.
fn sum(counts: &[u64]) -> u64 {
    counts.iter().copied().fold(0, u64::saturating_add)
}
