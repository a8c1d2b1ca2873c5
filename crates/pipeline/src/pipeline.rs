//! A pipeline and its iterations.

use std::fmt;
use std::sync::Arc;
use std::task::Poll;
use std::thread;
use std::time::Duration;

use atds_sched::Costs;
use atds_shuffle::{RUN_BYTES, Stream};
use tensor_batch::{Batch, BatchSpec};

use crate::delays;
use crate::files::Files;
use crate::flow::Flow;
use crate::interleave::Interleave;
use crate::layers::Rest;
use crate::planning_thread::{BlockCache, PlanningThread};
use crate::progress::LOGGED_EVERY;
use crate::read_pool::SpareMemory;
use crate::replay::Position;
use crate::slice::Slice;
use crate::split::Split;
use crate::stats::{Stats, StatsHandle};
use crate::sync::{Instant, ThreadPool};
use crate::tuning::KEPT_SHARE;
use crate::{Error, ErrorKind, Skipped, SkippedCounts, Trace};

/// Bytes of a read at least, under a limit of memory that allows no more.
const MIN_READ_SIZE: usize = 1 << 10;

/// How files become batches.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// Number of records of a batch; at least 1.
    pub batch_size: usize,
    /// Number of records that a batch is drawn from at random; 0 for file order.
    pub shuffle_buffer_size: usize,
    /// Whether the last batch of an epoch is left out if it has fewer records.
    pub drop_remainder: bool,
    /// With the epoch and the stream, fixes the order.
    pub seed: u64,
    /// Whose batches are drawn. The orders of files and of blocks do not depend on it.
    pub stream: Stream,
    /// Whether files are read in a random order.
    pub shuffle_files: bool,
    /// Whether the blocks of a file are read in a random order.
    pub shuffle_blocks: bool,
    /// Whether runs of blocks of all files are read in a random order, in place of files or of the blocks of
    /// a file. Inputs whose size is not known are an error then.
    pub shuffle_runs: bool,
    /// Whether files take turns, each of some records; `None` if one is read after another. Their blocks are in file
    /// order then. Without effect with `shuffle_runs`.
    pub interleave: Option<Interleave>,
    /// What iterations have found of the blocks of files, for those that follow; `None` if only those of one
    /// pipeline share it.
    pub blocks: Option<Arc<BlockCache>>,
    /// Number of batches that are finished before the consumer asks for them; 0 counts as 1. While this
    /// number is ready, no op starts to make more, unless the consumer waits and is about to take batches. A batch is ready when all before it are: those that are
    /// being made, and those that wait for an earlier one, come on top: no worker has more than one op, and
    /// an op may be of many small batches. They are limited by memory.
    pub prefetch: usize,
    /// Number of workers; 0 counts as 1.
    pub threads: usize,
    /// Whether fewer workers take part where more would not make batches faster: `threads` is the number
    /// of cores then.
    pub automatic: bool,
    /// The limit in bytes on the memory of an iteration.
    pub memory_limit: u64,
    /// The most bytes of a prepared block.
    pub max_block_bytes: usize,
    /// Number of bytes that are read at a time.
    pub read_size: usize,
    /// Whether damage is left out: a block that cannot be framed or prepared, a record that cannot be
    /// decoded, and what comes after it in its block if it cannot be skipped. Batches that lose rows are
    /// shorter, and may have none. If not, damage is an error.
    pub skip_damage: bool,
    /// The split whose records are read: all counts of records are of these; `None` for all records.
    pub split: Option<Arc<Split>>,
    /// The numbers of the files that are read, in ascending order; `None` for all. Others are not opened, and
    /// the orders of files and of each file's blocks are what they would be among all files.
    pub files: Option<Arc<[usize]>>,
    /// The part of an epoch that is read; `None` for all of it.
    pub slice: Option<Slice>,
    /// The part of an epoch that is read where other readers have read some of it before. Its draws are of the
    /// layer after theirs.
    pub rest: Option<Arc<Rest>>,
    /// The name of a dense int64 column of shape `[2]` that gets the place of each row's record: the number
    /// of the file, and the number of the record in the file. The batch's spec has it, the decoder's has
    /// not. `None` for no such column.
    pub provenance: Option<String>,
    /// The name of a dense bool column: whether a row was read. The batch's spec has it, the decoder's has not.
    /// With it, rows that damage has cost are rows of zeros, under false. `None` if they are left out.
    pub mask: Option<String>,
    /// Where iterations write what their threads do; `None` for nowhere.
    pub trace: Option<Trace>,
    /// Where iterations take their threads from, and leave them for the next; `None` if each starts its
    /// own.
    pub pool: Option<Arc<ThreadPool>>,
    /// What iterations have measured: they begin with it, and measure for the next; `None` if only those
    /// of one pipeline share it.
    pub costs: Option<Arc<Costs>>,
    /// What iterations leave of their memory for the next; `None` if only those of one pipeline share it.
    pub spare: Option<Arc<SpareMemory>>,
    /// For tests: number of bytes of a run of blocks.
    #[doc(hidden)]
    pub run_bytes: u64,
    /// For tests: time between two lines of the log that say how far going on is.
    #[doc(hidden)]
    pub logged_every: Duration,
    /// For tests: number of rows of an op, instead of what follows from measured costs.
    #[doc(hidden)]
    pub op_rows: Option<u64>,
    /// For tests: number of rows of a piece; a larger batch is cut into pieces, and joined by as many
    /// workers as can.
    #[doc(hidden)]
    pub piece_rows: Option<u64>,
    /// For tests of builds with debug assertions: the seed of random delays where threads hand something
    /// over.
    #[doc(hidden)]
    pub delays: Option<u64>,
}

