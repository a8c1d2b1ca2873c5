//! Threads that run one job after another, and may wait between them.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

type Job = Box<dyn FnOnce() + Send>;

/// A thread that waits for jobs. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct JobThread {
    name: &'static str,
    shared: Arc<Shared>,
    /// `None` only while this is dropped.
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// The next job, which has not begun.
    job: Option<Job>,
    /// The result of the last job; `None` while a job runs.
    ended: Option<thread::Result<()>>,
    is_closed: bool,
}

impl JobThread {
    /// Starts a thread and its first job.
    pub(crate) fn start(
        name: &'static str,
        job: impl FnOnce() + Send + 'static,
    ) -> io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let own = shared.clone();
        let thread = thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || own.serve())?;
        let thread = JobThread {
            name,
            shared,
            thread: Some(thread),
        };
        thread.begin(job);
        Ok(thread)
    }

    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    /// Begins a job. The caller must have waited for the previous job.
    pub(crate) fn begin(&self, job: impl FnOnce() + Send + 'static) {
        self.shared.lock().job = Some(Box::new(job));
        self.shared.changed.notify_all();
    }

    /// Waits until the job has ended and returns its result; `None` if the `deadline` passes first.
    pub(crate) fn wait(&self, deadline: Option<Instant>) -> Option<thread::Result<()>> {
        let mut state = self.shared.lock();
        loop {
            if let Some(result) = state.ended.take() {
                return Some(result);
            }
            let left = deadline.map(|at| at.saturating_duration_since(Instant::now()));
            if left == Some(Duration::ZERO) {
                return None;
            }
            state = self.shared.wait(state, left);
        }
    }
}

impl Drop for JobThread {
    fn drop(&mut self) {
        self.shared.lock().is_closed = true;
        self.shared.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            // The panics of jobs have been caught.
            let _ = thread.join();
        }
    }
}

impl Shared {
    /// The loop of the thread.
    fn serve(&self) {
        let mut state = self.lock();
        loop {
            if let Some(job) = state.job.take() {
                drop(state);
                let result = catch_unwind(AssertUnwindSafe(job));
                state = self.lock();
                state.ended = Some(result);
                self.changed.notify_all();
            } else if state.is_closed {
                return;
            } else {
                state = self.wait(state, None);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(
        &self,
        state: MutexGuard<'a, State>,
        timeout: Option<Duration>,
    ) -> MutexGuard<'a, State> {
        match timeout {
            Some(timeout) => {
                let waited = self.changed.wait_timeout(state, timeout);
                waited.unwrap_or_else(PoisonError::into_inner).0
            }
            None => {
                let waited = self.changed.wait(state);
                waited.unwrap_or_else(PoisonError::into_inner)
            }
        }
    }
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::sync::mpsc::{channel, sync_channel};

    use super::*;

    #[test]
    fn a_thread_runs_one_job_after_another() {
        let (ids_out, ids) = channel();
        let job = move || {
            let ids_out = ids_out.clone();
            move || ids_out.send(thread::current().id()).unwrap()
        };
        let thread = JobThread::start("test", job()).unwrap();
        assert!(thread.wait(None).unwrap().is_ok());
        thread.begin(job());
        assert!(thread.wait(None).unwrap().is_ok());
        let seen: Vec<_> = ids.try_iter().collect();
        assert_eq!(seen.len(), 2);
        assert_eq!(seen[0], seen[1]);
        drop(thread);
    }

    #[test]
    fn waiting_ends_in_time_and_tells_of_panics() {
        let (go, gone) = sync_channel::<()>(0);
        let thread = JobThread::start("test", move || {
            gone.recv().unwrap();
            std::panic::resume_unwind(Box::new("a panic"));
        })
        .unwrap();
        assert!(thread.wait(Some(Instant::now())).is_none());
        go.send(()).unwrap();
        assert!(thread.wait(None).unwrap().is_err());
        // The thread continues.
        thread.begin(|| {});
        assert!(thread.wait(None).unwrap().is_ok());
    }
}
