//! Which worker does the next work: how many take part, and who is woken or started.

use std::io;
use std::sync::atomic::Ordering::Relaxed;

use super::{Flow, State};
use crate::delays;
use crate::ops::Op;
use crate::sync::MutexGuard;

/// A worker for the next work.
#[derive(Clone, Copy, Debug)]
pub(super) enum Next {
    Wake(usize),
    Start(usize),
}

impl Flow {
    /// Starts the first worker. The others are started once there is work for them.
    pub(crate) fn start(&self) -> io::Result<()> {
        let mut state = self.lock();
        (state.started, state.looking) = (1, 1);
        drop(state);
        self.start_worker(0)?;
        self.unlock(self.lock(), false);
        Ok(())
    }

    /// Chooses a worker for work that no other is about to take.
    pub(super) fn next_worker(&self, state: &mut State) -> Option<Next> {
        let works = state.reads.len() + state.joins.len() + state.queue.len();
        let is_wanted = state.running + state.looking < self.wanted(state);
        if works <= state.looking || !self.has_work(state) || !state.is_urgent() && !is_wanted {
            return None;
        }
        let next = match state.parked.pop_first() {
            Some(worker) => Next::Wake(worker),
            None if (1..self.options.threads).contains(&state.started) => {
                state.started += 1;
                Next::Start(state.started - 1)
            }
            None => return None,
        };
        state.looking += 1;
        Some(next)
    }

    /// Frees the lock, and wakes those who have something to do since the state has changed: a worker, the
    /// planning thread, and perhaps the consumer.
    pub(super) fn unlock(&self, mut state: MutexGuard<'_, State>, wakes_consumer: bool) {
        let planning_thread = self.wakes_planning_thread(&state);
        let worker = self.next_worker(&mut state);
        drop(state);
        delays::hand_over();
        if wakes_consumer {
            self.batches_changed.notify_one();
        }
        if planning_thread {
            self.room_changed.notify_one();
        }
        self.wake(worker);
    }

    pub(super) fn wake(&self, next: Option<Next>) {
        delays::hand_over();
        match next {
            None => {}
            Some(Next::Wake(worker)) => self.worker_changed[worker].notify_one(),
            Some(Next::Start(worker)) => self.start_another(worker),
        }
    }

    /// Starts a worker in addition to others, which go on alone if the system starts no thread.
    fn start_another(&self, worker: usize) {
        if let Err(error) = self.start_worker(worker) {
            let decode = match worker {
                1 => "1 thread decodes".to_owned(),
                _ => format!("{worker} threads decode"),
            };
            log::warn!("{decode}, since the system starts no more: {error}");
            let mut state = self.lock();
            state.looking -= 1;
            state.started = self.options.threads;
        }
    }

    /// Wakes all workers, to look whether there is more work.
    pub(super) fn wake_all(&self) {
        let mut state = self.lock();
        let parked = std::mem::take(&mut state.parked);
        state.looking += parked.len();
        drop(state);
        for worker in parked {
            self.worker_changed[worker].notify_one();
        }
    }

    /// Says that worker `worker` has begun to look for work.
    pub(crate) fn begin_worker(&self, worker: usize) {
        self.counters.note(|stats| {
            let begun = stats.thread_records.len().max(worker + 1);
            stats.thread_records.resize(begun, 0);
        });
        self.lock().looking -= 1;
    }

    /// Number of workers that the consumer asks for by its pace. Notes the most, for statistics.
    pub(super) fn wanted(&self, state: &State) -> usize {
        // Where ops pile up, the planning thread keeps up, whatever was measured of it.
        let is_short = state.queue.len() < self.options.threads;
        let most = match self.options.automatic && is_short {
            true => self.costs.fewest_workers(self.options.threads),
            false => self.options.threads,
        };
        self.counters.threads.store(most, Relaxed);
        match state.pace {
            Some(_) if state.waiting.consumer => most,
            Some(pace) => self
                .costs
                .workers_for_pace(self.options.batch_size as u64, pace)
                .min(most),
            // It is not known until the consumer comes back: no more ops than batches may be ready.
            None => match state.queue.front().map(|first| &first.op) {
                Some(Op::Make(pieces)) if !pieces[0].batch.is_cut() => {
                    self.options.prefetch.min(most)
                }
                _ => most,
            },
        }
    }
}
