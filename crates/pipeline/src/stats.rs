//! Figures of an iteration, as its threads write them.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use atds_format::{Tally, Tolerated};
use atds_sched::{Costs, Schedule};

use crate::Options;
use crate::damage::{LeftOut, Skipped, SkippedCounts, SkippedList};
use crate::flow::Flow;
use crate::memory::Memory;
use crate::replay::Position;
use crate::tuning::op_time;

/// Figures of an iteration up to now.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Stats {
    /// Number of records in the batches given out.
    pub records: u64,
    /// Number of batches given out.
    pub steps: u64,
    /// Where the iteration is: after the last batch that was given out.
    pub position: Position,
    /// Bytes of the blocks that were read, as stored in the files.
    pub raw_bytes: u64,
    /// Bytes of the blocks that were prepared: decompressed, or taken as they are.
    pub decompressed_bytes: u64,
    /// Number of records in the blocks that were prepared.
    pub prepared_records: u64,
    /// Time that the pipeline waited for bytes, with nothing else to do for workers.
    pub read_wait: Duration,
    /// Time spent preparing blocks, which is decompressing them, of all workers together.
    pub decompress: Duration,
    /// Time spent decoding, of all workers together.
    pub decode: Duration,
    /// Time that the pipeline waited for the consumer to take a batch, with nothing left to do for
    /// workers.
    pub consumer_wait: Duration,
    /// Time that the consumer waited for a batch.
    pub batch_wait: Duration,
    /// Time since the iteration began; once it has ended, its duration.
    pub elapsed: Duration,
    /// Number of workers: threads that decompress and decode.
    pub threads: usize,
    /// For each worker that was started, the number of records that it has decoded.
    pub thread_records: Vec<u64>,
    /// Sparse entries dropped for an index outside their dimension.
    pub dropped_entries: u64,
    /// Lists of truncated features that were longer than their dimension, and were truncated.
    pub truncated_lists: u64,
    /// Records left over at the end of epochs, where remainders are dropped.
    pub dropped_records: u64,
    /// Number of records of batches given out that damage has cost.
    pub skipped_records: u64,
    /// Number of bytes of files that were left out, where it is not known what records they had: the
    /// framing is damaged.
    pub skipped_bytes: u64,
    /// What damage has cost of the epoch of the last batch that was given out, and of what came after it.
    pub epoch_skipped: SkippedCounts,
    /// Counters of the faults that are tolerated.
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
    /// What was decided from measured costs, and why; `None` before the first batch.
    pub schedule: Option<Schedule>,
    /// Number of batches that were drawn again, without their payloads, to go on after them.
    pub replayed: u64,
    /// Number of batches that are drawn again before the first batch is given out.
    pub to_replay: u64,
    /// Number of ops that were run again, since memory was missing.
    pub repeated_ops: u64,
    /// The time that the consumer takes for a batch.
    pub(crate) pace: Option<Duration>,
}

impl Stats {
    /// Records a second, over the whole time.
    pub fn records_per_s(&self) -> f64 {
        self.records as f64 / self.elapsed.as_secs_f64().max(f64::MIN_POSITIVE)
    }

    fn add(&mut self, tally: &Tally) {
        self.dropped_entries += tally.dropped_entries;
        self.truncated_lists += tally.truncated_lists;
        self.tolerated.add(&tally.tolerated);
    }
}

/// Reads the figures of one iteration, from any thread and after the iteration.
#[derive(Clone)]
pub struct StatsHandle {
    pub(crate) counters: Arc<Counters>,
    /// Its memory does not outlive the iteration.
    pub(crate) flow: Weak<Flow>,
}

impl fmt::Debug for StatsHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Stats { steps, records, .. } = self.stats();
        write!(f, "StatsHandle {{ steps: {steps}, records: {records} }}")
    }
}

impl StatsHandle {
    /// Figures up to now, or of the whole iteration once it has ended.
    pub fn stats(&self) -> Stats {
        self.counters.snapshot()
    }

    /// The damage that was left out of the batches given out until now, see
    /// [`Batches::skipped`](crate::Batches::skipped).
    pub fn skipped(&self, from: usize) -> Vec<Skipped> {
        self.counters.skipped(from)
    }

    /// Whether the iteration may give out more: it has neither ended nor been stopped or dropped.
    pub fn is_running(&self) -> bool {
        self.flow.upgrade().is_some_and(|flow| !flow.is_stopped())
    }

