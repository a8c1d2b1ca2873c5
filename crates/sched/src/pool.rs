//! Threads that run one job after another, and may wait between them.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

type Job = Box<dyn FnOnce() + Send>;

/// Threads that wait for the next job, for iterations one after another.
#[derive(Debug, Default)]
pub struct ThreadPool {
    waiting: Mutex<Vec<JobThread>>,
}

impl ThreadPool {
    /// Begins a job on a thread of this name that waits, or on a new one.
    ///
    /// # Errors
    /// The system starts no thread.
    pub fn begin(
        &self,
        name: &'static str,
        job: impl FnOnce() + Send + 'static,
    ) -> io::Result<JobThread> {
        let mut threads = self.lock();
        let waiting = threads.iter().position(|thread| thread.name == name);
        let Some(waiting) = waiting.map(|at| threads.swap_remove(at)) else {
            drop(threads);
            return JobThread::start(name, job);
        };
        waiting.begin(job);
        Ok(waiting)
    }

    /// Keeps a thread whose job has ended.
    pub fn keep(&self, thread: JobThread) {
        self.lock().push(thread);
    }

    /// Ends the threads that wait, and waits for them.
    pub fn end(&self) {
        let threads = std::mem::take(&mut *self.lock());
        drop(threads);
    }

    fn lock(&self) -> MutexGuard<'_, Vec<JobThread>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A thread that runs a job, or waits for the next. It ends when this is dropped.
#[derive(Debug)]
pub struct JobThread {
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
    fn start(name: &'static str, job: impl FnOnce() + Send + 'static) -> io::Result<Self> {
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

    /// Begins a job. The caller must have waited for the previous job.
    fn begin(&self, job: impl FnOnce() + Send + 'static) {
        self.shared.lock().job = Some(Box::new(job));
        self.shared.changed.notify_all();
    }

    /// Waits until the job has ended and returns its result; `None` if the `deadline` passes first.
    pub fn wait(&self, deadline: Option<Instant>) -> Option<thread::Result<()>> {
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
    fn threads_wait_for_the_next_job_until_they_are_ended() {
        let pool = ThreadPool::default();
        let iteration = || {
            let (id_out, id) = channel();
            let job = move || id_out.send(thread::current().id()).unwrap();
            let thread = pool.begin("test", job).unwrap();
            assert!(thread.wait(None).unwrap().is_ok());
            pool.keep(thread);
            id.recv().unwrap()
        };
        let first = iteration();
        assert_eq!(iteration(), first);
        pool.end();
        let second = iteration();
        assert_ne!(second, first);
        assert_eq!(iteration(), second);
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
