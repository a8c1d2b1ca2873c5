//! The state that all threads of an iteration share: the sequence of ops, and the finished batches
//! on their way to the consumer. See DESIGN.md for why no thread waits for ever.

mod describe;
mod waking;

use std::collections::VecDeque;
use std::io;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, PoisonError, Weak};
use std::time::Duration;

use atds_format::CancelFlag;
use atds_sched::Costs;
use tensor_batch::Batch;

use crate::block::SharedPayload;
use crate::delays;
use crate::error::Stop;
use crate::memory::{Lease, Memory};
use crate::need::{Need, Windows};
use crate::ops::{Op, Queued, Read, Work};
use crate::stats::Counters;
use crate::sync::{AtomicU64, Condvar, Instant, Mutex, MutexGuard, OnceLock};
use crate::tuning::{PIECE_TIME, QUEUED_OPS};
use crate::watch::{Watch, What};
use crate::workers::Workers;
use crate::{Error, Options};

/// A batch that is given out, with the bytes that it counts for, or the error that ends the
/// iteration.
#[derive(Debug)]
pub(crate) struct Finished {
    /// The batch; `None` if the error is in its first row.
    pub(crate) batch: Option<Batch>,
    pub(crate) lease: Option<Lease>,
    /// The error that follows the batch.
    pub(crate) error: Option<Error>,
    /// The memory that the batch and its window need; `None` for an error without a batch.
    pub(crate) need: Option<Need>,
}

impl Finished {
    /// A batch, and the error of the row after it, if that is bad.
    pub(crate) fn batch(batch: Batch, lease: Lease, error: Option<Error>, need: Need) -> Self {
        Finished {
            batch: Some(batch),
            lease: Some(lease),
            error,
            need: Some(need),
        }
    }

    /// An error without a batch.
    pub(crate) fn error(error: Option<Error>, need: Option<Need>) -> Self {
        Finished {
            batch: None,
            lease: None,
            error,
            need,
        }
    }
}

/// Why an op that asks for memory does not get it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Denied {
    /// The iteration is stopped.
    Cancelled,
    /// The op gives back what it made, and runs again when no other does.
    Again,
    /// No other op runs: the batch and its window do not fit.
    Exceeded,
}

/// Why the planning thread gets no memory.
#[derive(Clone, Copy, Debug)]
pub(crate) enum NoLease {
    /// The iteration is stopped.
    Cancelled,
    /// All threads wait for it, and the window does not fit, of which these are the prepared payloads.
    Exceeded { prepared: u64 },
}

/// What one iteration's threads share.
#[derive(Debug)]
pub(crate) struct Flow {
    state: Mutex<State>,
    /// Wake one worker each: it has work.
    worker_changed: Box<[Condvar]>,
    /// The workers, to start one; they own the flow.
    starts: OnceLock<Weak<Workers>>,
    /// Wakes the planning thread: there is room for an op, or memory.
    room_changed: Condvar,
    /// Wakes the consumer: the next batch is finished.
    batches_changed: Condvar,
    /// Wakes workers that wait for a prepare.
    prepared_changed: Condvar,
    pub(crate) cancel: CancelFlag,
    pub(crate) counters: Arc<Counters>,
    /// Wakes workers that wait for batches before theirs, or for the consumer to take some.
    turn_changed: Condvar,
    pub(crate) memory: Arc<Memory>,
    /// What each thread does.
    pub(crate) watch: Watch,
    /// The bytes of all payloads until the first batch was drawn that is not queued yet.
    unqueued: AtomicU64,
    pub(crate) costs: Arc<Costs>,
    /// Bytes of read buffers that are used in part.
    partly_used: u64,
    /// Number of batches that may wait for the consumer.
    prefetch: usize,
    /// Number of rows of a batch.
    batch_rows: u64,
    workers: usize,
    /// Whether fewer workers work if these do as well.
    is_automatic: bool,
    /// The seed of delays, in tests.
    pub(crate) delays: Option<u64>,
}

