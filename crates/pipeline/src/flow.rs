//! The state that all threads of an iteration share: the sequence of ops, and the finished batches
//! on their way to the consumer. See DESIGN.md for why no thread waits for ever.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use atds_format::CancelFlag;
use atds_sched::Costs;
use tensor_batch::Batch;

use crate::Error;
use crate::block::SharedPayload;
use crate::error::Stop;
use crate::memory::{Lease, Memory};
use crate::ops::Op;
use crate::stats::Counters;
use crate::tuning::QUEUED_OPS;

/// A batch that is given out, with the bytes that it counts for, or the error that ends the
/// iteration.
#[derive(Debug)]
pub(crate) struct Finished {
    /// The batch; `None` if the error is in its first row.
    pub(crate) batch: Option<Batch>,
    pub(crate) lease: Option<Lease>,
    /// The error that follows the batch.
    pub(crate) error: Option<Error>,
}

/// What one iteration's threads share.
#[derive(Debug)]
pub(crate) struct Flow {
    state: Mutex<State>,
    /// Wakes workers: an op can start.
    ops_changed: Condvar,
    /// Wakes the planning thread: there is room for an op, or memory.
    room_changed: Condvar,
    /// Wakes the consumer: the next batch is finished.
    batches_changed: Condvar,
    /// Wakes workers that wait for a prepare.
    prepared_changed: Condvar,
    pub(crate) cancel: CancelFlag,
    counters: Arc<Counters>,
    pub(crate) memory: Arc<Memory>,
    costs: Arc<Costs>,
    /// Number of batches that may wait for the consumer.
    prefetch: usize,
    workers: usize,
}

#[derive(Debug, Default)]
struct State {
    /// Ops that have not started, in sequence.
    queue: VecDeque<Op>,
    running: usize,
    /// The batches from the next one that is given out on; `None` while a batch is not finished.
    batches: VecDeque<Option<Finished>>,
    /// The number of the first of `batches`.
    first: u64,
    /// Number of batches at the front of `batches` that are finished.
    ready: usize,
    /// Whether the planning thread has queued its last op.
    is_planned: bool,
    /// Since when the consumer is waited for.
    full_since: Option<Instant>,
    waiting: Waiting,
}

/// Number of threads that wait, so that nobody is woken in vain.
#[derive(Debug, Default)]
struct Waiting {
    workers: usize,
    planner: Option<WaitsFor>,
    consumer: bool,
    for_prepare: usize,
}

/// What the planning thread waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WaitsFor {
    Queue,
    Memory,
}

impl State {
    /// Whether the threads have nothing to do but to wait for the planning thread.
    fn is_starved(&self) -> bool {
        self.queue.is_empty() && self.running == 0 && self.batches.is_empty()
    }

    fn count_ready(&mut self) {
        let finished = self.batches.iter().skip(self.ready);
        self.ready += finished.take_while(|batch| batch.is_some()).count();
    }
}

impl Flow {
    pub(crate) fn new(
        memory: Arc<Memory>,
        costs: Arc<Costs>,
        counters: Arc<Counters>,
        prefetch: usize,
        workers: usize,
    ) -> Self {
        Flow {
            state: Mutex::default(),
            ops_changed: Condvar::new(),
            room_changed: Condvar::new(),
            batches_changed: Condvar::new(),
            prepared_changed: Condvar::new(),
            cancel: CancelFlag::default(),
            counters,
            memory,
            costs,
            prefetch: prefetch.max(1),
            workers,
        }
    }

    /// Ends all waiting, for good.
    pub(crate) fn stop(&self) {
        self.cancel.set();
        // Locked so that no thread is between its check and its wait.
        let mut state = self.lock();
        let queue = std::mem::take(&mut state.queue);
        drop(state);
        drop(queue);
        for condition in [
            &self.ops_changed,
            &self.room_changed,
            &self.batches_changed,
            &self.prepared_changed,
        ] {
            condition.notify_all();
        }
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.cancel.is_set()
    }

    // The planning thread.

