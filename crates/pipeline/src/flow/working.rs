//! What workers ask of the flow: they take ops and reads, and give back batches or what they made.

use super::{Denied, Finished, Flow, State, wait};
use crate::account::Account;
use crate::block::Payload;
use crate::delays;
use crate::memory::Lease;
use crate::ops::{Op, Queued, Work};
use crate::pieces::Join;
use crate::sync::{Instant, MutexGuard};
use crate::watch::{FOR_EARLIER, FOR_MEMORY, FOR_OP, What};

impl Flow {
    /// The next read or join, or the next op with a lease of what it is estimated to need, waited for; `None`
    /// if there are no more.
    pub(crate) fn next_work(&self, worker: usize) -> Option<Work> {
        let mut state = self.lock();
        loop {
            if self.is_stopped() {
                return None;
            }
            let read = state.reads.pop_front().map(Work::Read);
            if let Some(work) = read.or_else(|| state.joins.pop_front().map(Work::Join)) {
                self.unlock(state, false);
                return Some(work);
            }
            if self.may_start(&state)
                && let Some(lease) = self.start_lease(&state)
            {
                let queued = state.queue.pop_front()?;
                state.running += 1;
                if queued.is_alone {
                    state.is_alone = true;
                    self.memory.set_scarce(true);
                    give_up_pieces(&state);
                }
                self.unlock(state, false);
                return Some(Work::Op(queued, lease));
            }
            if state.is_planned && state.queue.is_empty() {
                return None;
            }
            state.parked.insert(worker);
            let _waits = self.watch.begin(FOR_OP);
            while state.parked.contains(&worker) {
                state = wait(&self.worker_changed[worker], state);
            }
            state.looking -= 1;
        }
    }

    /// Whether a worker has something to do, if its memory is there.
    pub(super) fn has_work(&self, state: &State) -> bool {
        state.is_urgent() || self.may_start(state)
    }

    /// Whether the first op of the queue can start, if its memory is there.
    pub(super) fn may_start(&self, state: &State) -> bool {
        let Some(queued) = state.queue.front() else {
            return false;
        };
        if self.is_full(state) {
            return false;
        }
        state.running == 0
            || !state.is_alone && !queued.is_alone && state.running < self.wanted(state)
    }

    /// Whether enough batches are ready, so that the first op of the queue must not start. A consumer that waits takes
    /// ready batches when it runs, which is later than a worker can begin: until then, one more op may start.
    fn is_full(&self, state: &State) -> bool {
        let first = state.queue.front();
        let more = match first.filter(|_| state.waiting.consumer) {
            Some(first) => first.op.pieces().len(),
            None => 0,
        };
        state.ready >= self.options.prefetch + more && first.is_some_and(|op| !op.is_prepare())
    }