#[derive(Debug, Default)]
struct State {
    /// Ops that have not started, in sequence.
    queue: VecDeque<Queued>,
    /// Reads that have not started.
    reads: VecDeque<Read>,
    /// The number of the next op in the sequence.
    next_seq: u64,
    running: usize,
    /// The workers that wait for work, the last of which is woken first: so few workers make the
    /// batches of a slow consumer, and the others sleep.
    parked: Vec<usize>,
    /// Number of workers that were started or woken and have not looked for work since.
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
    planner: Option<WaitsFor>,
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
                    *finished = Finished::error(Some(error), None);
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
    pub(crate) fn new(
        memory: Arc<Memory>,
        costs: Arc<Costs>,
        read_size: usize,
        options: &Options,
    ) -> Self {
        let workers = options.threads.max(1);
        let counters = Counters::new(memory.clone(), costs.clone(), workers, options);
        Flow {
            state: Mutex::default(),
            worker_changed: (0..workers).map(|_| Condvar::new()).collect(),
            starts: OnceLock::new(),
            room_changed: Condvar::new(),
            batches_changed: Condvar::new(),
            prepared_changed: Condvar::new(),
            cancel: CancelFlag::default(),
            counters: Arc::new(counters),
            turn_changed: Condvar::new(),
            memory,
            watch: Watch::new(workers, options.trace.as_ref()),
            unqueued: AtomicU64::new(u64::MAX),
            costs,
            partly_used: 2 * read_size as u64,
            prefetch: options.prefetch.max(1),
            batch_rows: options.batch_size.max(1) as u64,
            is_automatic: options.automatic,
            workers,
            delays: options.delays,
        }
    }

    /// Ends all waiting, for good.
    pub(crate) fn stop(&self) {
        self.cancel.set();
        // Locked so that no thread is between its check and its wait.
        let mut state = self.lock();
        let queue = std::mem::take(&mut state.queue);
        let reads = std::mem::take(&mut state.reads);
        drop(state);
        drop(queue);
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
        self.cancel.is_set()
    }

    // The planning thread.

    /// Has a worker do `read`, before any op. Returns at once.
    pub(crate) fn read(&self, read: Read) {
        let mut state = self.lock();
        state.reads.push_back(read);
        let worker = self.next_worker(&mut state);
        drop(state);
        self.wake(worker);
    }

    /// The next read that no worker has begun.
    pub(crate) fn take_read(&self) -> Option<Read> {
        self.lock().reads.pop_front()
    }

    /// Queues an op, with the bytes of all payloads until each batch that it begins was drawn. Waits
    /// while enough ops wait.
    pub(crate) fn push(&self, op: Op, totals: &[u64]) -> Result<(), Stop> {
        let mut state = self.lock();
        while !self.is_stopped() && state.queue.len() >= self.most_queued(&state) {
            state = self.wait_for_room(state, WaitsFor::Queue);
        }
        // After an error nothing more is given out.
        if self.is_stopped() || state.is_planned {
            return Err(Stop::Cancelled);
        }
        for &total in totals {
            state.batches.push_back(None);
            state.totals.push_back(total);
        }
        let seq = state.next_seq;
        state.next_seq += 1;
        state.queue.push_back(Queued {
            seq,
            op,
            is_alone: false,
        });
        // Whether its memory is there is found by the worker.
        let worker = self.next_worker(&mut state);
        drop(state);
        self.wake(worker);
        self.watch.write_some();
        Ok(())
    }

    /// Says which of the batches that were drawn is the first that is not queued, by the bytes of all
    /// payloads until then.
    pub(crate) fn set_unqueued(&self, total: Option<u64>) {
        self.unqueued.store(total.unwrap_or(u64::MAX), Relaxed);
    }

    /// A lease of `bytes` for a payload or a read, if there is memory for it. `total` are the bytes of
    /// all payloads and reads before.
    pub(crate) fn try_lease_ahead(&self, total: u64, bytes: u64) -> Option<Lease> {
        let is_ahead = self.is_ahead(&self.lock(), total, bytes);
        is_ahead
            .then(|| Lease::try_new(&self.memory, bytes))
            .flatten()
    }

    /// The same, waited for. What the next batch cannot do without may take all that is left. So that
    /// memory comes back, all that was planned must be queued.
    pub(crate) fn lease_ahead(&self, total: u64, bytes: u64) -> Result<Lease, NoLease> {
        let mut state = self.lock();
        loop {
            if self.is_stopped() || state.has_failed {
                return Err(NoLease::Cancelled);
            }
            let is_starved = state.is_starved();
            if (is_starved || self.is_ahead(&state, total, bytes))
                && let Some(lease) = Lease::try_new(&self.memory, bytes)
            {
                return Ok(lease);
            }
            if is_starved {
                let prepared = state.windows.prepared();
                return Err(NoLease::Exceeded { prepared });
            }
            state = self.wait_for_room(state, WaitsFor::Memory);
        }
    }

