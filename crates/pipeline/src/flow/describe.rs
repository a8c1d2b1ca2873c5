//! What waits for what, as text for people.

use std::fmt;
use std::sync::TryLockError;
use std::thread;
use std::time::Duration;

use super::{Flow, State};
use crate::memory::Lease;
use crate::sync::MutexGuard;
use crate::watch::{CONSUMER, FIRST_WORKER};

impl Flow {
    /// What each thread does now, or waits for, and what holds how much memory.
    ///
    /// It waits for no lock that a thread may hold for long.
    pub(crate) fn describe(&self) -> String {
        let mut text = String::new();
        if self.is_stopped() {
            text += "the iteration is stopped\n";
        }
        let state = self.try_lock();
        let threads = self.watch.describe();
        for (at, (does, bytes)) in threads.iter().enumerate() {
            text += does;
            if *bytes > 0 {
                text += &format!("; holds {}", Mb(*bytes));
            }
            let given = state.as_ref().and_then(|state| state.given);
            if let Some(given) = given.filter(|_| at == CONSUMER) {
                let seconds = given.elapsed().as_secs_f64();
                text += &format!(", took a batch {seconds:.3} s ago");
            }
            text += "\n";
        }
        let (replayed, to_replay) = self
            .counters
            .note(|stats| (stats.replayed, stats.to_replay));
        if replayed < to_replay {
            text += &format!("going on: {replayed} of {to_replay} batches are drawn again\n");
        }
        let workers = self.options.threads;
        let idle = FIRST_WORKER + workers - threads.len();
        if idle > 0 {
            text += &format!("{idle} of {workers} workers do not run\n");
        }
        let leased: u64 = threads.iter().map(|(_, bytes)| bytes).sum();
        let (mut ready, mut early) = (0, 0);
        match &state {
            Some(state) => {
                let bytes =
                    |finished: &super::Finished| finished.lease.as_ref().map_or(0, Lease::bytes);
                let finished = state.batches.iter().map(|batch| batch.as_ref().map(bytes));
                let finished: Vec<Option<u64>> = finished.collect();
                let (first, later) = finished.split_at(state.ready);
                ready = first.iter().flatten().sum();
                early = later.iter().flatten().sum();
                text += &self.describe_queue(state, later.iter().flatten().count());
            }
            None => text += "queue, batches: busy\n",
        }
        drop(state);
        let held = self.memory.held();
        let rest = held.saturating_sub(leased + ready + early);
        text + &format!(
            "memory: {} of {}; ready batches {}, batches finished early {}, running ops {}, payloads, \
             reads and buffers {}\n",
            Mb(held),
            Mb(self.memory.limit()),
            Mb(ready),
            Mb(early),
            Mb(leased),
            Mb(rest),
        )
    }

    /// The batches, of which `early` are finished before earlier ones, and the ops.
    fn describe_queue(&self, state: &State, early: usize) -> String {
        let mut text = format!(
            "batches: {} given out, {} ready (at most {}), {early} finished before earlier ones, {} to be \
             made\nqueue: {} of {} ops, {} reads",
            state.first,
            state.ready,
            self.options.prefetch,
            state.batches.len() - state.ready - early,
            state.queue.len(),
            self.most_queued(state),
            state.reads.len()
        );
        if let Some(first) = state.queue.front() {
            let estimate = Mb(self.costs.batch_bytes(first.rows));
            text += &format!("; the first op needs about {estimate}");
            if first.is_alone {
                text += ", and runs alone";
            }
        }
        text + "\n"
    }

    /// The lock, if it can be had soon: nobody holds it for long.
    fn try_lock(&self) -> Option<MutexGuard<'_, State>> {
        for _ in 0..20 {
            match self.state.try_lock() {
                Ok(state) => return Some(state),
                Err(TryLockError::Poisoned(state)) => return Some(state.into_inner()),
                Err(TryLockError::WouldBlock) => thread::sleep(Duration::from_millis(1)),
            }
        }
        None
    }
}

/// Bytes as MB.
struct Mb(u64);

impl fmt::Display for Mb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.1} MB", self.0 as f64 / 1e6)
    }
}