impl Options {
    /// Options for batches of `batch_size` records, in file order, made by one worker.
    pub fn new(batch_size: usize) -> Self {
        Options {
            batch_size,
            shuffle_buffer_size: 0,
            drop_remainder: false,
            seed: 0,
            stream: Stream::default(),
            shuffle_files: false,
            shuffle_blocks: false,
            shuffle_runs: false,
            interleave: None,
            blocks: None,
            prefetch: 2,
            threads: 1,
            automatic: false,
            memory_limit: 4 << 30,
            max_block_bytes: 1 << 30,
            read_size: 128 << 10,
            skip_damage: false,
            split: None,
            files: None,
            slice: None,
            rest: None,
            provenance: None,
            mask: None,
            trace: None,
            pool: None,
            costs: None,
            spare: None,
            run_bytes: RUN_BYTES,
            logged_every: LOGGED_EVERY,
            op_rows: None,
            piece_rows: None,
            delays: None,
        }
    }

    /// Whether file `file` is read.
    pub(crate) fn has_file(&self, file: usize) -> bool {
        let own = self.files.as_ref();
        own.is_none_or(|own| own.binary_search(&file).is_ok())
    }

    /// How files take turns, if they do.
    pub(crate) fn turns(&self) -> Option<Interleave> {
        self.interleave.filter(|_| !self.shuffle_runs)
    }

    /// Whether records are shuffled.
    pub fn is_shuffled(&self) -> bool {
        self.shuffle_buffer_size > 0
    }

    /// What is read of an epoch, if other readers have read some of it.
    pub(crate) fn rest_of(&self, epoch: u64) -> Option<&Arc<Rest>> {
        self.rest.as_ref().filter(|rest| rest.epoch == epoch)
    }

    /// Whose batches of an epoch are drawn.
    pub(crate) fn stream_of(&self, epoch: u64) -> Stream {
        match self.rest_of(epoch) {
            Some(rest) => Stream {
                layer: rest.layers.len() as u64,
                ..self.stream
            },
            None => self.stream,
        }
    }
}

/// Files that are read as batches. It is a description: each [`iter`](Self::iter) has its own
/// threads.
#[derive(Clone, Debug)]
pub struct Pipeline {
    spec: BatchSpec,
    files: Arc<dyn Files>,
    options: Options,
}

impl Pipeline {
    /// A pipeline that reads `files` into batches of `spec`.
    pub fn new(spec: BatchSpec, files: Arc<dyn Files>, options: Options) -> Self {
        let least = |number: usize| number.max(1);
        Pipeline {
            spec,
            files: files.clone(),
            options: Options {
                batch_size: least(options.batch_size),
                threads: least(options.threads),
                prefetch: least(options.prefetch),
                read_size: read_size(&options, files.len()),
                costs: Some(options.costs.unwrap_or_default()),
                blocks: Some(options.blocks.unwrap_or_default()),
                spare: Some(options.spare.unwrap_or_default()),
                ..options
            },
        }
    }

