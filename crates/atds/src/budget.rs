//! The limit on the bytes a pipeline holds.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Counts the bytes of a pipeline: blocks read and not yet in the window,
/// blocks of the window, ready batches. Where they reach the limit, the reader
/// waits; the engine, which knows when the window cannot be made any smaller,
/// makes an error of it (see [`Budget::admit`]).
#[derive(Debug)]
pub(crate) struct Budget {
    limit: u64,
    held: Mutex<Held>,
    changed: Condvar,
    stopped: AtomicBool,
}

#[derive(Debug, Default)]
struct Held {
    /// Compressed blocks on their way to the window.
    queued: u64,
    /// Compressed and inflated blocks of the window.
    window: u64,
    /// Batches that wait for the consumer.
    ready: u64,
    /// Whether the engine needs a block before it can go on.
    starving: bool,
    peak: u64,
}

impl Held {
    fn total(&self) -> u64 {
        self.queued + self.window + self.ready
    }
}

impl Budget {
    pub(crate) fn new(limit: u64) -> Self {
        Budget {
            limit,
            held: Mutex::default(),
            changed: Condvar::new(),
            stopped: AtomicBool::new(false),
        }
    }

    pub(crate) fn limit(&self) -> u64 {
        self.limit
    }

    /// The most bytes that were held at a time.
    pub(crate) fn peak(&self) -> u64 {
        self.lock().peak
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

    /// The reader has `bytes` of blocks to hand over: waits for room. If the
    /// engine has nothing left to go on with, there is always room.
    pub(crate) fn admit(&self, bytes: u64) {
        self.wait_while(|held| {
            let last_resort = held.starving && held.queued == 0 && held.ready == 0;
            held.total() + bytes > self.limit && !last_resort
        });
        self.update(|held| held.queued += bytes);
    }

    /// A queued block goes into the window.
    pub(crate) fn take_in(&self, bytes: u64) {
        self.update(|held| {
            held.queued = held.queued.saturating_sub(bytes);
            held.window += bytes;
        });
    }

    /// The engine waits for a block, or does not any more.
    pub(crate) fn starve(&self, starving: bool) {
        self.update(|held| held.starving = starving);
    }

    /// The window holds `bytes` now.
    pub(crate) fn window(&self, bytes: u64) {
        self.update(|held| held.window = bytes);
    }

    /// Waits until a batch of `bytes` has room or none is ready.
    pub(crate) fn wait_for_batch(&self, bytes: u64) {
        self.wait_while(|held| held.ready > 0 && held.window + held.ready + bytes > self.limit);
    }

    /// A batch is ready.
    pub(crate) fn ready(&self, bytes: u64) {
        self.update(|held| held.ready += bytes);
    }

    /// The consumer has a ready batch.
    pub(crate) fn handed_out(&self, bytes: u64) {
        self.update(|held| held.ready = held.ready.saturating_sub(bytes));
    }

    fn wait_while(&self, mut full: impl FnMut(&Held) -> bool) {
        let mut held = self.lock();
        while !self.stopped() && full(&held) {
            held = self
                .changed
                .wait(held)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn update(&self, change: impl FnOnce(&mut Held)) {
        let mut held = self.lock();
        change(&mut held);
        held.peak = held.peak.max(held.total());
        drop(held);
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
