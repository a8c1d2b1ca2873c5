//! Where a thread of the pool waits for its next job, and the caller for the
//! end of that job.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::broadcast::{Job, Panic};
use crate::limits::{LOOK_OUT, SPIN, WORTH_A_LOOK};

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
    /// When there was something for the thread last.
    called_at: Option<Instant>,
    /// The panic of the last job.
    panic: Option<Panic>,
    closed: bool,
    /// The thread sleeps.
    thread_sleeps: bool,
    /// The caller sleeps.
    caller_sleeps: bool,
}

/// How a thread's last two jobs went.
#[derive(Debug, Default)]
pub(crate) struct Habit([Turn; 2]);

/// A job that a thread waited for and did, or that was taken back.
#[derive(Debug)]
struct Turn {
    /// How long until it was called.
    wait: Duration,
    /// How long it worked.
    work: Duration,
}

impl Default for Turn {
    /// Nothing tells yet that a job follows soon.
    fn default() -> Self {
        Turn {
            wait: Duration::MAX,
            work: Duration::ZERO,
        }
    }
}

impl Habit {
    /// How long to look out for the next job: a part of what the thread works, if jobs come as
    /// soon. The run that gathers follows soon in any case, so one turn tells too little.
    fn patience(&self) -> Duration {
        let [a, b] = &self.0;
        let patience = LOOK_OUT.min(a.work.max(b.work) / WORTH_A_LOOK);
        match a.wait.max(b.wait) < patience {
            true => patience.max(SPIN),
            false => SPIN,
        }
    }

    fn called(&mut self, wait: Duration) {
        self.0.swap(0, 1);
        let work = Duration::ZERO;
        self.0[1] = Turn { wait, work };
    }

    /// The thread has worked so long.
    pub(crate) fn worked(&mut self, work: Duration) {
        self.0[1].work = work;
    }
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
        state.called_at = Some(Instant::now());
        self.called.store(true, Ordering::Release);
        self.wake(state);
    }

    /// Wakes the thread, if it sleeps.
    fn wake(&self, state: MutexGuard<'_, State>) {
        // A wake-up costs a system call even if nobody sleeps.
        let sleeps = state.thread_sleeps;
        // Who is woken wants the lock.
        drop(state);
        if sleeps {
            self.call.notify_one();
        }
    }

    /// Whether there is something for the thread that it has not seen.
    pub(crate) fn is_called(&self) -> bool {
        self.called.load(Ordering::Relaxed)
    }

    /// Takes the job back if the thread has not begun it, else waits for its
    /// end. Afterwards the thread has no reference to it.
    pub(crate) fn call_off(&self) -> Result<(), Panic> {
        if self.lock().job.take().is_some() {
            return Ok(());
        }
        look_out(LOOK_OUT, || !self.running.load(Ordering::Acquire));
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
    pub(crate) fn next(&self, habit: &mut Habit) -> Option<&'static Job<'static>> {
        loop {
            let begun = Instant::now();
            look_out(habit.patience(), || self.called.load(Ordering::Acquire));
            let mut state = self.lock();
            // It is only set under the lock.
            while !self.called.load(Ordering::Relaxed) {
                state.thread_sleeps = true;
                state = wait(&self.call, state);
                state.thread_sleeps = false;
            }
            self.called.store(false, Ordering::Relaxed);
            if state.closed {
                return None;
            }
            if let Some(called) = state.called_at {
                habit.called(called.saturating_duration_since(begun));
            }
            if let Some(job) = state.job.take() {
                state.running = true;
                self.running.store(true, Ordering::Relaxed);
                return Some(job);
            }
            // It has been taken back; the next may follow as soon.
        }
    }

    /// The thread has ended its job.
    pub(crate) fn end(&self, panic: Option<Panic>) {
        let mut state = self.lock();
        state.running = false;
        state.panic = panic;
        self.running.store(false, Ordering::Release);
        let sleeps = state.caller_sleeps;
        drop(state);
        if sleeps {
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

/// Returns when `done`, or after `patience`. Soon lets others have the core meanwhile.
fn look_out(patience: Duration, done: impl Fn() -> bool) {
    const LOOKS_PER_CLOCK: usize = 16;
    let begun = Instant::now();
    loop {
        for _ in 0..LOOKS_PER_CLOCK {
            if done() {
                return;
            }
            std::hint::spin_loop();
        }
        let elapsed = begun.elapsed();
        if elapsed >= patience {
            return;
        }
        if elapsed >= SPIN {
            std::thread::yield_now();
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

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::sync::Arc;
    use std::sync::atomic::AtomicUsize;

    use super::*;

    #[test]
    fn a_thread_is_patient_as_long_as_its_jobs_follow_soon() {
        let long = LOOK_OUT * WORTH_A_LOOK;
        let mut habit = Habit::default();
        let mut patience = |wait, work| {
            habit.called(wait);
            habit.worked(work);
            habit.patience()
        };
        let (soon, late) = (LOOK_OUT / 2, LOOK_OUT);
        assert_eq!(patience(soon, long), SPIN);
        assert_eq!(patience(soon, SPIN), LOOK_OUT);
        assert_eq!(patience(soon, long), LOOK_OUT);
        // As with batches that nobody takes: each is decoded late, and gathered soon after.
        assert_eq!(patience(late, long), SPIN);
        assert_eq!(patience(soon, SPIN), SPIN);
        assert_eq!(patience(late, long), SPIN);
        // It looks out for a part of what it works.
        let (little, sooner) = (LOOK_OUT, LOOK_OUT / WORTH_A_LOOK / 2);
        assert_eq!(patience(sooner, little), SPIN);
        assert_eq!(patience(sooner, little), LOOK_OUT / WORTH_A_LOOK);
        assert_eq!(patience(soon, little), SPIN);
    }

    #[test]
    fn who_looks_out_does_so_until_it_is_done_or_has_no_more_patience() {
        let begun = Instant::now();
        look_out(3 * SPIN, || false);
        assert!(begun.elapsed() >= 3 * SPIN);

        let looks = Cell::new(0);
        look_out(Duration::MAX, || {
            looks.set(looks.get() + 1);
            looks.get() == 100
        });
        assert_eq!(looks.get(), 100);
    }

    #[test]
    fn a_job_taken_back_is_not_run_and_the_next_is() {
        static RUNS: AtomicUsize = AtomicUsize::new(0);
        let seat = Arc::new(Seat::default());
        let own = seat.clone();
        // Called before it looks, and the job gone.
        seat.post(&|_| unreachable!("taken back"));
        assert!(seat.call_off().is_ok());
        let thread = std::thread::spawn(move || {
            let mut habit = Habit::default();
            while let Some(job) = own.next(&mut habit) {
                job(1);
                own.end(None);
            }
        });
        while RUNS.load(Ordering::Relaxed) == 0 {
            seat.post(&|worker| {
                RUNS.fetch_add(worker, Ordering::Relaxed);
            });
            std::thread::yield_now();
            assert!(seat.call_off().is_ok());
        }
        seat.close();
        assert!(thread.join().is_ok());
    }
}
