//! Counts the memory of one iteration against its limit.

use std::fmt;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::{Arc, PoisonError, Weak, atomic};

use tensor_batch::KeepMemory;

use crate::delays;
use crate::sync::{AtomicBool, AtomicU64, Mutex};
use crate::tuning::AHEAD_SHARE;

/// The bytes that an iteration holds: read buffers, payloads, prepared payloads, batches that are
/// being made or wait for the consumer, memory that is kept for reuse (but for a little of builders).
///
/// What is added is never more than the limit. A part of the limit is for what lies ahead of the
/// first batch that is not finished: see [`ahead_limit`](Self::ahead_limit) and
/// [`early_limit`](Self::early_limit). All the rest, [`batch_limit`](Self::batch_limit), is there
/// for that batch and its window.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    limit: u64,
    /// Whether several files take turns, for the error.
    pub(crate) in_turns: bool,
    held: AtomicU64,
    /// The most bytes that were held at a time.
    pub(crate) peak: atomic::AtomicU64,
    early: AtomicU64,
    /// The most bytes that a window needs.
    pub(crate) window_peak: atomic::AtomicU64,
    /// Whether nothing is kept for reuse.
    is_scarce: AtomicBool,
    caches: Mutex<Vec<Weak<dyn Cache>>>,
}

/// Memory that is kept for reuse.
pub(crate) trait Cache: Send + Sync + fmt::Debug {
    /// Lets all of it go.
    fn clear(&self);
}

impl Memory {
    pub(crate) fn new(limit: u64, in_turns: bool) -> Self {
        Memory {
            limit,
            in_turns,
            ..Memory::default()
        }
    }

    pub(crate) fn limit(&self) -> u64 {
        self.limit
    }

    /// The most bytes of payloads and reads that the first unfinished batch does not need.
    pub(crate) fn ahead_limit(&self) -> u64 {
        self.limit / AHEAD_SHARE
    }

    /// The most bytes of what is made before its turn and stays: payloads prepared early, and
    /// batches finished before those that come first.
    pub(crate) fn early_limit(&self) -> u64 {
        self.limit / AHEAD_SHARE
    }

    /// The most bytes of one batch and its window.
    pub(crate) fn batch_limit(&self) -> u64 {
        self.limit - self.ahead_limit() - self.early_limit()
    }

    /// The most bytes of payloads of one window. There is always memory for as many, so a larger window
    /// fails at the same block, however much was read ahead of it.
    pub(crate) fn window_limit(&self) -> u64 {
        self.batch_limit() + self.ahead_limit() / 2
    }

    /// The most bytes of the payloads of one window, and of what one of them is copied from: the reads that it lies
    /// in, or the block whose few members are copied.
    pub(crate) fn copy_limit(&self) -> u64 {
        self.limit - self.ahead_limit()
    }

    /// The most bytes of reads under way that the next batch may not need.
    pub(crate) fn read_ahead_limit(&self) -> u64 {
        self.ahead_limit() / 2
    }

    /// The least limit of which `needed` bytes are for one batch and its window.
    pub(crate) fn limit_for(needed: u64) -> u64 {
        // A little more than the exact quotient, since each part is rounded.
        (needed / (AHEAD_SHARE - 2))
            .saturating_add(1)
            .saturating_mul(AHEAD_SHARE)
    }

    pub(crate) fn held(&self) -> u64 {
        self.held.load(Relaxed)
    }

    pub(crate) fn left(&self) -> u64 {
        self.limit.saturating_sub(self.held())
    }

    /// Has `cache` be cleared where memory is missing.
    pub(crate) fn add_cache(&self, cache: Weak<dyn Cache>) {
        let mut caches = self.caches.lock().unwrap_or_else(PoisonError::into_inner);
        caches.push(cache);
    }

    /// Counts `bytes` more if they fit, perhaps in place of memory that is kept for reuse.
    pub(crate) fn try_add(&self, bytes: u64) -> bool {
        if self.try_add_new(bytes) {
            return true;
        }
        self.clear_caches();
        self.try_add_new(bytes)
    }

