//! The limit on the bytes a pipeline holds.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tensor_batch::BatchSpec;

use crate::limits::READ_AHEAD_SHARE;
use crate::stats::Nanos;
use crate::{Error, ErrorKind};

/// Counts the bytes of a pipeline: blocks read and not yet in the window,
/// blocks of the window, the batch being made, ready batches. Together they
/// never exceed the limit, unless that ends in an error.
///
/// One part of the limit, a [`READ_AHEAD_SHARE`]th, is all that blocks read
/// ahead may take. The rest is for the window and the batch being made: if these
/// alone do not fit it, that is an error, and since they do not depend on who is
/// how fast, it always is. What is in the way otherwise are ready batches, so
/// whoever finds no room waits for the consumer to take them.
#[derive(Debug)]
pub(crate) struct Budget {
    limit: u64,
    held: Mutex<Held>,
    changed: Condvar,
    /// The engine waits for what the reader sends, and nobody has seen that yet.
    starving: AtomicBool,
    stopped: AtomicBool,
    /// How long the engine and its workers have waited for the consumer.
    waited: Nanos,
}

#[derive(Debug, Default)]
struct Held {
    /// Compressed blocks on their way to the window.
    queued: u64,
    /// Compressed and decompressed blocks of the window.
    window: u64,
    /// What is known of the batch being made.
    making: u64,
    /// Batches that wait for the consumer.
    ready: u64,
    /// What the reader has sent and the engine has not received.
    on_the_way: usize,
    /// Whether the engine waits for what the reader sends.
    starving: bool,
    /// Threads that wait for any of this to change.
    waiting: usize,
    peak: u64,
    window_peak: u64,
}

impl Held {
    fn total(&self) -> u64 {
        self.queued + self.window + self.making + self.ready
    }

    fn note_peak(&mut self) {
        self.peak = self.peak.max(self.total());
        self.window_peak = self.window_peak.max(self.window);
    }

    /// Whether the engine has nothing left to go on with.
    fn at_a_stop(&self) -> bool {
        self.starving && self.queued == 0 && self.on_the_way == 0
    }
}

impl Budget {
    pub(crate) fn new(limit: u64) -> Self {
        Budget {
            limit,
            held: Mutex::default(),
            changed: Condvar::new(),
            starving: AtomicBool::new(false),
            stopped: AtomicBool::new(false),
            waited: Nanos::default(),
        }
    }

    pub(crate) fn limit(&self) -> u64 {
        self.limit
    }

    /// The most bytes of blocks that are read ahead.
    pub(crate) fn read_ahead(&self) -> u64 {
        self.limit / READ_AHEAD_SHARE
    }

    /// The most bytes of the window and the batch being made.
    pub(crate) fn for_batch(&self) -> u64 {
        self.limit - self.read_ahead()
    }

    /// An error if the window and the batch being made need more than there is
    /// for them.
    pub(crate) fn check(&self, needed: u64) -> Result<(), Error> {
        if needed > self.for_batch() {
            return Err(Error::new(self.exceeded(needed)));
        }
        Ok(())
    }

    /// The error of a window and a batch that take `bytes`, or more.
    #[cold]
    pub(crate) fn exceeded(&self, bytes: u64) -> ErrorKind {
        let read_ahead = bytes.div_ceil(READ_AHEAD_SHARE - 1);
        ErrorKind::MemoryLimit {
            limit: self.limit,
            needed: bytes.saturating_add(read_ahead),
        }
    }

    /// The most bytes that were held at a time.
    pub(crate) fn peak(&self) -> u64 {
        self.lock().peak
    }

    /// The most bytes that the window held at a time.
    pub(crate) fn window_peak(&self) -> u64 {
        self.lock().window_peak
    }

    /// How long there was no room until the consumer took a batch.
    pub(crate) fn waited(&self) -> Duration {
        self.waited.get()
    }

    /// Ends all waiting, for good.
    pub(crate) fn stop(&self) {
        self.stopped.store(true, Relaxed);
        // Taken so that no thread is between its check and its wait.
        drop(self.lock());
        self.changed.notify_all();
    }

    pub(crate) fn stopped(&self) -> bool {
        self.stopped.load(Relaxed)
    }

    /// The reader has blocks of `bytes` to hand over: waits for room, or until
    /// the engine cannot go on without. Only in the first case it may hand them
    /// over, all together.
    pub(crate) fn admit_group(&self, bytes: u64) -> bool {
        self.admit(|held| held.queued + bytes <= self.read_ahead(), bytes)
    }

