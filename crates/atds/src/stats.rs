//! Statistics of a run: counters, times, and decisions of the scheduler.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use atds_sched::Scheduler;

use crate::budget::Budget;
use crate::task::Done;
use crate::tolerate::ToleratedCounters;

#[doc(inline)]
pub use atds_sched::Decision;
#[doc(inline)]
pub use atds_sched::SchedulerStats;

pub use crate::tolerate::Tolerated;

/// Figures of a run up to now.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Stats {
    /// Number of records in the batches yielded.
    pub records: u64,
    /// Number of batches yielded.
    pub steps: u64,
    /// Bytes of the blocks that were read, as stored in the files.
    pub raw_bytes: u64,
    /// Bytes of the blocks that were decoded, decompressed.
    pub decompressed_bytes: u64,
    /// Time the pipeline waited for bytes.
    pub read_wait: Duration,
    /// Time spent decompressing, of all threads together.
    pub decompress: Duration,
    /// Time spent decoding, of all threads together.
    pub decode: Duration,
    /// Time the pipeline waited for the consumer to take a batch.
    pub consumer_wait: Duration,
    /// Time the consumer waited for a batch.
    pub batch_wait: Duration,
    /// Time since the iteration began; once it has ended, its duration.
    pub elapsed: Duration,
    /// Threads that decompressed and decoded the last batch.
    pub threads: usize,
    /// Sparse entries dropped for an index outside their dimension.
    pub dropped_entries: u64,
    /// Lists of [truncated](crate::Feature::with_truncate) features that were longer
    /// than their dimension, and were truncated.
    pub truncated_lists: u64,
    /// Records left over at the end of epochs, where remainders are dropped.
    pub dropped_records: u64,
    /// Counters of the faults that [`tolerate`](crate::DatasetBuilder::tolerate) allows.
    pub tolerated: Tolerated,
    /// Peak memory in bytes of compressed and decompressed blocks and of batches.
    pub memory_peak: u64,
    /// Peak memory in bytes of the window: blocks with unread records, including decompressed data
    /// and mapped blocks.
    pub window_peak: u64,
    /// The limit on `memory_peak`.
    pub memory_limit: u64,
    /// Peak size in bytes of mapped files, if files are mapped. The system reclaims this memory
    /// when needed, so it does not count towards the limit.
    pub mapped_peak: u64,
    /// Decisions of the scheduler, and their reasons.
    pub schedule: Option<SchedulerStats>,
}

impl Stats {
    /// Records a second, over the whole time.
    pub fn records_per_s(&self) -> f64 {
        self.records as f64 / self.elapsed.as_secs_f64().max(f64::MIN_POSITIVE)
    }
}

/// Reads the figures of one iteration, from any thread and without the iterator.
#[derive(Clone)]
pub struct StatsHandle {
    counters: Arc<Counters>,
    budget: Arc<Budget>,
}

impl fmt::Debug for StatsHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stats = self.stats();
        f.debug_struct("StatsHandle")
            .field("steps", &stats.steps)
            .field("records", &stats.records)
            .finish_non_exhaustive()
    }
}

impl StatsHandle {
    pub(crate) fn new(counters: Arc<Counters>, budget: Arc<Budget>) -> Self {
        StatsHandle { counters, budget }
    }

    /// Figures up to now, or of the whole iteration once it has ended.
    pub fn stats(&self) -> Stats {
        self.counters.snapshot(&self.budget)
    }
}

/// The figures as the threads of a pipeline write them.
#[derive(Debug)]
pub(crate) struct Counters {
    pub(crate) records: AtomicU64,
    pub(crate) steps: AtomicU64,
    pub(crate) raw_bytes: AtomicU64,
    pub(crate) decompressed_bytes: AtomicU64,
    pub(crate) read_wait: Nanos,
    pub(crate) decompress: Nanos,
    pub(crate) decode: Nanos,
    pub(crate) consumer_wait: Nanos,
    pub(crate) batch_wait: Nanos,
    pub(crate) dropped_entries: AtomicU64,
    pub(crate) truncated_lists: AtomicU64,
    pub(crate) dropped_records: AtomicU64,
    pub(crate) mapped_peak: AtomicU64,
    pub(crate) tolerated: Arc<ToleratedCounters>,
    scheduler: Mutex<Scheduler>,
    started: Instant,
    /// Time the iteration took, once it has ended.
    took: Nanos,
}

