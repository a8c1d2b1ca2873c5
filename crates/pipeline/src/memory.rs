//! Counts the memory of one iteration against its limit.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::{Error, ErrorKind};

/// The bytes that an iteration holds: read buffers, payloads, prepared payloads, batches that are
/// being made or wait for the consumer.
#[derive(Debug)]
pub(crate) struct Memory {
    limit: u64,
    held: AtomicU64,
    peak: AtomicU64,
}

impl Memory {
    pub(crate) fn new(limit: u64) -> Self {
        Memory {
            limit,
            held: AtomicU64::new(0),
            peak: AtomicU64::new(0),
        }
    }

    pub(crate) fn limit(&self) -> u64 {
        self.limit
    }

    pub(crate) fn held(&self) -> u64 {
        self.held.load(Relaxed)
    }

    /// The most bytes that were held at a time.
    pub(crate) fn peak(&self) -> u64 {
        self.peak.load(Relaxed)
    }

    /// Whether `bytes` more fit the limit.
    pub(crate) fn fits(&self, bytes: u64) -> bool {
        self.held().saturating_add(bytes) <= self.limit
    }

    /// Counts `bytes` more.
    pub(crate) fn add(&self, bytes: u64) {
        let held = self.held.fetch_add(bytes, Relaxed) + bytes;
        self.peak.fetch_max(held, Relaxed);
    }

    /// Counts `bytes` less.
    pub(crate) fn remove(&self, bytes: u64) {
        self.held.fetch_sub(bytes, Relaxed);
    }

    /// The error of a batch and its window that need `needed` bytes.
    #[cold]
    pub(crate) fn exceeded(&self, needed: u64) -> Error {
        let limit = self.limit;
        Error::new(ErrorKind::MemoryLimit { limit, needed })
    }
}

/// Bytes that are counted until this is dropped.
#[derive(Debug)]
pub(crate) struct Lease {
    memory: Arc<Memory>,
    bytes: u64,
}

impl Lease {
    /// Counts `bytes`, whether they fit or not.
    pub(crate) fn new(memory: &Arc<Memory>, bytes: u64) -> Self {
        memory.add(bytes);
        Lease {
            memory: memory.clone(),
            bytes,
        }
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Counts `bytes` from now on.
    pub(crate) fn set(&mut self, bytes: u64) {
        if bytes > self.bytes {
            self.memory.add(bytes - self.bytes);
        } else {
            self.memory.remove(self.bytes - bytes);
        }
        self.bytes = bytes;
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.memory.remove(self.bytes);
    }
}