    /// A lease of what the first op of the queue is estimated to need. Where no op runs and no batch is
    /// ready, and for a prepare, which can be left out, nothing is fine.
    pub(super) fn start_lease(&self, state: &State) -> Option<Lease> {
        let queued = state.queue.front()?;
        if queued.is_alone || queued.is_prepare() {
            return Some(Lease::none(&self.memory));
        }
        let lease = Lease::try_new(&self.memory, self.costs.batch_bytes(queued.rows));
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
            state = self.wait_for_turn(state, FOR_MEMORY);
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
            state = self.wait_for_turn(state, FOR_MEMORY);
        }
        Ok(has_ready)
    }

    /// Gives a batch of op `seq` to the consumer's side, unless memory is so scarce that it must be
    /// made again. A batch before which others are missing counts as made early, and waits here if too
    /// much is: then `account` gives back what the op does not use. The consumer is woken if `wakes`: for
    /// small batches, waking it takes longer than making one.
    pub(crate) fn finish_batch(
        &self,
        (seq, number): (u64, u64),
        mut finished: Finished,
        mut account: Option<&mut Account>,
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
            if let Some(account) = account.take() {
                account.shrink();
                self.unlock(state, false);
                state = self.lock();
                continue;
            }
            state = self.wait_for_turn(state, FOR_EARLIER.with(&[("batch", number)]));
        };
        if let Some(slot) = state.batches.get_mut(at as usize) {
            *slot = Some(finished);
        }
        let before = state.ready;
        state.count_ready(&self.memory);
        let is_new = state.ready > before;
        let wakes = (wakes || state.has_failed) && state.waiting.consumer && state.ready > 0;
        let planning_thread = is_new && self.wakes_planning_thread(&state);
        let turn = is_new && state.waiting.for_turn > 0;
        let all = state.has_failed;
        drop(state);
        delays::hand_over();
        if wakes {
            self.batches_changed.notify_one();
        }
        if planning_thread {
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
    pub(super) fn wait_for_turn<'a>(
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
    /// other runs: the end of the op that ran until now finds a worker for it.
    #[cold]
    pub(crate) fn run_again(&self, seq: u64, op: Op) {
        self.counters.note(|stats| stats.repeated_ops += 1);
        let mut state = self.lock();
        if self.is_stopped() || state.has_failed {
            return;
        }
        let at = state.queue.partition_point(|queued| queued.seq < seq);
        state.queue.insert(at, Queued::new(seq, op, true));
        drop(state);
        delays::hand_over();
        // Ops that wait for their turn give back, too.
        self.turn_changed.notify_all();
    }

    /// Has workers do `joins` before any op that has not started. Each counts as a running op. If all others
    /// wait for their turn, the worker that queues them does them itself, once it has ended its own.
    pub(crate) fn queue_joins(&self, joins: Vec<Join>) {
        if joins.is_empty() {
            return;
        }
        let mut state = self.lock();
        if self.is_stopped() {
            return;
        }
        state.running += joins.len();
        state.joins.extend(joins);
        self.unlock(state, false);
    }

    /// Ends a running op.
    pub(crate) fn finish_op(&self) {
        let mut state = self.lock();
        state.running -= 1;
        if state.running == 0 {
            if std::mem::take(&mut state.is_alone) {
                self.memory.set_scarce(false);
            }
            if self.is_full(&state) {
                state.full_since = Some(Instant::now());
            }
        }
        let consumer = state.waiting.consumer && state.ready > 0;
        let is_over = state.is_planned && state.queue.is_empty() && !state.parked.is_empty();
        self.unlock(state, consumer);
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
    pub(crate) fn wait_for_prepare(&self, payload: &Payload) -> Result<(), Denied> {
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
}

/// Has batches be made later as a whole of which some pieces are made and others have not started: what
/// the made ones hold may be what the op before them lacks.
#[cold]
fn give_up_pieces(state: &State) {
    for queued in &state.queue {
        let pieces = queued.op.pieces().iter();
        for piece in pieces.filter(|piece| piece.batch.is_cut()) {
            piece.batch.give_up();
        }
    }
}

#[cfg(all(test, not(loom)))]
#[allow(clippy::unwrap_used, reason = "a panic is a failure")]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;
    use std::{iter, thread};

    use tensor_batch::BatchSpec;

    use super::*;
    use crate::Options;
    use crate::pieces::PieceBatch;
    use crate::planner::{BatchPlan, WindowSize};

    /// A flow with ops of one batch each.
    fn flow(options: Options, ops: u64) -> Arc<Flow> {
        let flow = Flow::new(options, BatchSpec::new(Vec::new()).unwrap());
        for number in 0..ops {
            let plan = BatchPlan {
                rows: 1,
                reads: Vec::new(),
                window: WindowSize::default(),
            };
            let batch = PieceBatch::new(number, vec![plan]);
            flow.push(Op::Make(vec![batch.again()])).unwrap();
        }
        flow
    }

    #[test]
    fn one_op_more_may_start_until_a_consumer_that_waits_is_awake() {
        let mut options = Options::new(1);
        (options.threads, options.prefetch) = (3, 1);
        let flow = flow(options, 3);
        let make = |number| {
            assert!(matches!(flow.next_work(0), Some(Work::Op(..))));
            let finished = Finished::without_batch(None, None);
            flow.finish_batch((number, number), finished, None, true)
                .unwrap();
            flow.finish_op();
        };
        let may_start = |consumer_waits| {
            let mut state = flow.lock();
            state.waiting.consumer = consumer_waits;
            flow.may_start(&state)
        };
        make(0);
        assert!(!may_start(false));
        assert!(may_start(true));
        make(1);
        assert!(!may_start(true));
    }

    #[test]
    fn a_batch_that_waits_for_its_turn_holds_nothing_else() {
        let mut options = Options::new(1);
        (options.threads, options.memory_limit) = (2, 8_000);
        let flow = flow(options, 2);
        let works: Vec<_> = (0..2).map(|worker| flow.next_work(worker)).collect();
        assert!(matches!(
            works[..],
            [Some(Work::Op(..)), Some(Work::Op(..))]
        ));
        drop(works);
        let finished = |bytes| Finished {
            lease: Lease::try_new(&flow.memory, bytes),
            ..Finished::without_batch(None, None)
        };
        let held = || flow.memory.held();
        thread::scope(|scope| {
            // More than an eighth of the limit.
            let second = finished(2_000);
            let unused = Lease::try_new(&flow.memory, 3_000).unwrap();
            let mut account = Account::new(flow.clone(), unused, false);
            assert_eq!(held(), 5_000);
            let flow = &flow;
            scope.spawn(move || flow.finish_batch((1, 1), second, Some(&mut account), true));
            let waits = || flow.lock().waiting.for_turn > 0;
            let mut looks = iter::repeat_with(|| thread::sleep(Duration::from_millis(1)));
            let is_waiting = looks.by_ref().take(10_000).any(|()| waits());
            let held_meanwhile = held();
            flow.finish_batch((0, 0), finished(0), None, true).unwrap();
            assert!(is_waiting);
            assert_eq!(held_meanwhile, 2_000);
        });
    }
}
