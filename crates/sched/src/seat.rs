//! Where a thread of the pool waits for its next job, and the caller for the
//! end of that job.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::broadcast::{Job, Panic};
use crate::limits::SPIN;

/// One thread's place. All that counts is under the lock; the two flags outside
/// say when it is worth taking.
#[derive(Debug, Default)]
pub(crate) struct Seat {
    state: Mutex<State>,
    /// There is something for the thread: a job, or the end.
    called: AtomicBool,
    /// The thread is running a job.
    running: AtomicBool,
    /// Wakes the thread.
    call: Condvar,
    /// Wakes the caller.
    ended: Condvar,
}

#[derive(Default)]
struct State {
    /// A job that the thread has not begun.
    job: Option<&'static Job<'static>>,
    running: bool,
    /// The panic of the last job.
    panic: Option<Panic>,
    closed: bool,
    /// The thread sleeps.
    thread_sleeps: bool,
    /// The caller sleeps.
    caller_sleeps: bool,
}

impl Seat {
    /// Gives the thread a job.
    pub(crate) fn post(&self, job: &'static Job<'static>) {
        self.change(|state| state.job = Some(job));
    }

    /// Tells the thread to end.
    pub(crate) fn close(&self) {
        self.change(|state| state.closed = true);
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.lock();
        change(&mut state);
        self.called.store(true, Ordering::Release);
        // A wake-up costs a system call even if nobody sleeps.
        if state.thread_sleeps {
            self.call.notify_one();
        }
    }

    /// Takes the job back if the thread has not begun it, else waits for its
    /// end. Afterwards the thread has no reference to it.
    pub(crate) fn call_off(&self) -> Result<(), Panic> {
        if self.lock().job.take().is_some() {
            return Ok(());
        }
        spin_until(|| !self.running.load(Ordering::Acquire));
        let mut state = self.lock();
        while state.running {
            state.caller_sleeps = true;
            state = wait(&self.ended, state);
        }
        state.caller_sleeps = false;
        state.panic.take().map_or(Ok(()), Err)
    }

    /// Waits for the thread's next job; `None` if there will be none. From here
    /// to [`end`](Self::end) the thread is running it.
    pub(crate) fn next(&self) -> Option<&'static Job<'static>> {
        spin_until(|| self.called.load(Ordering::Acquire));
        let mut state = self.lock();
        while !state.closed {
            self.called.store(false, Ordering::Relaxed);
            if let Some(job) = state.job.take() {
                state.running = true;
                self.running.store(true, Ordering::Relaxed);
                return Some(job);
            }
            state.thread_sleeps = true;
            state = wait(&self.call, state);
            state.thread_sleeps = false;
        }
        None
    }

    /// The thread has ended its job.
    pub(crate) fn end(&self, panic: Option<Panic>) {
        let mut state = self.lock();
        state.running = false;
        state.panic = panic;
        self.running.store(false, Ordering::Release);
        if state.caller_sleeps {
            self.ended.notify_one();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing that is done under the lock can panic halfway.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn wait<'a>(condition: &Condvar, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
    condition
        .wait(state)
        .unwrap_or_else(PoisonError::into_inner)
}

/// Returns when `done`, or after a while.
fn spin_until(done: impl Fn() -> bool) {
    const LOOKS_PER_CLOCK: usize = 16;
    let begun = Instant::now();
    loop {
        for _ in 0..LOOKS_PER_CLOCK {
            if done() {
                return;
            }
            std::hint::spin_loop();
        }
        if begun.elapsed() >= SPIN {
            return;
        }
    }
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("State")
            .field("has_job", &self.job.is_some())
            .field("running", &self.running)
            .field("closed", &self.closed)
            .finish_non_exhaustive()
    }
}
