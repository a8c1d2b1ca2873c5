//! Locks, condition variables, atomics and threads: those of the standard library, or those of loom for
//! the models in `models`.
//!
//! loom runs the real code in all orders of its threads. It does not see:
//! - `Arc`: the standard library's is used, since that of loom has no `Weak` and holds no trait object;
//! - time: an [`Instant`] is always the same, and no wait has a deadline;
//! - `OnceLock`: a flag of loom's says when a value is seen;
//! - the threads of `atds-sched`: a job has a thread of loom's to itself. A panic of a job is not
//!   modelled, since loom's threads share the count of panics: `stop` is what a panic calls;
//! - the channel in `planning_thread/reads.rs`, which looks at the cancel flag every 20 ms;
//! - the flag that says that an iteration is stopped, which sources have, too. Waits look at it under a lock
//!   that loom sees;
//! - locks of `tensor-batch` and of buffers of reads, and counters that only figures come from.

#[cfg(not(all(test, loom)))]
mod real {
    pub(crate) use std::sync::atomic::{AtomicBool, AtomicU64};
    pub(crate) use std::sync::{Condvar, Mutex, MutexGuard, OnceLock};
    pub(crate) use std::time::Instant;

    pub(crate) use atds_sched::{JobThread, ThreadPool};
}

#[cfg(all(test, loom))]
mod real {
    use std::io;
    use std::sync::PoisonError;
    use std::time::Duration;

    pub(crate) use loom::sync::atomic::{AtomicBool, AtomicU64};
    pub(crate) use loom::sync::{Condvar, Mutex, MutexGuard};
    use loom::thread::{self, JoinHandle};

    /// A value that is set once.
    #[derive(Debug)]
    pub(crate) struct OnceLock<T> {
        is_set: AtomicBool,
        value: std::sync::OnceLock<T>,
    }

    impl<T> OnceLock<T> {
        pub(crate) fn new() -> Self {
            OnceLock {
                is_set: AtomicBool::new(false),
                value: std::sync::OnceLock::new(),
            }
        }

        pub(crate) fn get(&self) -> Option<&T> {
            let is_set = self.is_set.load(std::sync::atomic::Ordering::Acquire);
            is_set.then(|| self.value.get()).flatten()
        }

        pub(crate) fn set(&self, value: T) -> Result<(), T> {
            self.value.set(value)?;
            self.is_set
                .store(true, std::sync::atomic::Ordering::Release);
            Ok(())
        }
    }

    /// The one point in time.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub(crate) struct Instant;

    impl Instant {
        pub(crate) fn now() -> Self {
            Instant
        }

        pub(crate) fn elapsed(self) -> Duration {
            Duration::ZERO
        }

        pub(crate) fn saturating_duration_since(self, _: Instant) -> Duration {
            Duration::ZERO
        }

        pub(crate) fn checked_add(self, _: Duration) -> Option<Self> {
            Some(self)
        }
    }

    /// Starts a thread for each job.
    #[derive(Debug, Default)]
    pub struct ThreadPool {}

    impl ThreadPool {
        pub(crate) fn begin(
            &self,
            _: &'static str,
            job: impl FnOnce() + Send + 'static,
        ) -> io::Result<JobThread> {
            Ok(JobThread(Mutex::new(Some(thread::spawn(job)))))
        }

        pub(crate) fn keep(&self, _: JobThread) {}
    }

    /// A thread with one job.
    #[derive(Debug)]
    pub(crate) struct JobThread(Mutex<Option<JoinHandle<()>>>);

    impl JobThread {
        pub(crate) fn wait(&self, _: Option<Instant>) -> Option<std::thread::Result<()>> {
            let thread = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
            thread.map(JoinHandle::join)
        }
    }
}

pub(crate) use real::*;
