//! What waits for what, as text for people.

use std::fmt;
use std::sync::TryLockError;
use std::thread;
use std::time::Duration;

use super::{Flow, State};
use crate::memory::Lease;
use crate::sync::MutexGuard;

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
        text += &format!("consumer: {}", self.watch.consumer());
        if let Some(given) = state.as_ref().and_then(|state| state.given) {
            let seconds = given.elapsed().as_secs_f64();
            text += &format!(", took a batch {seconds:.3} s ago");
        }
        let is_planned = state.as_ref().is_some_and(|state| state.is_planned);
        let planning = match is_planned {
            true => "has planned all batches".to_owned(),
            false => self.watch.planning(),
        };
        text += &format!("\nplanning thread: {planning}\n");
        let running = (0..self.workers).map(|worker| (worker, self.watch.work(worker)));
        let mut leased = 0;
        let mut idle = 0;
        for (worker, work) in running {
            let bytes = self.watch.leased(worker);
            leased += bytes;
            match work {
                None => idle += 1,
                Some(work) if bytes == 0 => text += &format!("worker {worker}: {work}\n"),
                Some(work) => text += &format!("worker {worker}: {work}; holds {}\n", Mb(bytes)),
            }
        }
        if idle > 0 {
            text += &format!("{idle} of {} workers do not run\n", self.workers);
        }
        let Some(state) = state else {
            return text + "queue, batches: busy\n" + &self.describe_memory(leased, None);
        };
        let lease = |finished: &super::Finished| finished.lease.as_ref().map_or(0, Lease::bytes);
        let batches = state.batches.iter().enumerate();
        let finished = batches.filter_map(|(at, batch)| Some((at, lease(batch.as_ref()?))));
        let (mut ready, mut early, mut early_batches) = (0, 0, 0);
        for (at, bytes) in finished {
            if at < state.ready {
                ready += bytes;
            } else {
                early += bytes;
                early_batches += 1;
            }
        }
        text += &format!(
            "batches: {} given out, {} ready (at most {}), {early_batches} finished before earlier \
             ones, {} to be made\n",
            state.first,
            state.ready,
            self.prefetch,
            state.batches.len() - state.ready - early_batches,
        );
        text += &format!(
            "queue: {} of {} ops, {} reads",
            state.queue.len(),
            self.most_queued(&state),
            state.reads.len()
        );
        if let Some(first) = state.queue.front() {
            let estimate = Mb(first.op.estimate());
            text += &format!("; the first op needs about {estimate}");
            if first.is_alone {
                text += ", and runs alone";
            }
        }
        drop(state);
        text + "\n" + &self.describe_memory(leased, Some((ready, early)))
    }

    /// Who holds how much. `batches` are the bytes of ready batches, and of those that are finished
    /// before earlier ones.
    fn describe_memory(&self, leased: u64, batches: Option<(u64, u64)>) -> String {
        let held = self.memory.held();
        let mut text = format!("memory: {} of {}", Mb(held), Mb(self.memory.limit()));
        let (ready, early) = batches.unwrap_or_default();
        if batches.is_some() {
            text += &format!(
                "; ready batches {}, batches finished early {}",
                Mb(ready),
                Mb(early)
            );
        }
        let rest = held.saturating_sub(leased + ready + early);
        let rest = Mb(rest);
        text += &format!(
            ", running ops {}, payloads, reads and buffers {rest}\n",
            Mb(leased)
        );
        text
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