    /// The batches of `epochs`, one epoch after another.
    pub fn iter(&self, epochs: impl Iterator<Item = u64> + Send + 'static) -> Batches {
        self.iter_after(0, epochs)
    }

    /// The batches of `epochs` without the first `given` of the first epoch, which were given out before:
    /// exactly those that came next then, however many threads there are. Blocks that have no more unread
    /// records are not read. The record counts of the blocks before are taken from
    /// [`Files::block_records`], or found by framing the files.
    pub fn iter_after(
        &self,
        given: u64,
        epochs: impl Iterator<Item = u64> + Send + 'static,
    ) -> Batches {
        Batches::start(self, given, epochs)
    }

    /// Number of records of each block of file `file`, in file order, of all splits, as an iteration finds
    /// them: damaged blocks are left out if the options say so. It frames the file, and reads no payload if the format
    /// can do without.
    ///
    /// # Errors
    /// The file cannot be read, or its framing is damaged.
    pub fn block_records(&self, file: usize) -> Result<Arc<[u64]>, Error> {
        let mut options = self.options.clone();
        options.threads = 1;
        let flow = Flow::new(options, self.spec.clone());
        let planning = PlanningThread::new(self.files.clone(), flow, 0);
        planning.frame(file)
    }
}

/// An iterator over batches, which threads make ahead of the consumer.
///
/// The first error is the last item. The batch before it may end early, before a bad row; with
/// `drop_remainder`, that batch is left out. Dropping the iterator stops the threads and waits for them.
pub struct Batches {
    flow: Arc<Flow>,
    /// An error that is the next item.
    error: Option<Error>,
    is_over: bool,
}

impl Batches {
    fn start(
        pipeline: &Pipeline,
        given: u64,
        epochs: impl Iterator<Item = u64> + Send + 'static,
    ) -> Self {
        let (spec, options) = (&pipeline.spec, &pipeline.options);
        let mut epochs = epochs.peekable();
        let start = Position {
            epoch: epochs.peek().copied().unwrap_or(0),
            batches: given,
        };
        delays::begin(options.delays, 0);
        let flow = Flow::new(options.clone(), spec.clone());
        flow.counters.note(|stats| stats.position = start);
        let planning = PlanningThread::new(pipeline.files.clone(), flow.clone(), given);
        let begun = flow.begin("atds-planner", move |_| planning.run(epochs));
        let error = begun.and_then(|()| flow.start()).err();
        if error.is_some() {
            flow.stop();
        }
        Batches {
            flow,
            error: error.map(|error| Error::new(ErrorKind::Thread(Arc::new(error)))),
            is_over: false,
        }
    }

    /// Notes where the iteration is: after the last batch that was given out, whatever was made ahead.
    /// After the last batch of an epoch, all batches of it were given out; once there were no more, no batch
    /// of the next epoch. A batch that ends early before an error was not given out whole, and does not
    /// count.
    fn note_position(&self, has_failed: bool, is_ended: bool) {
        let Some(mut position) = self.flow.position(u64::from(has_failed)) else {
            return;
        };
        if is_ended {
            (position.epoch, position.batches) = (position.epoch.saturating_add(1), 0);
        }
        self.flow.counters.note(|stats| {
            if position.epoch != stats.position.epoch && !is_ended {
                stats.epoch_skipped = SkippedCounts::default();
            }
            stats.position = position;
        });
    }

    /// Says what was left out of the first epoch before the position at which the iteration begins.
    pub fn set_skipped_before(&mut self, skipped: SkippedCounts) {
        let counters = &self.flow.counters;
        counters.note(|stats| stats.epoch_skipped = skipped);
    }

    /// Figures up to now.
    pub fn stats(&self) -> Stats {
        self.flow.counters.snapshot()
    }