    /// Queues an op, with the number of batches that it begins. Waits while enough ops wait.
    pub(crate) fn push(&self, op: Op, batches: usize) -> Result<(), Stop> {
        let mut state = self.lock();
        while !self.is_stopped() && state.queue.len() >= self.most_queued() {
            state = self.wait_for_room(state, WaitsFor::Queue);
        }
        // After an error nothing more is given out.
        if self.is_stopped() || state.is_planned {
            return Err(Stop::Cancelled);
        }
        for _ in 0..batches {
            state.batches.push_back(None);
        }
        state.queue.push_back(op);
        let wakes = state.waiting.workers > 0 && self.may_start(&state);
        drop(state);
        if wakes {
            self.ops_changed.notify_one();
        }
        Ok(())
    }

    /// Waits until there is memory for `bytes` more that no batch needs yet, at most `ahead` of
    /// them. What the next batch cannot do without gets all memory that is left.
    pub(crate) fn wait_for_memory(&self, bytes: u64, ahead: u64) -> Result<(), Stop> {
        if self.memory.held().saturating_add(bytes) <= ahead {
            return Ok(());
        }
        let mut state = self.lock();
        loop {
            if self.is_stopped() {
                return Err(Stop::Cancelled);
            }
            if self.memory.held().saturating_add(bytes) <= ahead {
                return Ok(());
            }
            if state.is_starved() {
                if self.memory.fits(bytes) {
                    return Ok(());
                }
                let needed = self.memory.held().saturating_add(bytes);
                return Err(Stop::Failed(self.memory.exceeded(needed)));
            }
            state = self.wait_for_room(state, WaitsFor::Memory);
        }
    }

    /// Whether the workers and the consumer wait for the planning thread.
    pub(crate) fn is_starved(&self) -> bool {
        self.lock().is_starved()
    }

    /// Says that all ops are queued; `error` follows the last batch.
    pub(crate) fn end(&self, error: Option<Error>) {
        let mut state = self.lock();
        if let Some(error) = error {
            state.batches.push_back(Some(Finished {
                batch: None,
                lease: None,
                error: Some(error),
            }));
            state.count_ready();
        }
        state.is_planned = true;
        drop(state);
        self.batches_changed.notify_all();
        self.ops_changed.notify_all();
    }

