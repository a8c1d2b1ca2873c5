//! Running one borrowed closure on several long-lived threads at a time.
//!
//! The only `unsafe` of the crate: threads that outlive a call run a closure
//! that does not. Scoped threads would need none, but cost a start each, some
//! ten times the wake-up of a parked thread.
#![allow(unsafe_code)]

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// Looks at the next job's number this often before a thread parks: some
/// microseconds, the length of a gap between two jobs of one batch.
const SPINS: usize = 2_000;

/// A closure that several threads run, each with its own number.
type Job<'a> = dyn Fn(usize) + Sync + 'a;

/// Threads that wait for jobs.
#[derive(Debug)]
pub(crate) struct Broadcast {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    /// Jobs begun so far; read without the lock while spinning.
    begun: AtomicU64,
    wake: Condvar,
    done: Condvar,
}

#[derive(Default)]
struct State {
    /// Jobs begun so far.
    begun: u64,
    /// The job to run, while it may be run.
    job: Option<&'static Job<'static>>,
    /// Threads `1..workers` take part.
    workers: usize,
    /// Those of them that have not ended yet.
    running: usize,
    panic: Option<Box<dyn Any + Send>>,
    shutdown: bool,
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("State")
            .field("begun", &self.begun)
            .field("running", &self.running)
            .finish_non_exhaustive()
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Closures run outside the lock, so the state is good after any panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Broadcast {
    /// Starts `threads` threads, numbered from 1.
    pub(crate) fn new(threads: usize) -> Self {
        let shared = Arc::new(Shared::default());
        let start = |number: usize| {
            let shared = shared.clone();
            std::thread::Builder::new()
                .name(format!("atds-worker-{number}"))
                .spawn(move || serve(&shared, number))
                .expect("the system can start a thread")
        };
        Broadcast {
            threads: (1..=threads).map(start).collect(),
            shared,
        }
    }

    /// Runs `job(i)` for `i` in `0..workers`, 0 on this thread, and returns
    /// when all have ended.
    ///
    /// # Panics
    /// With the panic of a `job`, once all have ended; or if there are fewer
    /// threads.
    pub(crate) fn run(&mut self, workers: usize, job: &Job<'_>) {
        assert!(
            workers <= self.threads.len() + 1,
            "more workers than threads"
        );
        if workers <= 1 {
            return job(0);
        }
        // SAFETY: only the lifetime changes. The reference is used by threads
        // that have been counted in `running`, each of which counts itself out
        // after its last use; `finish` below does not return before the count
        // is 0, and takes the reference out of the state. Nothing between here
        // and there can unwind: the caller's own share runs in `catch_unwind`.
        // `&mut self` keeps a second job from being begun meanwhile.
        let job_static = unsafe { std::mem::transmute::<&Job<'_>, &'static Job<'static>>(job) };
        {
            let mut state = self.shared.lock();
            state.begun += 1;
            state.job = Some(job_static);
            state.workers = workers;
            state.running = workers - 1;
            self.shared.begun.store(state.begun, Ordering::Release);
        }
        self.shared.wake.notify_all();
        let own = catch_unwind(AssertUnwindSafe(|| job(0)));
        let other = self.finish();
        if let Some(panic) = own.err().or(other) {
            resume_unwind(panic);
        }
    }

    /// Waits until all threads have ended the job; gives the panic of one.
    fn finish(&self) -> Option<Box<dyn Any + Send>> {
        let mut state = self.shared.lock();
        while state.running > 0 {
            state = self
                .shared
                .done
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
        state.job = None;
        state.panic.take()
    }
}

impl Drop for Broadcast {
    fn drop(&mut self) {
        {
            let mut state = self.shared.lock();
            state.shutdown = true;
            state.begun += 1;
            self.shared.begun.store(state.begun, Ordering::Release);
        }
        self.shared.wake.notify_all();
        for thread in self.threads.drain(..) {
            // Jobs' panics are caught; there is nothing else to tell.
            let _ = thread.join();
        }
    }
}

/// A thread's life: waits for a job, runs it if it takes part.
fn serve(shared: &Shared, number: usize) {
    let mut seen = 0;
    loop {
        let mut spins = 0;
        while shared.begun.load(Ordering::Acquire) == seen && spins < SPINS {
            std::hint::spin_loop();
            spins += 1;
        }
        let mut state = shared.lock();
        while state.begun == seen {
            state = shared
                .wake
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
        seen = state.begun;
        if state.shutdown {
            return;
        }
        let Some(job) = state.job.filter(|_| number < state.workers) else {
            continue;
        };
        drop(state);
        let result = catch_unwind(AssertUnwindSafe(|| job(number)));
        let mut state = shared.lock();
        if let Err(panic) = result {
            state.panic.get_or_insert(panic);
        }
        state.running -= 1;
        if state.running == 0 {
            shared.done.notify_one();
        }
    }
}