    /// The figures, also for other threads.
    pub fn stats_handle(&self) -> StatsHandle {
        StatsHandle {
            counters: self.flow.counters.clone(),
            flow: Arc::downgrade(&self.flow),
        }
    }

    /// The damage that was left out of the batches given out until now, in the order in which it was met,
    /// from that of number `from` on. Each place is listed once, at most 65,536 of them.
    pub fn skipped(&self, from: usize) -> Vec<Skipped> {
        self.flow.counters.skipped(from)
    }

    /// What each thread does now, or waits for, and what holds how much memory: some lines for people.
    pub fn describe_waits(&self) -> String {
        self.flow.describe()
    }

    /// The next item of the iterator, or [`Poll::Pending`] if it is not ready after `timeout`; then
    /// call this again. A `timeout` of zero does not wait.
    pub fn next_within(&mut self, timeout: Duration) -> Poll<Option<Result<Batch, Error>>> {
        self.next_by(Instant::now().checked_add(timeout))
    }

    /// Ends the iteration: stops its threads, and waits for them at most for `timeout`. Returns
    /// whether they have stopped; if not, this can be called again.
    pub fn stop_within(&mut self, timeout: Duration) -> bool {
        self.stop_by(Instant::now().checked_add(timeout))
    }

    fn next_by(&mut self, deadline: Option<Instant>) -> Poll<Option<Result<Batch, Error>>> {
        if let Some(error) = self.error.take() {
            self.stop();
            return Poll::Ready(Some(Err(error)));
        }
        if self.is_over {
            return Poll::Ready(None);
        }
        let start = Instant::now();
        let next = self.flow.next_batch(deadline);
        let waited = start.elapsed();
        let counters = &self.flow.counters;
        counters.note(|stats| stats.batch_wait += waited);
        let Poll::Ready(next) = next else {
            return Poll::Pending;
        };
        // A thread that panics stops the others.
        let is_ended = next.is_none() && !self.flow.is_stopped();
        let has_failed = next.as_ref().is_some_and(|next| next.error.is_some());
        self.note_position(has_failed, is_ended);
        let (mut batch, mut error) = (None, None);
        if let Some(next) = next {
            (batch, error) = (next.batch, next.error);
            counters.add_skipped(next.left_out);
        } else if is_ended {
            counters.end_skipped();
        }
        let Some(batch) = batch else {
            self.stop();
            return Poll::Ready(error.map(Err));
        };
        self.error = error;
        counters.note(|stats| {
            stats.records += batch.rows() as u64;
            stats.steps += 1;
        });
        Poll::Ready(Some(Ok(batch)))
    }

    fn stop(&mut self) {
        self.stop_by(None);
    }

    /// Stops the threads, and waits for them until `deadline`. Returns whether they have stopped.
    fn stop_by(&mut self, deadline: Option<Instant>) -> bool {
        self.flow.stop();
        self.is_over = true;
        loop {
            match self.flow.join(deadline) {
                Ok(false) => return false,
                Ok(true) => break,
                // A bug of this library; hiding it would look like the end of the data.
                Err(panic) if !thread::panicking() => std::panic::resume_unwind(panic),
                // The threads that are left must not outlive this.
                Err(_) => {}
            }
        }
        self.flow.builders.leave();
        self.flow.counters.finish();
        self.flow.watch.finish();
        true
    }
}

impl Iterator for Batches {
    type Item = Result<Batch, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.next_by(None) {
            Poll::Ready(item) => item,
            Poll::Pending => None,
        }
    }
}

impl std::iter::FusedIterator for Batches {}

impl Drop for Batches {
    fn drop(&mut self) {
        self.stop();
    }
}

impl fmt::Debug for Batches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Stats { steps, records, .. } = self.stats();
        write!(f, "Batches {{ steps: {steps}, records: {records} }}")
    }
}

/// Bytes of a read: fewer under a small limit, so that there is memory for more than one of each file that is
/// open.
fn read_size(options: &Options, files: usize) -> usize {
    let open = options
        .interleave
        .map_or(1, |interleave| interleave.cycle_length.min(files));
    let most = options.memory_limit / KEPT_SHARE / open.div_ceil(4).max(1) as u64;
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    options.read_size.min(most).max(MIN_READ_SIZE)
}
