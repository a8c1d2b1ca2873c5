//! A pipeline and its iterations.

use std::fmt;
use std::sync::Arc;
use std::task::Poll;
use std::thread;
use std::time::Duration;

use atds_sched::Costs;
use atds_shuffle::Stream;
use tensor_batch::{Batch, BatchSpec};

use crate::delays;
use crate::files::Files;
use crate::flow::Flow;
use crate::planner::Planner;
use crate::planning_thread::PlanningThread;
use crate::read_pool::ReadPool;
use crate::sequence::Sequence;
use crate::slice::Slice;
use crate::stats::{Stats, StatsHandle};
use crate::sync::{Instant, ThreadPool};
use crate::tuning::{KEPT_SHARE, MIN_READ_SIZE};
use crate::{Error, ErrorKind, Trace};

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
    /// Number of batches that are finished before the consumer asks for them; 0 counts as 1. While so
    /// many are ready, no op starts to make more. A batch is ready when all before it are: those that are
    /// being made, and those that wait for an earlier one, come on top. They are limited by memory, and
    /// not in number.
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
    /// The part of an epoch that is read; `None` for all of it.
    pub slice: Option<Slice>,
    /// Where iterations write what their threads do; `None` for nowhere.
    pub trace: Option<Trace>,
    /// Where iterations take their threads from, and leave them for the next; `None` if each starts its
    /// own.
    pub pool: Option<Arc<ThreadPool>>,
    /// What iterations have measured: they begin with it, and measure for the next; `None` if only those
    /// of one pipeline share it.
    pub costs: Option<Arc<Costs>>,
    /// For tests: number of rows of an op, instead of what follows from measured costs.
    #[doc(hidden)]
    pub op_rows: Option<u64>,
    /// For tests: number of rows of a piece; a larger batch is cut into pieces.
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
            prefetch: 2,
            threads: 1,
            automatic: false,
            memory_limit: 4 << 30,
            max_block_bytes: 1 << 30,
            read_size: 128 << 10,
            slice: None,
            trace: None,
            pool: None,
            costs: None,
            op_rows: None,
            piece_rows: None,
            delays: None,
        }
    }

    pub(crate) fn is_shuffled(&self) -> bool {
        self.shuffle_buffer_size > 0
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
            files,
            options: Options {
                batch_size: least(options.batch_size),
                threads: least(options.threads),
                prefetch: least(options.prefetch),
                read_size: read_size(&options),
                costs: Some(options.costs.unwrap_or_default()),
                ..options
            },
        }
    }

    /// The batches of `epochs`, one epoch after another.
    pub fn iter(&self, epochs: impl Iterator<Item = u64> + Send + 'static) -> Batches {
        Batches::start(self, epochs)
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
    fn start(pipeline: &Pipeline, epochs: impl Iterator<Item = u64> + Send + 'static) -> Self {
        let (spec, options) = (&pipeline.spec, &pipeline.options);
        delays::begin(options.delays, 0);
        let flow = Flow::new(options.clone(), spec.clone());
        let planning = PlanningThread {
            files: pipeline.files.clone(),
            flow: flow.clone(),
            pool: ReadPool::new(flow.memory.clone()),
            planner: Planner::new(options),
            sequence: Sequence::new(flow.clone()),
            read_size: options.read_size as u64,
        };
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
        let (batch, error) = next.map_or((None, None), |next| (next.batch, next.error));
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
        // What the consumer drops from now on is for no batch to come.
        self.flow.memory.set_scarce(true);
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

/// Bytes of a read: fewer under a small limit, so that there is memory for more than one.
fn read_size(options: &Options) -> usize {
    let most = usize::try_from(options.memory_limit / KEPT_SHARE).unwrap_or(usize::MAX);
    options.read_size.min(most).max(MIN_READ_SIZE)
}
