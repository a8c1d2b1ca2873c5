//! What one iteration leaves for the next: memory, mapped files, threads, and what it has learnt.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use atds_sched::{Scheduler, Threads};

use crate::crew::Gear;
use crate::outlet::Groups;
use crate::source::Opener;
use crate::spare::Spare;
use crate::threads::JobThread;

/// Kept with the data set: an epoch that starts with the memory of the last one
/// is spared asking for it, which costs as much as reading thousands of records.
/// Of several iterations at the same time, one leaves what it has: the last to end its
/// memory, the longest what it has learnt.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    pub(crate) spare: Arc<Spare>,
    pub(crate) groups: Arc<Groups>,
    gear: Mutex<Option<Gear>>,
    opener: Mutex<Option<Opener>>,
    scheduler: Mutex<Option<Scheduler>>,
    threads: Mutex<Vec<JobThread>>,
}

impl Kept {
    pub(crate) fn gear(&self) -> Option<Gear> {
        take(&self.gear)
    }

    pub(crate) fn keep_gear(&self, gear: Gear) {
        keep(&self.gear, gear);
    }

    pub(crate) fn opener(&self) -> Option<Opener> {
        take(&self.opener)
    }

    pub(crate) fn keep_opener(&self, opener: Opener) {
        keep(&self.opener, opener);
    }

    /// Begins a job on a thread of this name that an iteration has left, or on a new one.
    pub(crate) fn begin(
        &self,
        name: &'static str,
        job: impl FnOnce() + Send + 'static,
    ) -> io::Result<JobThread> {
        let mut threads = lock(&self.threads);
        let waiting = threads.iter().position(|thread| thread.name() == name);
        let Some(waiting) = waiting.map(|at| threads.swap_remove(at)) else {
            drop(threads);
            return JobThread::start(name, job);
        };
        waiting.begin(job);
        Ok(waiting)
    }

    /// Keeps threads without a job for the next iteration.
    pub(crate) fn keep_threads(&self, threads: impl IntoIterator<Item = JobThread>) {
        lock(&self.threads).extend(threads);
    }

    /// Ends all threads that wait, and waits for them.
    pub(crate) fn end_threads(&self) {
        let gear = self.gear();
        let threads = std::mem::take(&mut *lock(&self.threads));
        drop((gear, threads));
    }

    /// A scheduler for an iteration of the data set, with what earlier ones have learnt.
    pub(crate) fn scheduler(&self, threads: Threads) -> Scheduler {
        let last = lock(&self.scheduler);
        let last = last.as_ref().map(Scheduler::again);
        last.unwrap_or_else(|| Scheduler::new(threads))
    }

    /// Keeps what an iteration has learnt, unless another that went on meanwhile has learnt
    /// more.
    pub(crate) fn keep_scheduler(&self, scheduler: &Scheduler) {
        let mut last = lock(&self.scheduler);
        if last
            .as_ref()
            .is_none_or(|last| last.runs_in_all() <= scheduler.runs_in_all())
        {
            // Without the memory of its plans.
            *last = Some(scheduler.again());
        }
    }
}

fn lock<T>(slot: &Mutex<T>) -> MutexGuard<'_, T> {
    slot.lock().unwrap_or_else(PoisonError::into_inner)
}

fn take<T>(slot: &Mutex<Option<T>>) -> Option<T> {
    lock(slot).take()
}

fn keep<T>(slot: &Mutex<Option<T>>, value: T) {
    *lock(slot) = Some(value);
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::sync::mpsc::channel;
    use std::thread;

    use super::*;

    #[test]
    fn threads_wait_for_the_next_iteration_until_they_are_ended() {
        let kept = Kept::default();
        let iteration = || {
            let (id_out, id) = channel();
            let job = move || id_out.send(thread::current().id()).unwrap();
            let thread = kept.begin("test", job).unwrap();
            assert!(thread.wait(None).unwrap().is_ok());
            kept.keep_threads([thread]);
            id.recv().unwrap()
        };
        let first = iteration();
        assert_eq!(iteration(), first);
        kept.end_threads();
        let second = iteration();
        assert_ne!(second, first);
        assert_eq!(iteration(), second);
    }
}
