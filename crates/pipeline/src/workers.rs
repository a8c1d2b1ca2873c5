//! The threads of an iteration: the planning thread, and workers, which start when there is work.

use std::sync::{Arc, PoisonError};
use std::thread;
use std::{io, mem};

use crate::flow::Flow;
use crate::sync::{Instant, JobThread, MutexGuard, ThreadPool};
use crate::worker::Worker;

/// The threads that were started.
#[derive(Debug, Default)]
pub(crate) struct Threads {
    running: Vec<JobThread>,
    /// Whether no more threads are started.
    is_closed: bool,
}

impl Flow {
    /// Starts the worker with number `worker`.
    pub(crate) fn start_worker(&self, worker: usize) -> io::Result<()> {
        self.begin("atds-worker", move |flow| Worker::new(worker, flow).run())
    }

    /// Begins a job on a thread, unless no more are started.
    pub(crate) fn begin(
        &self,
        name: &'static str,
        job: impl FnOnce(Arc<Flow>) + Send + 'static,
    ) -> io::Result<()> {
        let mut threads = self.lock_threads();
        let Some(flow) = self.this.upgrade().filter(|_| !threads.is_closed) else {
            return Ok(());
        };
        let job = move || {
            // A panic must not leave the other threads waiting.
            let _guard = StopOnPanic(flow.clone());
            job(flow);
        };
        let thread = match &self.options.pool {
            Some(pool) => pool.begin(name, job),
            None => ThreadPool::default().begin(name, job),
        };
        threads.running.push(thread?);
        Ok(())
    }

    /// Waits for all threads until `deadline`, and starts no more. Returns whether all have ended, or
    /// the panic of one.
    pub(crate) fn join(&self, deadline: Option<Instant>) -> thread::Result<bool> {
        let mut threads = self.lock_threads();
        threads.is_closed = true;
        let mut running = mem::take(&mut threads.running);
        drop(threads);
        while let Some(thread) = running.pop() {
            let Some(result) = thread.wait(deadline) else {
                running.push(thread);
                self.lock_threads().running = running;
                return Ok(false);
            };
            if let Some(pool) = &self.options.pool {
                pool.keep(thread);
            }
            if let Err(panic) = result {
                self.lock_threads().running = running;
                return Err(panic);
            }
        }
        Ok(true)
    }

    fn lock_threads(&self) -> MutexGuard<'_, Threads> {
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
