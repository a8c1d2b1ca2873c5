//! What each thread of an iteration does: for a trace, and to tell what waits for what.

use std::cell::Cell;
use std::fmt;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use atds_format::Location;

use crate::block::{Block, FileContext};
use crate::ops::{Op, Queued, Read};
use crate::planner::BatchPlan;
use crate::trace::{Event, IterationTrace, Trace};

/// The number of the consumer among the threads of an iteration.
const CONSUMER: usize = 0;
const PLANNER: usize = 1;
const FIRST_WORKER: usize = 2;

/// Events of a thread that are written together.
const WRITTEN_TOGETHER: usize = 256;

thread_local! {
    /// The number of this thread in its iteration. A thread that the pipeline has not started is a
    /// consumer.
    static NUMBER: Cell<usize> = const { Cell::new(CONSUMER) };
}

/// What the threads of one iteration do. Each thread writes for itself, so nobody waits here.
#[derive(Debug)]
pub(crate) struct Watch {
    threads: Box<[Thread]>,
    trace: Option<IterationTrace>,
}

#[derive(Debug, Default)]
struct Thread {
    state: Mutex<State>,
    /// Bytes that the op which runs has leased, and the most that it had.
    leased: AtomicU64,
    most_leased: AtomicU64,
}

#[derive(Debug, Default)]
struct State {
    is_running: bool,
    /// What the thread does, and what it waits for in it.
    spans: Vec<(What, Instant)>,
    /// What ended and is not written.
    events: Vec<Event>,
}

/// What a thread does, or what it waits for.
#[derive(Clone, Debug)]
pub(crate) enum What {
    Prepare {
        at: At,
        blocks: usize,
        bytes: u64,
    },
    Batches {
        at: Option<At>,
        first: u64,
        batches: u64,
        rows: u64,
        is_again: bool,
    },
    Piece {
        at: Option<At>,
        batch: u64,
        piece: usize,
        pieces: usize,
        rows: u64,
    },
    /// Of a batch.
    Join(u64),
    Read {
        location: Location,
        range: Range<u64>,
    },
    Open(Location),
    ForOp,
    ForPrepare(At),
    ForMemory,
    /// With the finished batch of this number.
    ForEarlier(u64),
    ForRoom,
    ForBytes {
        location: Location,
        offset: u64,
    },
    ForBatch(u64),
}

/// A block of a file.
#[derive(Clone, Debug)]
pub(crate) struct At {
    file: Arc<FileContext>,
    pub(crate) block: u64,
}

impl At {
    pub(crate) fn of(block: &Block) -> Self {
        At {
            file: block.file.clone(),
            block: block.index,
        }
    }

    fn first_of(plans: &[BatchPlan]) -> Option<Self> {
        let first = plans.first()?.reads.first()?;
        Some(At::of(&first.block))
    }

    pub(crate) fn location(&self) -> &Location {
        &self.file.location
    }
}

impl What {
    pub(crate) fn op(queued: &Queued) -> Self {
        let rows = queued.op.rows();
        match &queued.op {
            Op::Prepare { blocks, .. } => What::Prepare {
                // A group has a block.
                at: At::of(&blocks[0].block),
                blocks: blocks.len(),
                bytes: blocks.iter().map(|early| early.block.payload.bytes).sum(),
            },
            Op::Batches { first, plans, .. } => What::Batches {
                at: At::first_of(plans),
                first: *first,
                batches: plans.len() as u64,
                rows,
                is_again: queued.is_alone,
            },
            Op::Piece { batch, piece, .. } => What::Piece {
                at: At::first_of(&batch.pieces[*piece..]),
                batch: batch.number,
                piece: *piece,
                pieces: batch.pieces.len(),
                rows,
            },
        }
    }

    pub(crate) fn read(read: &Read) -> Self {
        What::Read {
            location: read.source.location().clone(),
            range: read.range.clone(),
        }
    }

    fn is_op(&self) -> bool {
        matches!(
            self,
            What::Prepare { .. } | What::Batches { .. } | What::Piece { .. }
        )
    }