    /// Whether `bytes` more are not too much ahead of the first batch that is not finished.
    fn is_ahead(&self, state: &State, total: u64, bytes: u64) -> bool {
        let unqueued = self.unqueued.load(Relaxed);
        let until = state.totals.get(state.ready).copied().unwrap_or(unqueued);
        let ahead = total.saturating_sub(until) + self.partly_used;
        let ahead = ahead.saturating_add(bytes);
        // Without an unfinished batch, the next to be drawn needs it.
        until == u64::MAX || ahead <= self.memory.ahead_limit()
    }

    /// Whether there are several workers.
    pub(crate) fn has_workers(&self) -> bool {
        self.workers > 1
    }

    /// Whether the workers and the consumer wait for the planning thread.
    pub(crate) fn is_starved(&self) -> bool {
        self.lock().is_starved()
    }

    /// Says that all ops are queued; `error` follows the last batch.
    pub(crate) fn end(&self, error: Option<Error>) {
        let mut state = self.lock();
        if let Some(error) = error {
            let finished = Finished::error(Some(error), None);
            state.batches.push_back(Some(finished));
            state.count_ready(&self.memory);
        }
        state.is_planned = true;
        // What was read ahead of an error.
        let reads = std::mem::take(&mut state.reads);
        drop(state);
        drop(reads);
        self.batches_changed.notify_all();
        self.wake_all();
    }

    /// Time that the planning thread has waited.
    pub(crate) fn planner_waited(&self) -> Duration {
        self.counters.room_wait.get() + self.counters.read_wait.get()
    }