    fn wait_for_room<'a>(
        &self,
        mut state: MutexGuard<'a, State>,
        waits_for: WaitsFor,
    ) -> MutexGuard<'a, State> {
        state.waiting.planner = Some(waits_for);
        let mut state = wait(&self.room_changed, state);
        state.waiting.planner = None;
        state
    }

    /// Number of ops that may wait to start: few until the first is measured, since the sizes of ops
    /// follow from what is measured.
    fn most_queued(&self) -> usize {
        match self.costs.is_measured() {
            true => self.workers * QUEUED_OPS,
            false => self.workers,
        }
    }

    /// Whether to wake the planning thread. It queues several ops when it is awake, since waking it
    /// takes longer than planning an op.
    fn wakes_planner(&self, state: &State) -> bool {
        match state.waiting.planner {
            None => false,
            Some(WaitsFor::Queue) => state.queue.len() <= self.most_queued() / 2,
            Some(WaitsFor::Memory) => true,
        }
    }

    // Workers.

    /// The next op, waited for; `None` if there are no more.
    pub(crate) fn next_op(&self) -> Option<Op> {
        let mut state = self.lock();
        loop {
            if self.is_stopped() {
                return None;
            }
            if self.may_start(&state) {
                let op = state.queue.pop_front()?;
                state.running += 1;
                let wakes = state.waiting.workers > 0 && self.may_start(&state);
                let planner = self.wakes_planner(&state);
                drop(state);
                if wakes {
                    self.ops_changed.notify_one();
                }
                if planner {
                    self.room_changed.notify_one();
                }
                return Some(op);
            }
            if state.is_planned && state.queue.is_empty() {
                return None;
            }
            state.waiting.workers += 1;
            state = wait(&self.ops_changed, state);
            state.waiting.workers -= 1;
        }
    }

    /// Whether the first op of the queue can start.
    fn may_start(&self, state: &State) -> bool {
        let Some(op) = state.queue.front() else {
            return false;
        };
        if state.ready >= self.prefetch && !op.is_prepare() {
            return false;
        }
        // The earliest op starts in any case.
        self.memory.fits(op.estimate()) || state.running == 0 && state.ready == 0
    }

    /// Gives a batch of a running op to the consumer's side. The consumer is woken if `wakes`: for
    /// small batches, waking it takes longer than making one.
    pub(crate) fn finish_batch(&self, number: u64, finished: Finished, wakes: bool) {
        let mut state = self.lock();
        let Some(at) = number.checked_sub(state.first) else {
            return;
        };
        let is_error = finished.error.is_some();
        let Some(slot) = state.batches.get_mut(at as usize) else {
            return;
        };
        *slot = Some(finished);
        if is_error {
            // Nothing after it is given out.
            state.batches.truncate(at as usize + 1);
            state.ready = state.ready.min(at as usize + 1);
            state.queue.clear();
            state.is_planned = true;
        }
        state.count_ready();
        let wakes = (wakes || is_error) && state.waiting.consumer && state.ready > 0;
        let planner = self.wakes_planner(&state);
        drop(state);
        if wakes {
            self.batches_changed.notify_one();
        }
        if planner {
            self.room_changed.notify_one();
        }
    }

    /// An error if more memory is held than the limit, and none of it will be returned before the
    /// caller's op ends.
    pub(crate) fn check_memory(&self) -> Result<(), Error> {
        if self.memory.fits(0) {
            return Ok(());
        }
        let state = self.lock();
        if state.running == 1 && state.ready == 0 {
            return Err(self.memory.exceeded(self.memory.held()));
        }
        Ok(())
    }

    /// Ends a running op.
    pub(crate) fn finish_op(&self) {
        let mut state = self.lock();
        state.running -= 1;
        if state.running == 0 && state.ready >= self.prefetch && !state.queue.is_empty() {
            state.full_since = Some(Instant::now());
        }
        let consumer = state.waiting.consumer && state.ready > 0;
        let planner = self.wakes_planner(&state);
        let workers = state.waiting.workers > 0 && self.may_start(&state);
        drop(state);
        if consumer {
            self.batches_changed.notify_one();
        }
        if planner {
            self.room_changed.notify_one();
        }
        if workers {
            self.ops_changed.notify_one();
        }
    }

    /// Wakes the workers that wait for a payload that was just prepared.
    pub(crate) fn notify_prepared(&self) {
        let waits = self.lock().waiting.for_prepare > 0;
        if waits {
            self.prepared_changed.notify_all();
        }
    }

    /// Waits until `payload` is prepared by the worker that has claimed it.
    pub(crate) fn wait_for_prepare(&self, payload: &SharedPayload) -> Result<(), Stop> {
        let mut state = self.lock();
        while payload.prepared().is_none() {
            if self.is_stopped() {
                return Err(Stop::Cancelled);
            }
            state.waiting.for_prepare += 1;
            state = wait(&self.prepared_changed, state);
            state.waiting.for_prepare -= 1;
        }
        Ok(())
    }

    // The consumer.

    /// The next finished batch, waited for until `deadline`.
    pub(crate) fn next_batch(&self, deadline: Option<Instant>) -> NextBatch {
        let mut state = self.lock();
        loop {
            if state.ready > 0 {
                state.ready -= 1;
                state.first += 1;
                if let Some(since) = state.full_since.take() {
                    self.counters.consumer_wait.add(since.elapsed());
                }
                let mut finished = state.batches.pop_front().flatten();
                let workers = state.waiting.workers;
                let planner = self.wakes_planner(&state);
                drop(state);
                // Before those that wait for memory are woken.
                drop(finished.as_mut().map(|finished| finished.lease.take()));
                if workers > 0 {
                    self.ops_changed.notify_one();
                }
                if planner {
                    self.room_changed.notify_one();
                }
                return finished.map_or(NextBatch::End, |batch| NextBatch::Batch(Box::new(batch)));
            }
            if self.is_stopped() || state.is_planned && state.batches.is_empty() {
                return NextBatch::End;
            }
            let left = deadline.map(|at| at.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                return NextBatch::NotYet;
            }
            state.waiting.consumer = true;
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

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What the consumer gets.
#[derive(Debug)]
pub(crate) enum NextBatch {
    Batch(Box<Finished>),
    /// The batch is not finished in time.
    NotYet,
    /// There are no more batches.
    End,
}

fn wait<'a, T>(condition: &Condvar, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
    let woken = condition.wait(guard);
    woken.unwrap_or_else(PoisonError::into_inner)
}
