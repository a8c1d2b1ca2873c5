//! Figures of an iteration, as its threads write them.

use std::ops::Deref;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
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

/// The figures of an iteration, as its threads write them.
#[derive(Debug)]
pub(crate) struct Counters {
    sums: Sums,
    memory: Arc<Memory>,
    costs: Arc<Costs>,
    batch_rows: u64,
    /// The most workers that work, as it was decided last.
    pub(crate) threads: AtomicUsize,
    is_automatic: bool,
    /// For each worker, the number of rows that it has decoded.
    worker_rows: Box<[AtomicU64]>,
    started: Instant,
}

/// What begins with 0.
#[derive(Debug, Default)]
pub(crate) struct Sums {
    pub(crate) records: AtomicU64,
    pub(crate) batches: AtomicU64,
    pub(crate) file_bytes: AtomicU64,
    prepared_bytes: AtomicU64,
    prepared_records: AtomicU64,
    pub(crate) read_wait: Nanos,
    pub(crate) prepare: Nanos,
    pub(crate) decode: Nanos,
    pub(crate) consumer_wait: Nanos,
    pub(crate) batch_wait: Nanos,
    /// Time that the planning thread waited for room.
    pub(crate) room_wait: Nanos,
    tally: Mutex<Tally>,
    dropped_records: AtomicU64,
    pub(crate) repeated_ops: AtomicU64,
    /// Number of workers that have begun.
    pub(crate) begun: AtomicUsize,
    pace: Nanos,
    took: Nanos,
}

impl Deref for Counters {
    type Target = Sums;

    fn deref(&self) -> &Sums {
        &self.sums
    }
}

impl Counters {
    pub(crate) fn new(
        memory: Arc<Memory>,
        costs: Arc<Costs>,
        workers: usize,
        options: &Options,
    ) -> Self {
        Counters {
            sums: Sums::default(),
            memory,
            costs,
            batch_rows: options.batch_size.max(1) as u64,
            threads: AtomicUsize::new(workers),
            is_automatic: options.automatic,
            worker_rows: (0..workers).map(|_| AtomicU64::new(0)).collect(),
            started: Instant::now(),
        }
    }

    pub(crate) fn add_prepared(&self, bytes: u64, records: u64) {
        self.prepared_bytes.fetch_add(bytes, Relaxed);
        self.prepared_records.fetch_add(records, Relaxed);
    }

    pub(crate) fn add_rows(&self, worker: usize, rows: u64) {
        self.worker_rows[worker].fetch_add(rows, Relaxed);
    }

    pub(crate) fn add_tally(&self, tally: &Tally) {
        if *tally != Tally::default() {
            let mut all = self.tally.lock().unwrap_or_else(PoisonError::into_inner);
            all.add(tally);
        }
    }

    pub(crate) fn add_dropped_records(&self, records: u64) {
        let add = |all: u64| Some(all.saturating_add(records));
        let _ = self.dropped_records.fetch_update(Relaxed, Relaxed, add);
    }

    /// Stops the clock.
    pub(crate) fn finish(&self) {
        if self.took.get().is_zero() {
            self.took.add(self.started.elapsed());
        }
    }

    /// Notes the time that the consumer takes for a batch.
    pub(crate) fn set_pace(&self, pace: Duration) {
        // None is 0.
        let nanos = u64::try_from(pace.as_nanos()).unwrap_or(u64::MAX);
        self.pace.0.store(nanos.max(1), Relaxed);
    }

    fn schedule(&self) -> Option<Schedule> {
        let pace = Some(self.pace.get()).filter(|pace| !pace.is_zero());
        let threads = self.threads.load(Relaxed).min(self.worker_rows.len());
        let op_time = op_time(self.worker_rows.len());
        let threads = (threads, self.worker_rows.len(), self.is_automatic);
        self.costs.schedule(threads, op_time, self.batch_rows, pace)
    }

    pub(crate) fn snapshot(&self) -> Stats {
        let memory = &self.memory;
        let took = self.took.get();
        Stats {
            records: self.records.load(Relaxed),
            batches: self.batches.load(Relaxed),
            file_bytes: self.file_bytes.load(Relaxed),
            prepared_bytes: self.prepared_bytes.load(Relaxed),
            prepared_records: self.prepared_records.load(Relaxed),
            read_wait: self.read_wait.get(),
            prepare: self.prepare.get(),
            decode: self.decode.get(),
            consumer_wait: self.consumer_wait.get(),
            batch_wait: self.batch_wait.get(),
            elapsed: if took.is_zero() {
                self.started.elapsed()
            } else {
                took
            },
            tally: *self.tally.lock().unwrap_or_else(PoisonError::into_inner),
            dropped_records: self.dropped_records.load(Relaxed),
            worker_rows: self
                .worker_rows
                .iter()
                .take(self.begun.load(Relaxed))
                .map(|rows| rows.load(Relaxed))
                .collect(),
            schedule: self.schedule(),
            memory_peak: memory.peak(),
            memory_limit: memory.limit(),
            window_peak: memory.window_peak(),
            repeated_ops: self.repeated_ops.load(Relaxed),
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
