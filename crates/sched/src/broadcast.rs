//! Running one borrowed closure on several long-lived threads at a time.
//!
//! The `unsafe` here: threads that outlive a call run a closure
//! that does not. Scoped threads would need none, but cost a start each, some
//! ten times the wake-up of a sleeping thread.
#![allow(unsafe_code)]

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Instant;

use crate::apart::put_apart;
use crate::limits::MOST_APART;
use crate::seat::{Habit, Seat};

/// A closure that several threads run, each with its own number.
pub(crate) type Job<'a> = dyn Fn(usize) + Sync + 'a;

/// What a panic carries.
pub(crate) type Panic = Box<dyn Any + Send>;

/// Threads that wait for jobs. They end when this is dropped.
#[derive(Debug)]
pub(crate) struct Broadcast {
    threads: Vec<(Arc<Seat>, JoinHandle<()>)>,
    /// The process that has them: one that is forked from it has none.
    process: u32,
}

/// The threads that have been called for a job.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Called<'a> {
    threads: &'a [(Arc<Seat>, JoinHandle<()>)],
    process: u32,
}

impl Called<'_> {
    /// Has some of those that have not begun begin on another core than this one.
    pub(crate) fn put_apart(self) {
        let waiting = self.threads.iter().filter(|(seat, _)| seat.is_called());
        let mut waiting = waiting.take(MOST_APART).peekable();
        if waiting.peek().is_some() && self.process == std::process::id() {
            waiting.for_each(|(_, thread)| put_apart(thread));
        }
    }
}

impl Broadcast {
    /// Starts `threads` threads, or as many as the system lets it, numbered
    /// from 1.
    pub(crate) fn new(threads: usize) -> Self {
        let start = |number: usize| {
            let seat = Arc::new(Seat::default());
            let own = seat.clone();
            let thread = std::thread::Builder::new()
                .name(format!("atds-worker-{number}"))
                .spawn(move || serve(&own, number));
            Some((seat, thread.ok()?))
        };
        Broadcast {
            threads: (1..=threads).map_while(start).collect(),
            process: std::process::id(),
        }
    }

    /// The number of threads.
    pub(crate) fn threads(&self) -> usize {
        self.threads.len()
    }

    /// Runs `job(i)` for `i` in `1..workers`, and `own` on this thread, and returns
    /// when all have ended. Threads that have not begun when `own` has ended
    /// do not begin any more. Of several panics, gives one.
    ///
    /// `workers` is at least 1 and at most one more than the threads.
    pub(crate) fn run(
        &mut self,
        workers: usize,
        job: &Job<'_>,
        own: impl FnOnce(Called<'_>),
    ) -> Result<(), Panic> {
        // SAFETY: only the lifetime changes, and no thread uses the reference
        // after this function has returned: it is only ever in the seats below,
        // a thread that takes it from its seat is `running` until after its
        // last use, and `call_off` empties the seat or waits for that.
        // `call_off` is reached for each seat, since nothing before it unwinds:
        // `post` and `call_off` do not panic, `own` is caught, and what
        // panics carry, which may panic when it is dropped, is kept until then.
        // `&mut self` keeps another job out of the seats meanwhile.
        let posted = unsafe { std::mem::transmute::<&Job<'_>, &'static Job<'static>>(job) };
        let called = &self.threads[..workers - 1];
        for (seat, _) in called {
            seat.post(posted);
        }
        let process = self.process;
        let own = catch_unwind(AssertUnwindSafe(|| {
            own(Called {
                threads: called,
                process,
            });
        }));
        let mut panics = Vec::from_iter(own.err());
        for (seat, _) in called {
            panics.extend(seat.call_off().err());
        }
        panics.truncate(1);
        panics.pop().map_or(Ok(()), Err)
    }
}

impl Drop for Broadcast {
    fn drop(&mut self) {
        for (seat, _) in &self.threads {
            seat.close();
        }
        for (_, thread) in self.threads.drain(..) {
            // The jobs' panics have been caught; there is nothing else to tell.
            let _ = thread.join();
        }
    }
}

/// A thread's life.
fn serve(seat: &Seat, number: usize) {
    let mut habit = Habit::default();
    while let Some(job) = seat.next(&mut habit) {
        let begun = Instant::now();
        let result = catch_unwind(AssertUnwindSafe(|| job(number)));
        habit.worked(begun.elapsed());
        seat.end(result.err());
    }
}