    fn wait_for_room<'a>(
        &self,
        mut state: MutexGuard<'a, State>,
        waits_for: WaitsFor,
    ) -> MutexGuard<'a, State> {
        state.waiting.planner = Some(waits_for);
        let _waits = self.watch.begin(match waits_for {
            WaitsFor::Queue => What::ForRoom,
            WaitsFor::Memory => What::ForMemory,
        });
        let room_wait = &self.counters.room_wait;
        let mut state = room_wait.time(|| wait(&self.room_changed, state));
        state.waiting.planner = None;
        state
    }

    /// Number of ops that may wait to start: few until the first is measured, since the sizes of ops
    /// follow from what is measured, and few that take long, since others are planned meanwhile.
    fn most_queued(&self, state: &State) -> usize {
        let is_long = |queued: &Queued| queued.op.rows() > self.costs.rows_in(PIECE_TIME);
        match self.costs.is_measured() && !state.queue.back().is_some_and(is_long) {
            true => self.workers * QUEUED_OPS,
            false => self.workers,
        }
    }

    /// Whether to wake the planning thread. It queues several ops when it is awake, since waking it
    /// takes longer than planning an op.
    fn wakes_planner(&self, state: &State) -> bool {
        match state.waiting.planner {
            None => false,
            Some(WaitsFor::Queue) => state.queue.len() <= self.most_queued(state) / 2,
            Some(WaitsFor::Memory) => true,
        }
    }

    // Workers.

    /// The next read, or the next op with a lease of what it is estimated to need, waited for; `None`
    /// if there are no more.
    pub(crate) fn next_work(&self, worker: usize) -> Option<Work> {
        let mut state = self.lock();
        loop {
            if self.is_stopped() {
                return None;
            }
            if let Some(read) = state.reads.pop_front() {
                let next = self.next_worker(&mut state);
                drop(state);
                self.wake(next);
                return Some(Work::Read(read));
            }
            if self.may_start(&state)
                && let Some(lease) = self.start_lease(&state)
            {
                let queued = state.queue.pop_front()?;
                state.running += 1;
                if queued.is_alone {
                    state.is_alone = true;
                    self.memory.set_scarce(true);
                }
                let next = self.next_worker(&mut state);
                let planner = self.wakes_planner(&state);
                drop(state);
                self.wake(next);
                if planner {
                    self.room_changed.notify_one();
                }
                return Some(Work::Op(queued, lease));
            }
            if state.is_planned && state.queue.is_empty() {
                return None;
            }
            state.parked.push(worker);
            let _waits = self.watch.begin(What::ForOp);
            while state.parked.contains(&worker) {
                state = wait(&self.worker_changed[worker], state);
            }
            state.looking -= 1;
        }
    }

    /// Whether a worker has something to do, if its memory is there.
    fn has_work(&self, state: &State) -> bool {
        !state.reads.is_empty() || self.may_start(state)
    }

    /// Whether the first op of the queue can start, if its memory is there.
    fn may_start(&self, state: &State) -> bool {
        let Some(queued) = state.queue.front() else {
            return false;
        };
        if state.ready >= self.prefetch && !queued.op.is_prepare() {
            return false;
        }
        state.running == 0
            || !state.is_alone && !queued.is_alone && state.running < self.wanted(state)
    }

    /// A lease of what the first op of the queue is estimated to need. Where no op runs, and for what
    /// can be left out, nothing is fine.
    fn start_lease(&self, state: &State) -> Option<Lease> {
        let queued = state.queue.front()?;
        if queued.is_alone || queued.op.is_prepare() {
            return Some(Lease::none(&self.memory));
        }
        let lease = Lease::try_new(&self.memory, queued.op.estimate());
        let is_next = state.running == 0 && state.ready == 0;
        lease.or_else(|| is_next.then(|| Lease::none(&self.memory)))
    }

    /// Grows the lease of a running op to `bytes`.
    pub(crate) fn grow(&self, lease: &mut Lease, bytes: u64, is_alone: bool) -> Result<(), Denied> {
        if lease.try_grow(bytes) {
            return Ok(());
        }
        if !is_alone {
            return Err(Denied::Again);
        }
        let mut state = self.lock();
        loop {
            if self.is_stopped() || state.has_failed {
                return Err(Denied::Cancelled);
            }
            if lease.try_grow(bytes) {
                return Ok(());
            }
            if state.ready == 0 {
                return Err(Denied::Exceeded);
            }
            // Batches that are ready are in the way, until the consumer takes them.
            state = self.wait_for_turn(state, What::ForMemory);
        }
    }

    /// Waits until no batch is ready. Returns whether any was.
    pub(crate) fn wait_for_consumer(&self) -> Result<bool, Denied> {
        let mut state = self.lock();
        let has_ready = state.ready > 0;
        while state.ready > 0 {
            if self.is_stopped() || state.has_failed {
                return Err(Denied::Cancelled);
            }
            state = self.wait_for_turn(state, What::ForMemory);
        }
        Ok(has_ready)
    }

    /// Gives a batch of op `seq` to the consumer's side, unless memory is so scarce that it must be
    /// made again. A batch before which others are missing counts as made early, and waits here if too
    /// much is. The consumer is woken if `wakes`: for small batches, waking it takes longer than making
    /// one.
    pub(crate) fn finish_batch(
        &self,
        seq: u64,
        number: u64,
        mut finished: Finished,
        wakes: bool,
    ) -> Result<(), Denied> {
        let mut state = self.lock();
        let at = loop {
            let at = number.checked_sub(state.first);
            let at = at.filter(|&at| at < state.batches.len() as u64);
            let Some(at) = at.filter(|_| !self.is_stopped()) else {
                return Err(Denied::Cancelled);
            };
            let bytes = finished.lease.as_ref().map_or(0, Lease::bytes);
            if at == state.ready as u64 {
                break at;
            }
            if self.memory.try_add_early(bytes) {
                match &mut finished.need {
                    Some(need) => need.early += bytes,
                    None => self.memory.remove_early(bytes),
                }
                break at;
            }
            if state.queue.front().is_some_and(|first| first.seq < seq) {
                // An earlier op waits until no other runs.
                return Err(Denied::Again);
            }
            state = self.wait_for_turn(state, What::ForEarlier(number));
        };
        if let Some(slot) = state.batches.get_mut(at as usize) {
            *slot = Some(finished);
        }
        let before = state.ready;
        state.count_ready(&self.memory);
        let is_new = state.ready > before;
        let wakes = (wakes || state.has_failed) && state.waiting.consumer && state.ready > 0;
        let planner = is_new && self.wakes_planner(&state);
        let turn = is_new && state.waiting.for_turn > 0;
        let all = state.has_failed;
        drop(state);
        delays::hand_over();
        if wakes {
            self.batches_changed.notify_one();
        }
        if planner {
            self.room_changed.notify_one();
        }
        if turn || all {
            self.turn_changed.notify_all();
        }
        if all {
            self.wake_all();
        }
        Ok(())
    }

    /// Waits until other batches are finished or given out, or other ops end.
    fn wait_for_turn<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        what: What,
    ) -> MutexGuard<'a, State> {
        let _waits = self.watch.begin(what);
        if state.waiting.consumer && state.ready > 0 {
            self.batches_changed.notify_one();
        }
        state.waiting.for_turn += 1;
        state = wait(&self.turn_changed, state);
        state.waiting.for_turn -= 1;
        state
    }

    /// Puts an op that has given back what it made before all that have not started. It starts when no
    /// other runs.
    pub(crate) fn run_again(&self, seq: u64, op: Op) {
        let mut state = self.lock();
        if self.is_stopped() || state.has_failed {
            return;
        }
        let at = state.queue.partition_point(|queued| queued.seq < seq);
        let queued = Queued {
            seq,
            op,
            is_alone: true,
        };
        state.queue.insert(at, queued);
        drop(state);
        delays::hand_over();
        // Ops that wait for their turn give back, too.
        self.turn_changed.notify_all();
    }

    /// Ends a running op.
    pub(crate) fn finish_op(&self) {
        let mut state = self.lock();
        state.running -= 1;
        if state.running == 0 {
            if std::mem::take(&mut state.is_alone) {
                self.memory.set_scarce(false);
            }
            if state.ready >= self.prefetch && !state.queue.is_empty() {
                state.full_since = Some(Instant::now());
            }
        }
        let consumer = state.waiting.consumer && state.ready > 0;
        let planner = self.wakes_planner(&state);
        let worker = self.next_worker(&mut state);
        let is_over = state.is_planned && state.queue.is_empty() && !state.parked.is_empty();
        drop(state);
        delays::hand_over();
        if consumer {
            self.batches_changed.notify_one();
        }
        if planner {
            self.room_changed.notify_one();
        }
        self.wake(worker);
        if is_over {
            self.wake_all();
        }
    }

    /// Wakes the workers that wait for a payload that was just prepared.
    pub(crate) fn notify_prepared(&self) {
        let waits = self.lock().waiting.for_prepare > 0;
        delays::hand_over();
        if waits {
            self.prepared_changed.notify_all();
        }
    }

    /// Waits until `payload` is prepared by the worker that has claimed it, or that one gives up.
    pub(crate) fn wait_for_prepare(&self, payload: &SharedPayload) -> Result<(), Denied> {
        let mut state = self.lock();
        while payload.prepared().is_none() && payload.is_claimed() {
            if self.is_stopped() {
                return Err(Denied::Cancelled);
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
        let mut woken = 0;
        if let Some(given) = state.given.take() {
            let (took, before) = (given.elapsed(), state.pace);
            let pace = before.map_or(took, |before| (7 * before + took) / 8);
            state.pace = Some(pace);
            self.counters.set_pace(pace);
        }
        loop {
            if state.ready > 0 {
                state.ready -= 1;
                state.first += 1;
                state.given = Some(Instant::now());
                if let Some(since) = state.full_since.take() {
                    self.counters.consumer_wait.add(since.elapsed());
                }
                let mut finished = state.batches.pop_front().flatten();
                state.totals.pop_front();
                // It is the consumer's. Counted out here, where those that wait for memory look.
                let lease = finished.as_mut().and_then(|finished| finished.lease.take());
                let (number, bytes) = (state.first - 1, lease.as_ref().map_or(0, Lease::bytes));
                drop(lease);
                let worker = self.next_worker(&mut state);
                let planner = self.wakes_planner(&state);
                let turn = state.waiting.for_turn > 0;
                drop(state);
                delays::hand_over();
                self.wake(worker);
                if turn {
                    self.turn_changed.notify_all();
                }
                if planner {
                    self.room_changed.notify_one();
                }
                if let Some(batch) = finished
                    .as_ref()
                    .and_then(|finished| finished.batch.as_ref())
                {
                    self.watch.give_out(number, batch.rows() as u64, bytes);
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
            self.watch.wait_for_batch(state.first);
            // Each once: without memory for an op they park again.
            if woken < self.workers
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

    #[track_caller]
    fn lock(&self) -> MutexGuard<'_, State> {
        delays::hand_over();
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