impl Counters {
    /// Counters of 0, with the scheduler whose decisions are reported.
    pub(crate) fn new(scheduler: Scheduler) -> Self {
        Counters {
            records: AtomicU64::default(),
            steps: AtomicU64::default(),
            raw_bytes: AtomicU64::default(),
            decompressed_bytes: AtomicU64::default(),
            read_wait: Nanos::default(),
            decompress: Nanos::default(),
            decode: Nanos::default(),
            consumer_wait: Nanos::default(),
            batch_wait: Nanos::default(),
            dropped_entries: AtomicU64::default(),
            truncated_lists: AtomicU64::default(),
            dropped_records: AtomicU64::default(),
            mapped_peak: AtomicU64::default(),
            tolerated: Arc::default(),
            scheduler: Mutex::new(scheduler),
            started: Instant::now(),
            took: Nanos::default(),
        }
    }

    /// Adds the work on a batch.
    pub(crate) fn add_work(&self, done: &Done) {
        self.decompressed_bytes
            .fetch_add(done.decompressed_bytes, Relaxed);
        self.dropped_entries
            .fetch_add(done.dropped_entries, Relaxed);
        self.truncated_lists
            .fetch_add(done.truncated_lists, Relaxed);
        self.tolerated.add(&done.tolerated);
        self.decompress
            .add(Duration::from_nanos(done.decompress_ns));
        self.decode.add(Duration::from_nanos(done.decode_ns));
    }

    pub(crate) fn scheduler(&self) -> MutexGuard<'_, Scheduler> {
        let scheduler = self.scheduler.lock();
        scheduler.unwrap_or_else(PoisonError::into_inner)
    }

    /// Stops the clock.
    pub(crate) fn finish(&self) {
        if self.took.get().is_zero() {
            self.took.add(self.started.elapsed());
            let tolerated = self.tolerated.get();
            if !tolerated.is_empty() {
                log::warn!("passed over in all: {}", tolerated.text());
            }
        }
    }

    pub(crate) fn snapshot(&self, budget: &Budget) -> Stats {
        let took = self.took.get();
        let schedule = Some(self.scheduler().stats()).filter(|stats| stats.runs > 0);
        let decision = schedule.as_ref().and_then(|stats| stats.decision.as_ref());
        Stats {
            records: self.records.load(Relaxed),
            steps: self.steps.load(Relaxed),
            raw_bytes: self.raw_bytes.load(Relaxed),
            decompressed_bytes: self.decompressed_bytes.load(Relaxed),
            read_wait: self.read_wait.get(),
            decompress: self.decompress.get(),
            decode: self.decode.get(),
            consumer_wait: self.consumer_wait.get() + budget.waited(),
            batch_wait: self.batch_wait.get(),
            elapsed: if took.is_zero() {
                self.started.elapsed()
            } else {
                took
            },
            threads: decision.map_or(0, |decision| decision.threads),
            dropped_entries: self.dropped_entries.load(Relaxed),
            truncated_lists: self.truncated_lists.load(Relaxed),
            dropped_records: self.dropped_records.load(Relaxed),
            tolerated: self.tolerated.get(),
            memory_peak: budget.peak(),
            window_peak: budget.window_peak(),
            memory_limit: budget.limit(),
            mapped_peak: self.mapped_peak.load(Relaxed),
            schedule,
        }
    }
}

/// A sum of durations.
#[derive(Debug, Default)]
pub(crate) struct Nanos(AtomicU64);

impl Nanos {
    pub(crate) fn add(&self, time: Duration) {
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.0.fetch_add(nanos, Relaxed);
    }

    /// Runs `work` and adds the time it takes.
    pub(crate) fn time<T>(&self, work: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let result = work();
        self.add(start.elapsed());
        result
    }

    pub(crate) fn get(&self) -> Duration {
        Duration::from_nanos(self.0.load(Relaxed))
    }
}