    /// What each thread does now, or waits for, and what holds how much memory: some lines for people.
    /// It waits for no thread of the iteration, so it can be called while the iteration is stuck.
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
    /// Without what follows from other figures. `elapsed` is 0 until the end.
    noted: Mutex<Stats>,
    /// The damage that was left out of batches given out.
    skipped: Mutex<SkippedList>,
    /// What framing has left out after the last batch.
    skipped_at_end: Mutex<Vec<Skipped>>,
    /// The most workers that work, as it was decided last.
    pub(crate) threads: AtomicUsize,
    memory: Arc<Memory>,
    costs: Arc<Costs>,
    batch_rows: u64,
    workers: usize,
    is_automatic: bool,
    started: Instant,
}

impl Counters {
    pub(crate) fn new(memory: Arc<Memory>, costs: Arc<Costs>, options: &Options) -> Self {
        Counters {
            noted: Mutex::default(),
            skipped: Mutex::default(),
            skipped_at_end: Mutex::default(),
            threads: AtomicUsize::new(options.threads),
            memory,
            costs,
            batch_rows: options.batch_size as u64,
            workers: options.threads,
            is_automatic: options.automatic,
            started: Instant::now(),
        }
    }

    /// Has `note` change the figures.
    pub(crate) fn note<T>(&self, note: impl FnOnce(&mut Stats) -> T) -> T {
        note(&mut lock(&self.noted))
    }

    pub(crate) fn add_rows(&self, worker: usize, rows: u64, decoding: Duration) {
        self.note(|stats| {
            stats.thread_records[worker] += rows;
            stats.decode += decoding;
        });
    }

    pub(crate) fn add_prepared(&self, bytes: u64, records: u64) {
        self.note(|stats| {
            stats.decompressed_bytes += bytes;
            // Only false counts have a sum that does not fit.
            stats.prepared_records = stats.prepared_records.saturating_add(records);
        });
    }

    pub(crate) fn add_tally(&self, tally: &Tally) {
        if *tally != Tally::default() {
            self.note(|stats| stats.add(tally));
        }
    }

    pub(crate) fn add_dropped_records(&self, records: u64) {
        self.note(|stats| {
            stats.dropped_records = stats.dropped_records.saturating_add(records);
        });
    }

    /// Notes what was left out of a batch that is given out.
    pub(crate) fn add_skipped(&self, left_out: LeftOut) {
        if left_out.is_empty() {
            return;
        }
        let (rows, counts) = left_out.counts();
        lock(&self.skipped).add(left_out.damage);
        self.note(|stats| {
            stats.skipped_records = stats.skipped_records.saturating_add(rows);
            stats.skipped_bytes = stats.skipped_bytes.saturating_add(counts.bytes);
            stats.epoch_skipped.add(counts);
        });
    }

    /// Has `damage` be noted once there are no more batches.
    pub(crate) fn skip_at_end(&self, damage: Vec<Skipped>) {
        *lock(&self.skipped_at_end) = damage;
    }

    /// Notes what was left out after the last batch.
    pub(crate) fn end_skipped(&self) {
        let damage = std::mem::take(&mut *lock(&self.skipped_at_end));
        self.add_skipped(LeftOut {
            damage,
            ..LeftOut::default()
        });
    }

    /// The damage that was left out, from that of number `from` on.
    pub(crate) fn skipped(&self, from: usize) -> Vec<Skipped> {
        let list = lock(&self.skipped);
        list.all.get(from..).unwrap_or_default().to_vec()
    }

    /// Stops the clock.
    pub(crate) fn finish(&self) {
        let elapsed = self.started.elapsed();
        self.note(|stats| {
            if stats.elapsed.is_zero() {
                stats.elapsed = elapsed;
            }
        });
    }

    pub(crate) fn snapshot(&self) -> Stats {
        let mut stats = self.note(|stats| stats.clone());
        if stats.elapsed.is_zero() {
            stats.elapsed = self.started.elapsed();
        }
        let threads = self.threads.load(Relaxed).min(self.workers);
        let threads = (threads, self.workers, self.is_automatic);
        let op_time = op_time(self.workers);
        Stats {
            threads: self.workers,
            schedule: self
                .costs
                .schedule(threads, op_time, self.batch_rows, stats.pace),
            memory_peak: self.memory.peak.load(Relaxed),
            memory_limit: self.memory.limit(),
            window_peak: self.memory.window_peak.load(Relaxed),
            ..stats
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
