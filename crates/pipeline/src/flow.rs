//! The state that all threads of an iteration share: the sequence of ops, and the finished batches
//! on their way to the consumer.
//!
//! No thread waits for ever (DESIGN.md has the whole argument). Ops start in sequence. The first of the
//! queue can always start once no other runs and no batch is ready, if need be without memory
//! (`start_lease`). Of ops that have started, only one that runs alone waits for memory, and only the
//! consumer can be in its way; others give back what they made and run again alone. A finished batch waits
//! for those before it, whose ops have started: else it is given back, too. A worker may wait for a payload
//! that another has claimed. That one prepares it at once, and waits for no other thread; in an op that
//! runs alone, it may wait for the consumer to take what is ready. Workers do reads of files, and joins,
//! before ops, and a join counts as an op that runs. The planning thread waits for room in the queue, which
//! comes when ops start, for memory, before which it queues all that it has planned, and for bytes, which it
//! reads itself unless all workers have an op to come to (`take_read`). An op's memory is
//! free before the op has ended, and its end wakes the planning thread.

mod describe;
mod planning;
mod waking;
mod working;

use std::collections::{BTreeSet, VecDeque};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, PoisonError, Weak};
use std::task::Poll;
use std::time::Duration;

use atds_sched::Costs;
use tensor_batch::{Batch, BatchSpec};

use crate::builders::Builders;
use crate::damage::LeftOut;
use crate::memory::{Lease, Memory};
use crate::need::{Need, Windows};
use crate::ops::{FileRead, Queued};
use crate::pieces::Join;
use crate::replay::Position;
use crate::stats::Counters;
use crate::sync::{AtomicU64, Condvar, Instant, Mutex, MutexGuard};
use crate::watch::Watch;
use crate::workers::Threads;
use crate::{Error, Options, delays};

/// A batch that is given out, with the bytes that it counts for, or the error that ends the
/// iteration.
#[derive(Debug)]
pub(crate) struct Finished {
    /// The batch; `None` if the error is in its first row, if a batch with a bad row is dropped, or if it
    /// does not fit the memory limit.
    pub(crate) batch: Option<Batch>,
    pub(crate) lease: Option<Lease>,
    /// The error that follows the batch.
    pub(crate) error: Option<Error>,
    /// The memory that the batch and its window need; `None` for an error of the planning thread.
    pub(crate) need: Option<Need>,
    /// What was left out of the batch.
    pub(crate) left_out: LeftOut,
}

impl Finished {
    pub(crate) fn without_batch(error: Option<Error>, need: Option<Need>) -> Self {
        Finished {
            batch: None,
            lease: None,
            error,
            need,
            left_out: LeftOut::default(),
        }
    }
}

/// Why a thread that asks for memory does not get it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Denied {
    /// The iteration is stopped.
    Cancelled,
    /// The op gives back what it made, and runs again when no other does.
    Again,
    /// There is nothing to wait for: the batch and its window do not fit.
    Exceeded,
}

/// What one iteration's threads share.
#[derive(Debug)]
pub(crate) struct Flow {
    state: Mutex<State>,
    /// Wake one worker each: it has work.
    worker_changed: Box<[Condvar]>,
    /// The flow itself, for the threads that it starts.
    pub(crate) this: Weak<Flow>,
    pub(crate) threads: Mutex<Threads>,
    pub(crate) builders: Arc<Builders>,
    /// Wakes the planning thread: there is room for an op, or memory.
    room_changed: Condvar,
    /// Wakes the consumer: the next batch is finished.
    batches_changed: Condvar,
    /// Wakes workers that wait for a prepare.
    prepared_changed: Condvar,
    pub(crate) cancel: Arc<AtomicBool>,
    pub(crate) counters: Arc<Counters>,
    /// Wakes workers that wait for batches before theirs, or for the consumer to take some.
    turn_changed: Condvar,
    pub(crate) memory: Arc<Memory>,
    /// What each thread does.
    pub(crate) watch: Watch,
    /// Of the first batch that was drawn and is not queued: the bytes of all payloads until then.
    unqueued_total: AtomicU64,
    pub(crate) costs: Arc<Costs>,
    pub(crate) options: Options,
}

