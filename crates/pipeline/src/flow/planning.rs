//! What the planning thread asks of the flow: it queues ops, and waits for room and for memory.

use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use super::{Denied, Finished, Flow, State, WaitsFor, wait};
use crate::Error;
use crate::error::Stop;
use crate::memory::Lease;
use crate::ops::{FileRead, Op, Queued};
use crate::replay::Position;
use crate::sync::MutexGuard;
use crate::tuning::{LARGE_BATCH_TIME, PIECE_TIME, QUEUED_OPS};
use crate::watch::{FOR_MEMORY, FOR_ROOM};

impl Flow {
    /// Has a worker do `read`, before any op, unless the planning thread takes it back. Returns at once.
    pub(crate) fn queue_read(&self, read: FileRead) {
        let mut state = self.lock();
        state.reads.push_back(read);
        self.unlock(state, false);
    }

    /// The next read that no worker has begun, unless there are ops for all workers: these read before
    /// they run out of them.
    pub(crate) fn take_read(&self) -> Option<FileRead> {
        let mut state = self.lock();
        match state.queue.len() < self.options.threads {
            true => state.reads.pop_front(),
            false => None,
        }
    }

    /// Begins an epoch at a position, with batch `number` of the iteration.
    pub(crate) fn begin_epoch(&self, number: u64, start: Position) {
        let mut state = self.lock();
        // One that was given out before the last batch tells no more.
        while let Some((next, _)) = state.epochs.get(1)
            && next + 1 < state.first
        {
            state.epochs.pop_front();
        }
        state.epochs.push_back((number, start));
    }

    /// Says that batches from batch `number` on are drawn from what is before an error.
    pub(crate) fn set_sound(&self, number: u64) {
        self.lock().sound = Some(number);
    }

    /// Queues an op. Waits while enough ops wait.
    pub(crate) fn push(&self, op: Op) -> Result<(), Stop> {
        self.push_all([op])
    }

    /// Queues ops, all at once: an op before them that lacks memory sees all pieces of a batch.
    pub(crate) fn push_all(&self, ops: impl IntoIterator<Item = Op>) -> Result<(), Stop> {
        let mut state = self.lock();
        while !self.is_stopped() && state.queue.len() >= self.most_queued(&state) {
            state = self.wait_for_room(state, WaitsFor::Queue);
        }
        // After an error nothing more is given out.
        if self.is_stopped() || state.is_planned {
            return Err(Stop::Cancelled);
        }
        for op in ops {
            let queued = Queued::new(state.next_seq, op, false);
            // The others are of a batch that has begun.
            for first in queued.op.pieces().iter().filter(|piece| piece.number == 0) {
                state.batches.push_back(None);
                state.totals.push_back(first.plan().window.total);
            }
            state.next_seq += 1;
            state.queue.push_back(queued);
        }
        // Whether its memory is there is found by the worker, which wakes the next.
        self.unlock(state, false);
        self.watch.write_some();
        Ok(())
    }

    /// Says which of the batches that were drawn is the first that is not queued, by the bytes of all
    /// payloads until then.
    pub(crate) fn set_unqueued(&self, total: Option<u64>) {
        self.unqueued_total
            .store(total.unwrap_or(u64::MAX), Relaxed);
    }

    /// A lease of `bytes` for a payload or a read, if there is memory for it. `total` are the bytes of
    /// all payloads and reads before.
    pub(crate) fn try_lease_ahead(&self, total: u64, bytes: u64) -> Option<Lease> {
        let may = bytes == 0 || self.may_read_ahead(&self.lock(), total, bytes);
        may.then(|| Lease::try_new(&self.memory, bytes)).flatten()
    }

    /// The same, waited for. What the next batch cannot do without may take all that is left. So that
    /// memory comes back, all that was planned must be queued.
    pub(crate) fn lease_ahead(&self, total: u64, bytes: u64) -> Result<Lease, Denied> {
        let mut state = self.lock();
        loop {
            if self.is_stopped() || state.has_failed {
                return Err(Denied::Cancelled);
            }
            let is_starved = state.is_starved();
            if (is_starved || self.may_read_ahead(&state, total, bytes))
                && let Some(lease) = Lease::try_new(&self.memory, bytes)
            {
                return Ok(lease);
            }
            if is_starved {
                return Err(Denied::Exceeded);
            }
            state = self.wait_for_room(state, WaitsFor::Memory);
        }
    }

    /// Bytes of the prepared payloads in the window of the batch that comes next.
    pub(crate) fn prepared_in_window(&self) -> u64 {
        self.lock().windows.prepared()
    }

    /// Whether `bytes` more are not too much ahead of the first batch that is not finished.
    pub(super) fn may_read_ahead(&self, state: &State, total: u64, bytes: u64) -> bool {
        let unqueued = self.unqueued_total.load(Relaxed);
        let until = state.totals.get(state.ready).copied().unwrap_or(unqueued);
        // Buffers of reads are used in part.
        let ahead = total.saturating_sub(until) + 2 * self.options.read_size as u64;
        let ahead = ahead.saturating_add(bytes);
        // Without an unfinished batch, the next to be drawn needs it.
        until == u64::MAX || ahead <= self.memory.ahead_limit()
    }

    /// Number of batches that were queued and are not finished.
    pub(crate) fn unfinished(&self) -> u64 {
        let state = self.lock();
        (state.batches.len() - state.ready) as u64
    }

    /// Whether the workers and the consumer wait for the planning thread.
    pub(crate) fn is_starved(&self) -> bool {
        self.lock().is_starved()
    }

    /// Says that all ops are queued; `error` follows the last batch.
    pub(crate) fn end(&self, error: Option<Error>) {
        let mut state = self.lock();
        if let Some(error) = error {
            let finished = Finished::without_batch(Some(error), None);
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

    pub(super) fn wait_for_room<'a>(
        &self,
        mut state: MutexGuard<'a, State>,
        waits_for: WaitsFor,
    ) -> MutexGuard<'a, State> {
        state.waiting.planning_thread = Some(waits_for);
        let _waits = self.watch.begin(match waits_for {
            WaitsFor::Queue => FOR_ROOM,
            WaitsFor::Memory => FOR_MEMORY,
        });
        let mut state = wait(&self.room_changed, state);
        state.waiting.planning_thread = None;
        state
    }

    /// Number of ops that may wait to start: few until the first is measured, since the sizes of ops
    /// follow from what is measured, and few that take long, since others are planned meanwhile.
    pub(super) fn most_queued(&self, state: &State) -> usize {
        if !self.costs.is_measured() {
            return self.options.threads;
        }
        let rows = state.queue.back().map_or(0, |queued| queued.rows);
        match Duration::from_nanos(self.costs.rows_ns(rows)) {
            time if time > LARGE_BATCH_TIME => self.options.threads.div_ceil(2),
            time if time > PIECE_TIME => self.options.threads,
            _ => QUEUED_OPS * self.options.threads,
        }
    }

    /// Whether to wake the planning thread. It queues several ops when it is awake, since waking it
    /// takes longer than planning an op.
    pub(super) fn wakes_planning_thread(&self, state: &State) -> bool {
        match state.waiting.planning_thread {
            None => false,
            Some(WaitsFor::Queue) => state.queue.len() <= self.most_queued(state) / 2,
            Some(WaitsFor::Memory) => true,
        }
    }
}