    fn try_add_new(&self, bytes: u64) -> bool {
        if bytes == 0 {
            return true;
        }
        delays::hand_over();
        let add = |held: u64| held.checked_add(bytes).filter(|&sum| sum <= self.limit);
        let Ok(before) = self.held.fetch_update(Relaxed, Relaxed, add) else {
            return false;
        };
        self.peak.fetch_max(before + bytes, Relaxed);
        true
    }

    /// Counts `bytes` less.
    pub(crate) fn remove(&self, bytes: u64) {
        delays::hand_over();
        self.held.fetch_sub(bytes, Relaxed);
    }

    #[cold]
    pub(crate) fn clear_caches(&self) {
        let caches = self.caches.lock().unwrap_or_else(PoisonError::into_inner);
        for cache in caches.iter().filter_map(Weak::upgrade) {
            cache.clear();
        }
    }

    /// Says whether an op runs alone: then nothing is kept for reuse.
    pub(crate) fn set_scarce(&self, is_scarce: bool) {
        self.is_scarce.store(is_scarce, SeqCst);
        if is_scarce {
            self.clear_caches();
        }
    }

    pub(crate) fn is_scarce(&self) -> bool {
        self.is_scarce.load(SeqCst)
    }

    /// Takes `bytes` of those for what is made early, which are counted elsewhere.
    pub(crate) fn try_add_early(&self, bytes: u64) -> bool {
        let limit = self.early_limit();
        let add = |early: u64| early.checked_add(bytes).filter(|&sum| sum <= limit);
        self.early.fetch_update(Relaxed, Relaxed, add).is_ok()
    }

    pub(crate) fn remove_early(&self, bytes: u64) {
        self.early.fetch_sub(bytes, Relaxed);
    }
}

impl KeepMemory for Memory {
    fn keep(&self, bytes: usize) -> bool {
        // What is kept does not take the place of what else is kept.
        !self.is_scarce() && self.try_add_new(bytes as u64)
    }

    fn release(&self, bytes: usize) {
        self.remove(bytes as u64);
    }
}

/// Bytes that are counted until this is dropped.
#[derive(Debug)]
pub(crate) struct Lease {
    memory: Arc<Memory>,
    bytes: u64,
}

impl Lease {
    /// A lease of nothing.
    pub(crate) fn none(memory: &Arc<Memory>) -> Self {
        Lease {
            memory: memory.clone(),
            bytes: 0,
        }
    }

    /// Counts `bytes`, if they fit.
    pub(crate) fn try_new(memory: &Arc<Memory>, bytes: u64) -> Option<Self> {
        let mut lease = Lease::none(memory);
        lease.try_grow(bytes).then_some(lease)
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Counts at least `bytes` from now on, if they fit.
    pub(crate) fn try_grow(&mut self, bytes: u64) -> bool {
        let more = bytes.saturating_sub(self.bytes);
        let fits = self.memory.try_add(more);
        if fits {
            self.bytes += more;
        }
        fits
    }

    /// Counts `bytes` of memory that is kept for reuse, if they fit.
    pub(crate) fn try_keep(&mut self, bytes: u64) -> bool {
        let fits = self.memory.keep(bytes as usize);
        if fits {
            self.bytes += bytes;
        }
        fits
    }

    /// Counts at most `bytes` from now on.
    pub(crate) fn shrink(&mut self, bytes: u64) {
        let less = self.bytes.saturating_sub(bytes);
        self.memory.remove(less);
        self.bytes -= less;
    }

    /// Moves up to `bytes` to a lease of their own.
    pub(crate) fn split(&mut self, bytes: u64) -> Lease {
        let bytes = bytes.min(self.bytes);
        self.bytes -= bytes;
        Lease {
            memory: self.memory.clone(),
            bytes,
        }
    }

    /// Takes over what `other` counts.
    pub(crate) fn merge(&mut self, other: Lease) {
        self.bytes += other.forget();
    }

    /// Counts `bytes` from now on that somebody else has counted until now.
    pub(crate) fn adopt(&mut self, bytes: u64) {
        self.bytes += bytes;
    }

    /// Leaves the counting to the caller.
    pub(crate) fn forget(mut self) -> u64 {
        std::mem::take(&mut self.bytes)
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.memory.remove(self.bytes);
    }
}
