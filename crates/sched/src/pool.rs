//! Threads that run one job after another, and may wait between them.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Instant;
use std::{io, mem, process};

type Job = Box<dyn FnOnce() + Send>;

/// Threads that wait for the next job, for iterations one after another.
///
/// A forked process has none of them: there, the pool begins with no threads.
#[derive(Debug)]
pub struct ThreadPool {
    /// The process that made the pool.
    process: u32,
    waiting: Mutex<Vec<JobThread>>,
    /// The pool of a process that was forked from it.
    forked: OnceLock<Box<ThreadPool>>,
}

impl Default for ThreadPool {
    fn default() -> Self {
        ThreadPool {
            process: process::id(),
            waiting: Mutex::default(),
            forked: OnceLock::new(),
        }
    }
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
        let waiting = waiting.map(|at| threads.swap_remove(at));
        drop(threads);
        let thread = waiting.map_or_else(|| JobThread::start(name), Ok)?;
        thread.begin(job);
        Ok(thread)
    }

    /// Keeps a thread whose job has ended.
    pub fn keep(&self, thread: JobThread) {
        self.lock().push(thread);
    }

    /// Ends the threads that wait, and waits for them.
    pub fn end(&self) {
        let threads = mem::take(&mut *self.lock());
        drop(threads);
    }

    fn lock(&self) -> MutexGuard<'_, Vec<JobThread>> {
        if self.process != process::id() {
            // A thread of the parent may have held the lock during the fork.
            return self.forked.get_or_init(Box::default).lock();
        }
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A thread that runs a job, or waits for the next. It ends when this is dropped.
#[derive(Debug)]
pub struct JobThread {
    name: &'static str,
    /// The process that has the thread.
    process: u32,
    results: Receiver<thread::Result<()>>,
    /// `None` only while this is dropped, as `thread` is.
    jobs: Option<Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

impl JobThread {
    fn start(name: &'static str) -> io::Result<Self> {
        let (jobs, queue) = channel::<Job>();
        let (ended, results) = channel();
        let run = move || {
            for job in queue {
                // It is received, or nobody asks for it.
                let _ = ended.send(catch_unwind(AssertUnwindSafe(job)));
            }
        };
        let thread = thread::Builder::new().name(name.to_owned()).spawn(run)?;
        Ok(JobThread {
            name,
            process: process::id(),
            results,
            jobs: Some(jobs),
            thread: Some(thread),
        })
    }

    /// Begins a job. The caller must have waited for the previous job.
    fn begin(&self, job: impl FnOnce() + Send + 'static) {
        // The thread takes jobs until this is dropped.
        let _ = self.jobs.as_ref().map(|jobs| jobs.send(Box::new(job)));
    }

    /// Waits until the job has ended and returns its result; `None` if the `deadline` passes first.
    pub fn wait(&self, deadline: Option<Instant>) -> Option<thread::Result<()>> {
        match deadline {
            None => self.results.recv().ok(),
            Some(at) => {
                let left = at.saturating_duration_since(Instant::now());
                self.results.recv_timeout(left).ok()
            }
        }
    }
}

impl Drop for JobThread {
    fn drop(&mut self) {
        let (jobs, thread) = (self.jobs.take(), self.thread.take());
        if self.process != process::id() {
            // A forked process does not have the thread, and cannot wait for it.
            return mem::forget((jobs, thread));
        }
        drop(jobs);
        if let Some(thread) = thread {
            // The panics of jobs have been caught.
            let _ = thread.join();
        }
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
        let thread = JobThread::start("test").unwrap();
        thread.begin(job());
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
        let thread = JobThread::start("test").unwrap();
        thread.begin(move || {
            gone.recv().unwrap();
            std::panic::resume_unwind(Box::new("a panic"));
        });
        assert!(thread.wait(Some(Instant::now())).is_none());
        go.send(()).unwrap();
        assert!(thread.wait(None).unwrap().is_err());
        // The thread continues.
        thread.begin(|| {});
        assert!(thread.wait(None).unwrap().is_ok());
    }
}