#[derive(Debug, Default)]
struct State {
    /// Ops that have not started, in sequence.
    queue: VecDeque<Queued>,
    /// Reads that have not started.
    reads: VecDeque<FileRead>,
    /// Joins that have not started.
    joins: VecDeque<Join>,
    /// The number of the next op in the sequence.
    next_seq: u64,
    /// Number of ops and joins that run, and of joins that wait to.
    running: usize,
    /// The workers that wait for work. The first is woken first: so the same few workers make the
    /// batches of a slow consumer, and the others sleep.
    parked: BTreeSet<usize>,
    /// Number of workers that were started or woken and have not looked for work since. Such a worker is
    /// sure to look at the queue, so that no other is woken for the same work. Whatever adds work or
    /// ends an op calls `next_worker`; an op that is to run again adds some as it ends.
    looking: usize,
    /// Number of workers that were started.
    started: usize,
    /// Whether the op that runs does so alone.
    is_alone: bool,
    /// The batches from the next one that is given out on; `None` while a batch is not finished.
    batches: VecDeque<Option<Finished>>,
    /// For each of `batches`, the bytes of all payloads until it was drawn.
    totals: VecDeque<u64>,
    /// The number of the first of `batches`.
    first: u64,
    /// The positions at which epochs begin, with the numbers of their first batches: from that of the last
    /// batch given out on.
    epochs: VecDeque<(u64, Position)>,
    /// Number of batches that would come without the planning thread's error, too: those after it were drawn
    /// from what is before the error.
    sound: Option<u64>,
    /// Number of batches at the front of `batches` that are finished.
    ready: usize,
    /// What the windows of the batches hold.
    windows: Windows,
    /// Whether the planning thread has queued its last op.
    is_planned: bool,
    /// When the consumer took the last batch, until it asks for the next.
    given: Option<Instant>,
    /// The time that the consumer takes for a batch, on average.
    pace: Option<Duration>,
    /// Since when the consumer is waited for.
    full_since: Option<Instant>,
    /// Whether an error ends the iteration after the last of `batches`.
    has_failed: bool,
    waiting: Waiting,
}

/// Number of threads that wait, so that nobody is woken in vain.
#[derive(Debug, Default)]
struct Waiting {
    planning_thread: Option<WaitsFor>,
    consumer: bool,
    for_prepare: usize,
    for_turn: usize,
}

/// What the planning thread waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WaitsFor {
    Queue,
    Memory,
}

impl State {
    /// Whether there is something to do before any op.
    fn is_urgent(&self) -> bool {
        !self.reads.is_empty() || !self.joins.is_empty()
    }

    /// Whether the threads have nothing to do but to wait for the planning thread.
    fn is_starved(&self) -> bool {
        self.queue.is_empty() && self.running == 0 && self.batches.is_empty()
    }

    /// Takes the finished batches at the front as ready. The first whose window and batch are larger
    /// than the limit allows becomes an error, whatever was free when it was made.
    fn count_ready(&mut self, memory: &Memory) {
        while let Some(Some(finished)) = self.batches.get_mut(self.ready) {
            if let Some(need) = finished.need.take() {
                need.end_early(memory);
                if let Err(error) = self.windows.pass(&need, memory) {
                    *finished = Finished::without_batch(Some(error), None);
                }
            }
            self.ready += 1;
            if finished.error.is_some() {
                self.fail();
            }
        }
    }

    /// Ends the iteration after the batches that are ready, the last of which has an error.
    fn fail(&mut self) {
        self.batches.truncate(self.ready);
        self.queue.clear();
        self.is_planned = true;
        self.has_failed = true;
    }
}

impl Flow {
    pub(crate) fn new(options: Options, spec: BatchSpec) -> Arc<Self> {
        let in_turns = options.turns().is_some_and(|turns| turns.cycle_length > 1);
        let memory = Arc::new(Memory::new(options.memory_limit, in_turns));
        let costs = options.costs.clone().unwrap_or_default();
        let spare = options.spare.clone().unwrap_or_default();
        let counters = Counters::new(memory.clone(), costs.clone(), &options);
        Arc::new_cyclic(|this: &Weak<Flow>| Flow {
            state: Mutex::default(),
            worker_changed: (0..options.threads).map(|_| Condvar::new()).collect(),
            this: this.clone(),
            threads: Mutex::default(),
            builders: Builders::new(memory.clone(), spec, options.threads, spare),
            room_changed: Condvar::new(),
            batches_changed: Condvar::new(),
            prepared_changed: Condvar::new(),
            cancel: Arc::default(),
            counters: Arc::new(counters),
            turn_changed: Condvar::new(),
            memory,
            watch: Watch::new(options.threads, options.trace.as_ref()),
            unqueued_total: AtomicU64::new(u64::MAX),
            costs,
            options,
        })
    }