    /// Whether it ends while the flow's lock is held, under which nothing is written.
    fn ends_locked(&self) -> bool {
        matches!(
            self,
            What::ForOp
                | What::ForPrepare(_)
                | What::ForMemory
                | What::ForEarlier(_)
                | What::ForRoom
        )
    }
}

impl Watch {
    pub(crate) fn new(workers: usize, trace: Option<&Trace>) -> Self {
        let watch = Watch {
            threads: (0..FIRST_WORKER + workers)
                .map(|_| Thread::default())
                .collect(),
            trace: trace.map(Trace::iteration),
        };
        watch.name(CONSUMER, "consumer");
        watch
    }

    /// Says that this thread is the planning thread, until the result is dropped.
    pub(crate) fn planner(&self) -> Running<'_> {
        self.name(PLANNER, "planning thread");
        self.run(PLANNER)
    }

    /// Says that this thread is worker `worker`, until the result is dropped.
    pub(crate) fn worker(&self, worker: usize) -> Running<'_> {
        self.name(FIRST_WORKER + worker, &format!("worker {worker}"));
        self.run(FIRST_WORKER + worker)
    }

    /// Says that this thread does `what`, until the result is dropped.
    pub(crate) fn begin(&self, what: What) -> Span<'_> {
        let thread = self.thread();
        if let Some(thread) = thread {
            thread.lock().spans.push((what, Instant::now()));
        }
        Span(self, thread)
    }

    /// Says that the consumer waits for batch `number`, from now on or still.
    pub(crate) fn wait_for_batch(&self, number: u64) {
        let mut state = self.threads[CONSUMER].lock();
        if state.spans.is_empty() {
            state.spans.push((What::ForBatch(number), Instant::now()));
        }
    }

    /// Says that batch `number` was given out.
    pub(crate) fn give_out(&self, number: u64, rows: u64, bytes: u64) {
        let mut state = self.threads[CONSUMER].lock();
        let waited = state.spans.pop();
        if self.trace.is_some() {
            let waited = waited.map(|(what, start)| Event::span(what, start, 0));
            state.events.extend(waited);
            state.events.push(Event::batch(number, rows, bytes));
            drop(state);
            self.write_many(CONSUMER);
        }
    }

    /// Says how much the op of this thread has leased.
    pub(crate) fn set_leased(&self, bytes: u64) {
        if let Some(thread) = self.thread() {
            thread.leased.store(bytes, Relaxed);
            if bytes > thread.most_leased.load(Relaxed) {
                thread.most_leased.store(bytes, Relaxed);
            }
        }
    }

    /// Bytes that the op of worker `worker` has leased.
    pub(crate) fn leased(&self, worker: usize) -> u64 {
        self.threads[FIRST_WORKER + worker].leased.load(Relaxed)
    }

    /// Writes the events of this thread if they are many. No lock of the pipeline may be held.
    pub(crate) fn write_some(&self) {
        if self.trace.is_some() {
            self.write_many(NUMBER.get());
        }
    }

    /// Writes all events, once the threads have ended.
    pub(crate) fn finish(&self) {
        if let Some(trace) = &self.trace {
            for (number, thread) in self.threads.iter().enumerate() {
                trace.write(number, &std::mem::take(&mut thread.lock().events));
            }
        }
    }

    /// What the consumer does, as text.
    pub(crate) fn consumer(&self) -> String {
        self.threads[CONSUMER].describe("does something else")
    }

    /// What the planning thread does, as text.
    pub(crate) fn planning(&self) -> String {
        self.threads[PLANNER].describe("frames and plans")
    }

    /// What worker `worker` does, as text; `None` if it does not run.
    pub(crate) fn work(&self, worker: usize) -> Option<String> {
        let thread = &self.threads[FIRST_WORKER + worker];
        let runs = thread
            .state
            .try_lock()
            .map_or(true, |state| state.is_running);
        runs.then(|| thread.describe("looks for an op"))
    }

    fn thread(&self) -> Option<&Thread> {
        self.threads.get(NUMBER.get())
    }

    fn run(&self, number: usize) -> Running<'_> {
        NUMBER.set(number);
        let thread = &self.threads[number];
        thread.lock().is_running = true;
        Running(thread)
    }

    fn name(&self, number: usize, name: &str) {
        if let Some(trace) = &self.trace {
            trace.name(number, name);
        }
    }

    fn write_many(&self, number: usize) {
        let (Some(trace), Some(thread)) = (&self.trace, self.threads.get(number)) else {
            return;
        };
        let mut state = thread.lock();
        if state.events.len() >= WRITTEN_TOGETHER {
            let events = std::mem::take(&mut state.events);
            drop(state);
            trace.write(number, &events);
        }
    }
}

