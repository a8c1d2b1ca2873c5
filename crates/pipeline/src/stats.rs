//! Figures of an iteration, as its threads write them.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use atds_format::Tally;
use atds_sched::{Costs, Schedule};

use crate::Options;
use crate::flow::Flow;
use crate::memory::Memory;
use crate::tuning::op_time;

/// Figures of an iteration up to now.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Stats {
    /// Number of records in the batches given out.
    pub records: u64,
    /// Number of batches given out.
    pub batches: u64,
    /// Bytes in files of the blocks that were read.
    pub file_bytes: u64,
    /// Bytes of prepared payloads.
    pub prepared_bytes: u64,
    /// Number of records in the blocks that were prepared.
    pub prepared_records: u64,
    /// Time that the planning thread waited for bytes, with nothing else to do for workers.
    pub read_wait: Duration,
    /// Time spent preparing, of all workers together.
    pub prepare: Duration,
    /// Time spent decoding, of all workers together.
    pub decode: Duration,
    /// Time that finished batches waited for the consumer, with nothing left to do for workers.
    pub consumer_wait: Duration,
    /// Time that the consumer waited for a batch.
    pub batch_wait: Duration,
    /// Time since the iteration began, or that it took.
    pub elapsed: Duration,
    /// What was passed over.
    pub tally: Tally,
    /// Number of records that were left over at the end of epochs.
    pub dropped_records: u64,
    /// For each worker that was started, the number of rows that it has decoded.
    pub worker_rows: Vec<u64>,
    /// What was decided, and why; `None` before the first batch.
    pub schedule: Option<Schedule>,
    /// The most memory in bytes that was held at a time.
    pub memory_peak: u64,
    /// The limit on `memory_peak`.
    pub memory_limit: u64,
    /// The most memory in bytes of the blocks that a batch was drawn from: of their payloads, prepared
    /// where a batch has read them.
    pub window_peak: u64,
    /// Number of ops that were run again, since memory was missing.
    pub repeated_ops: u64,
}

/// Reads the figures of one iteration, from any thread and after the iteration.
#[derive(Clone, Debug)]
pub struct StatsHandle {
    pub(crate) counters: Arc<Counters>,
    /// Its memory does not outlive the iteration.
    pub(crate) flow: Weak<Flow>,
}

impl StatsHandle {
    /// Figures up to now.
    pub fn stats(&self) -> Stats {
        self.counters.snapshot()
    }

    /// What each thread does now, or waits for, see
    /// [`Batches::describe_waits`](crate::Batches::describe_waits).
    pub fn describe_waits(&self) -> String {
        match self.flow.upgrade() {
            Some(flow) => flow.describe(),
            None => "the iteration has ended\n".to_owned(),
        }
    }
}

/// The figures of an iteration, as its threads write them: for each batch, op and block, never for a
/// record.
#[derive(Debug)]
pub(crate) struct Counters {
    noted: Mutex<Noted>,
    /// The most workers that work, as it was decided last.
    pub(crate) threads: AtomicUsize,
    memory: Arc<Memory>,
    costs: Arc<Costs>,
    batch_rows: u64,
    workers: usize,
    is_automatic: bool,
    started: Instant,
}

/// What threads write.
#[derive(Debug, Default)]
pub(crate) struct Noted {
    /// Without what follows from other figures. `elapsed` is 0 until the end.
    pub(crate) stats: Stats,
    /// Time that the planning thread waited for room.
    pub(crate) room_wait: Duration,
    /// The time that the consumer takes for a batch.
    pub(crate) pace: Option<Duration>,
}

impl Counters {
    pub(crate) fn new(memory: Arc<Memory>, costs: Arc<Costs>, options: &Options) -> Self {
        let workers = options.threads.max(1);
        Counters {
            noted: Mutex::default(),
            threads: AtomicUsize::new(workers),
            memory,
            costs,
            batch_rows: options.batch_size.max(1) as u64,
            workers,
            is_automatic: options.automatic,
            started: Instant::now(),
        }
    }

    /// Has `note` change the figures.
    pub(crate) fn note<T>(&self, note: impl FnOnce(&mut Noted) -> T) -> T {
        note(&mut self.noted.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn add_rows(&self, worker: usize, rows: u64, decoding: Duration, tally: &Tally) {
        self.note(|Noted { stats, .. }| {
            stats.worker_rows[worker] += rows;
            stats.decode += decoding;
            stats.tally.add(tally);
        });
    }

    pub(crate) fn add_prepared(&self, bytes: u64, records: u64) {
        self.note(|Noted { stats, .. }| {
            stats.prepared_bytes += bytes;
            stats.prepared_records += records;
        });
    }

    pub(crate) fn add_tally(&self, tally: &Tally) {
        self.note(|noted| noted.stats.tally.add(tally));
    }

    pub(crate) fn add_dropped_records(&self, records: u64) {
        self.note(|Noted { stats, .. }| {
            stats.dropped_records = stats.dropped_records.saturating_add(records);
        });
    }

    /// Stops the clock.
    pub(crate) fn finish(&self) {
        let elapsed = self.started.elapsed();
        self.note(|Noted { stats, .. }| {
            if stats.elapsed.is_zero() {
                stats.elapsed = elapsed;
            }
        });
    }

    pub(crate) fn snapshot(&self) -> Stats {
        let (mut stats, pace) = self.note(|noted| (noted.stats.clone(), noted.pace));
        if stats.elapsed.is_zero() {
            stats.elapsed = self.started.elapsed();
        }
        let threads = self.threads.load(Relaxed).min(self.workers);
        let threads = (threads, self.workers, self.is_automatic);
        let op_time = op_time(self.workers);
        Stats {
            schedule: self.costs.schedule(threads, op_time, self.batch_rows, pace),
            memory_peak: self.memory.peak(),
            memory_limit: self.memory.limit(),
            window_peak: self.memory.window_peak(),
            ..stats
        }
    }
}