    /// The reader has a block of `bytes` to hand over: waits for room. If the
    /// engine cannot go on without it, and no ready batch takes its room, there
    /// is room; should it be too much for the window, the engine tells.
    pub(crate) fn admit_block(&self, bytes: u64) {
        let fits = |held: &Held| held.queued + bytes <= self.read_ahead() || held.at_a_stop();
        if !self.admit(fits, bytes) {
            self.update(|held| held.queued += bytes);
        }
    }

    /// Waits until `fits` and the limit allow `bytes` more, and counts them; or
    /// until nothing but the reader can move on, and returns `false`.
    fn admit(&self, fits: impl Fn(&Held) -> bool, bytes: u64) -> bool {
        let fits = |held: &Held| fits(held) && held.total() + bytes <= self.limit;
        let mut held = self.wait_while(|held| {
            let last_resort = held.at_a_stop() && held.ready == 0;
            !fits(held) && !last_resort
        });
        let admitted = fits(&held);
        if admitted {
            held.queued += bytes;
            held.note_peak();
        }
        admitted
    }

    /// The reader sends something, be it blocks or not.
    pub(crate) fn sending(&self) {
        self.update(|held| held.on_the_way += 1);
    }

    /// The engine waits for what the reader sends.
    pub(crate) fn starve(&self) {
        self.starving.store(true, Relaxed);
        self.update(|held| held.starving = true);
    }

    /// The engine has received what was sent.
    pub(crate) fn received(&self) {
        self.starving.store(false, Relaxed);
        self.update(|held| {
            held.on_the_way -= 1;
            held.starving = false;
        });
    }

    /// Whether the engine waits for what the reader sends; `true` once each time it does.
    pub(crate) fn has_starved(&self) -> bool {
        self.starving.load(Relaxed) && self.starving.swap(false, Relaxed)
    }

    /// The window holds `bytes` now, for which `arrived` have left the queue.
    pub(crate) fn window(&self, bytes: u64, arrived: u64) {
        self.update(|held| {
            held.queued = held.queued.saturating_sub(arrived);
            held.window = bytes;
        });
    }

    /// A batch is begun: `known` bytes of it now, `expected` ones in the end.
    pub(crate) fn begin_batch(&self, known: u64, expected: u64) {
        let mut held = self.wait_for_consumer(|held| held.total() + expected);
        held.making = known;
        held.note_peak();
    }

    /// A block of the window grows by `bytes`, since it is decompressed.
    pub(crate) fn grow(&self, bytes: u64) {
        let mut held = self.wait_for_consumer(|held| held.total() + bytes);
        held.window += bytes;
        held.note_peak();
    }

    /// The batch that was begun is ready and has `bytes`.
    pub(crate) fn finish_batch(&self, bytes: u64) {
        let mut held = self.wait_for_consumer(|held| held.total() - held.making + bytes);
        held.making = 0;
        held.ready += bytes;
        held.note_peak();
    }

    /// The consumer has a ready batch.
    pub(crate) fn handed_out(&self, bytes: u64) {
        self.update(|held| held.ready = held.ready.saturating_sub(bytes));
    }

    /// Waits while `needed` is above the limit and there is a batch that the
    /// consumer can take.
    fn wait_for_consumer(&self, needed: impl Fn(&Held) -> u64) -> MutexGuard<'_, Held> {
        let full = |held: &Held| held.ready > 0 && needed(held) > self.limit;
        let held = self.lock();
        if !full(&held) {
            return held;
        }
        drop(held);
        self.waited.time(|| self.wait_while(full))
    }

    fn wait_while(&self, full: impl Fn(&Held) -> bool) -> MutexGuard<'_, Held> {
        let mut held = self.lock();
        while !self.stopped() && full(&held) {
            held.waiting += 1;
            held = self
                .changed
                .wait(held)
                .unwrap_or_else(PoisonError::into_inner);
            held.waiting -= 1;
        }
        held
    }

    fn update(&self, change: impl FnOnce(&mut Held)) {
        let mut held = self.lock();
        change(&mut held);
        held.note_peak();
        let waiting = held.waiting;
        drop(held);
        // A wake-up costs a system call even if nobody waits.
        if waiting > 0 {
            self.changed.notify_all();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Bytes of a row in the columns whose size is known beforehand: dense ones of
/// fixed width.
pub(crate) fn known_row_bytes(spec: &BatchSpec) -> u64 {
    let columns = spec.columns().iter().map(|column| {
        let size = column.dtype.size().unwrap_or(0) as u64;
        column
            .row_len()
            .map_or(0, |len| (len as u64).saturating_mul(size))
    });
    columns.fold(0, u64::saturating_add)
}