/// A thread that runs.
#[must_use]
#[derive(Debug)]
pub(crate) struct Running<'a>(&'a Thread);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.lock().is_running = false;
    }
}

/// What a thread does, until this is dropped.
#[must_use]
#[derive(Debug)]
pub(crate) struct Span<'a>(&'a Watch, Option<&'a Thread>);

impl Drop for Span<'_> {
    fn drop(&mut self) {
        let Span(watch, Some(thread)) = self else {
            return;
        };
        let mut state = thread.lock();
        let Some((what, start)) = state.spans.pop() else {
            return;
        };
        let mut bytes = 0;
        if what.is_op() {
            thread.leased.store(0, Relaxed);
            bytes = thread.most_leased.swap(0, Relaxed);
        }
        if watch.trace.is_some() {
            let ends_locked = what.ends_locked();
            state.events.push(Event::span(what, start, bytes));
            drop(state);
            if !ends_locked {
                watch.write_some();
            }
        }
    }
}

impl Thread {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the thread does; `else_does` is what it does if it says nothing.
    fn describe(&self, else_does: &str) -> String {
        let Ok(state) = self.state.try_lock() else {
            return "busy".to_owned();
        };
        let spans = state.spans.iter().map(|(what, start)| {
            let seconds = start.elapsed().as_secs_f64();
            format!("{what} since {seconds:.3} s")
        });
        let spans: Vec<String> = spans.collect();
        match &spans[..] {
            [] => else_does.to_owned(),
            spans => spans.join("; "),
        }
    }
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            What::Prepare { at, blocks: 1, .. } => write!(f, "prepares {at}"),
            What::Prepare { at, blocks, .. } => write!(f, "prepares {blocks} blocks from {at} on"),
            What::Batches {
                at,
                first,
                batches,
                rows,
                is_again,
            } => {
                let again = if *is_again { " again" } else { "" };
                match batches {
                    1 => write!(f, "makes batch {first}{again} ({rows} rows)")?,
                    _ => {
                        let last = first + batches - 1;
                        write!(f, "makes batches {first} to {last}{again} ({rows} rows)")?
                    }
                }
                from(f, at.as_ref())
            }
            What::Piece {
                at,
                batch,
                piece,
                pieces,
                rows,
            } => {
                write!(
                    f,
                    "makes piece {piece} of {pieces} of batch {batch} ({rows} rows)"
                )?;
                from(f, at.as_ref())
            }
            What::Join(batch) => write!(f, "lays columns of batch {batch} end to end"),
            What::Read { location, range } => {
                write!(f, "reads {} from byte {} on", File(location), range.start)
            }
            What::Open(location) => write!(f, "opens {}", File(location)),
            What::ForOp => f.write_str("waits for an op"),
            What::ForPrepare(at) => write!(f, "waits until another worker has prepared {at}"),
            What::ForMemory => f.write_str("waits for memory"),
            What::ForEarlier(batch) => {
                write!(
                    f,
                    "has made batch {batch}, and waits for the batches before it"
                )
            }
            What::ForRoom => f.write_str("waits for room in the queue of ops"),
            What::ForBytes { location, offset } => {
                write!(
                    f,
                    "waits for the bytes of {} from {offset} on",
                    File(location)
                )
            }
            What::ForBatch(batch) => write!(f, "waits for batch {batch}"),
        }
    }
}

fn from(f: &mut fmt::Formatter<'_>, at: Option<&At>) -> fmt::Result {
    at.map_or(Ok(()), |at| write!(f, " from {at} on"))
}

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "block {} of {}", self.block, File(self.location()))
    }
}

struct File<'a>(&'a Location);

impl fmt::Display for File<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "'{}'", self.0.to_string().escape_debug())
    }
}
