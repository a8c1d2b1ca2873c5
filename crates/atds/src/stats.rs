//! Statistics of a run: counters, times, and decisions of the scheduler.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use crate::iteration::IterationFiles;

#[doc(inline)]
pub use atds_pipeline::Trace;
#[doc(inline)]
pub use atds_sched::{Schedule, WorkerLimit};

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
    /// Time the pipeline waited for bytes, with nothing else to do.
    pub read_wait: Duration,
    /// Time spent decompressing, of all threads together.
    pub decompress: Duration,
    /// Time spent decoding, of all threads together.
    pub decode: Duration,
    /// Time the pipeline waited for the consumer to take a batch, with nothing else to do.
    pub consumer_wait: Duration,
    /// Time the consumer waited for a batch.
    pub batch_wait: Duration,
    /// Time since the iteration began; once it has ended, its duration.
    pub elapsed: Duration,
    /// Number of threads that decompress and decode.
    pub threads: usize,
    /// For each thread that was started to decode, the number of records that it has decoded.
    pub thread_records: Vec<u64>,
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
    /// What was decided from measured costs, and why; `None` before the first batch.
    pub schedule: Option<Schedule>,
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
    pub(crate) pipeline: atds_pipeline::StatsHandle,
    pub(crate) files: Arc<IterationFiles>,
    pub(crate) threads: usize,
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
    /// What each thread does now, or waits for, and what holds how much memory: some lines for people.
    /// It waits for no thread of the iteration, so it can be called while the iteration is stuck.
    pub fn describe_waits(&self) -> String {
        self.pipeline.describe_waits()
    }

    /// Figures up to now, or of the whole iteration once it has ended.
    pub fn stats(&self) -> Stats {
        let stats = self.pipeline.stats();
        Stats {
            records: stats.records,
            steps: stats.batches,
            raw_bytes: stats.file_bytes,
            decompressed_bytes: stats.prepared_bytes,
            read_wait: stats.read_wait,
            decompress: stats.prepare,
            decode: stats.decode,
            consumer_wait: stats.consumer_wait,
            batch_wait: stats.batch_wait,
            elapsed: stats.elapsed,
            threads: self.threads,
            thread_records: stats.worker_rows,
            dropped_entries: stats.tally.dropped_entries,
            truncated_lists: stats.tally.truncated_lists,
            dropped_records: stats.dropped_records,
            tolerated: Tolerated {
                trailing_block_bytes: stats.tally.trailing_block_bytes,
                trailing_file_bytes: self.files.trailing_bytes.load(Relaxed),
                bad_checksums: stats.tally.bad_checksums,
                replaced_texts: stats.tally.replaced_texts,
            },
            memory_peak: stats.memory_peak,
            window_peak: stats.window_peak,
            memory_limit: stats.memory_limit,
            schedule: stats.schedule,
            mapped_peak: self.files.mapped_peak.load(Relaxed),
        }
    }
}