    /// Ends all waiting, for good.
    pub(crate) fn stop(&self) {
        self.cancel.store(true, Relaxed);
        // Locked so that no thread is between its check and its wait.
        let mut state = self.lock();
        let queue = std::mem::take(&mut state.queue);
        let reads = std::mem::take(&mut state.reads);
        let joins = std::mem::take(&mut state.joins);
        drop(state);
        // Finished batches go with the flow.
        drop((queue, joins));
        self.wake_all();
        for read in reads {
            // The planning thread waits for it.
            read.done.complete(Err(io::Error::other("cancelled")));
        }
        for condition in [
            &self.room_changed,
            &self.batches_changed,
            &self.prepared_changed,
            &self.turn_changed,
        ] {
            condition.notify_all();
        }
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.cancel.load(Relaxed)
    }

    // The consumer.

    /// The next finished batch, waited for until `deadline`; `None` if there are no more.
    pub(crate) fn next_batch(&self, deadline: Option<Instant>) -> Poll<Option<Finished>> {
        let mut state = self.lock();
        let mut woken = 0;
        if let Some(given) = state.given.take() {
            let (took, before) = (given.elapsed(), state.pace);
            let pace = before.map_or(took, |before| (7 * before + took) / 8);
            state.pace = Some(pace);
            self.counters.note(|stats| stats.pace = Some(pace));
        }
        loop {
            if state.ready > 0 {
                state.ready -= 1;
                state.first += 1;
                state.given = Some(Instant::now());
                if let Some(since) = state.full_since.take() {
                    let waited = since.elapsed();
                    self.counters.note(|stats| stats.consumer_wait += waited);
                }
                let mut finished = state.batches.pop_front().flatten();
                state.totals.pop_front();
                // It is the consumer's. Counted out here, where those that wait for memory look.
                let lease = finished.as_mut().and_then(|finished| finished.lease.take());
                let (number, bytes) = (state.first - 1, lease.as_ref().map_or(0, Lease::bytes));
                drop(lease);
                let turn = state.waiting.for_turn > 0;
                self.unlock(state, false);
                if turn {
                    self.turn_changed.notify_all();
                }
                if let Some(batch) = finished
                    .as_ref()
                    .and_then(|finished| finished.batch.as_ref())
                {
                    self.watch.give_out(number, batch.rows() as u64, bytes);
                }
                return Poll::Ready(finished);
            }
            if self.is_stopped() || state.is_planned && state.batches.is_empty() {
                return Poll::Ready(None);
            }
            let left = deadline.map(|at| at.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                return Poll::Pending;
            }
            state.waiting.consumer = true;
            self.watch.wait_for_batch(state.first);
            // Each once: without memory for an op they park again.
            if woken < self.options.threads
                && let Some(worker) = self.next_worker(&mut state)
            {
                woken += 1;
                drop(state);
                self.wake(Some(worker));
                state = self.lock();
                state.waiting.consumer = false;
                continue;
            }
            state = match left {
                None => wait(&self.batches_changed, state),
                Some(left) => {
                    let waited = self.batches_changed.wait_timeout(state, left);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
            };
            state.waiting.consumer = false;
        }
    }

    /// The position after the last batch that was given out, but for `less` batches; `None` before the first
    /// epoch.
    pub(crate) fn position(&self, less: u64) -> Option<Position> {
        let state = self.lock();
        let given = state.first - less;
        let given = state.sound.map_or(given, |sound| given.min(sound));
        let begun = state.epochs.iter().take_while(|(first, _)| *first < given);
        let (first, start) = *begun.last().or(state.epochs.front())?;
        Some(Position {
            batches: start.batches + (given - first),
            ..start
        })
    }

    #[track_caller]
    fn lock(&self) -> MutexGuard<'_, State> {
        delays::hand_over();
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn wait<'a, T>(condition: &Condvar, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
    let woken = condition.wait(guard);
    woken.unwrap_or_else(PoisonError::into_inner)
}
