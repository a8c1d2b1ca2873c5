//! The threads of an iteration: the planning thread, and workers, which start when there is work.

use std::sync::{Arc, PoisonError};
use std::thread;
use std::{io, mem};

use crate::builders::Builders;
use crate::flow::Flow;
use crate::sync::{Instant, JobThread, Mutex, MutexGuard, ThreadPool};
use crate::worker::Worker;

/// What a worker thread needs, and the threads that were started.
#[derive(Debug)]
pub(crate) struct Workers {
    pub(crate) flow: Arc<Flow>,
    pub(crate) builders: Arc<Builders>,
    pub(crate) threads: Mutex<Threads>,
}

#[derive(Debug, Default)]
pub(crate) struct Threads {
    running: Vec<JobThread>,
    /// Whether no more threads are started.
    is_closed: bool,
}

impl Workers {
    /// Starts the worker with number `worker`.
    pub(crate) fn start(&self, worker: usize) -> io::Result<()> {
        let (flow, builders) = (self.flow.clone(), self.builders.clone());
        let worker = Worker::new(worker, flow, builders);
        self.begin("atds-worker", || worker.run())
    }

    /// Begins a job on a thread, unless no more are started.
    pub(crate) fn begin(
        &self,
        name: &'static str,
        job: impl FnOnce() + Send + 'static,
    ) -> io::Result<()> {
        let mut threads = self.lock();
        if threads.is_closed {
            return Ok(());
        }
        // A panic must not leave the other threads waiting.
        let guard = StopOnPanic(self.flow.clone());
        let job = move || {
            let _guard = guard;
            job();
        };
        let thread = match &self.flow.options.pool {
            Some(pool) => pool.begin(name, job),
            None => ThreadPool::default().begin(name, job),
        };
        threads.running.push(thread?);
        Ok(())
    }

    /// Waits for all threads until `deadline`, and starts no more. Returns whether all have ended, or
    /// the panic of one.
    pub(crate) fn join(&self, deadline: Option<Instant>) -> thread::Result<bool> {
        let mut threads = self.lock();
        threads.is_closed = true;
        let mut running = mem::take(&mut threads.running);
        drop(threads);
        while let Some(thread) = running.pop() {
            let Some(result) = thread.wait(deadline) else {
                running.push(thread);
                self.lock().running = running;
                return Ok(false);
            };
            if let Some(pool) = &self.flow.options.pool {
                pool.keep(thread);
            }
            if let Err(panic) = result {
                self.lock().running = running;
                return Err(panic);
            }
        }
        Ok(true)
    }

    fn lock(&self) -> MutexGuard<'_, Threads> {
        self.threads.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Stops the iteration if its thread panics.
struct StopOnPanic(Arc<Flow>);

impl Drop for StopOnPanic {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.stop();
        }
    }
}
