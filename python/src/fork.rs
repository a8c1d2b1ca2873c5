//! Forked processes: what was made before a fork is of no use after it.
//!
//! A child has the memory of its parent but none of its threads, and locks that
//! those held stay locked. So a child neither uses nor drops what shares state
//! with threads: it is told what to do instead, or makes its own.
//!
//! What it makes must not wait for what a thread of its parent has begun. So no crate
//! of the pipeline has state of the whole process that one thread makes ready while
//! others wait, such as a `static` of type `LazyLock` or `OnceLock`.

use std::mem;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use pyo3::prelude::*;

use crate::errors::fork_error;
use crate::logging;

/// Forks between the first process that loaded this library and this one.
static GENERATION: AtomicU64 = AtomicU64::new(0);

/// To be called in a child after each fork.
#[pyfunction]
pub(crate) fn forked() {
    logging::forked();
    GENERATION.fetch_add(1, Relaxed);
}

/// The number of forks between the first process that loaded this library and this one.
pub(crate) fn generation() -> u64 {
    GENERATION.load(Relaxed)
}

/// A value of the process that made it. Elsewhere it cannot be had, and is
/// leaked rather than dropped.
#[derive(Debug)]
pub(crate) struct InProcess<T> {
    /// `None` only while it is dropped.
    value: Option<T>,
    generation: u64,
}

impl<T> InProcess<T> {
    pub(crate) fn new(value: T) -> Self {
        InProcess {
            value: Some(value),
            generation: GENERATION.load(Relaxed),
        }
    }

    /// Whether this is the process that made it.
    pub(crate) fn is_here(&self) -> bool {
        self.generation == GENERATION.load(Relaxed)
    }

    /// The value, `what` it is by the words of an error.
    pub(crate) fn get(&self, py: Python<'_>, what: &str) -> PyResult<&T> {
        match &self.value {
            Some(value) if self.is_here() => Ok(value),
            _ => Err(fork_error(py, what)),
        }
    }

    /// The value, unless this is another process; then it is leaked.
    pub(crate) fn take(&mut self) -> Option<T> {
        let value = self.value.take();
        if self.is_here() {
            return value;
        }
        mem::forget(value);
        None
    }
}

impl<T> Drop for InProcess<T> {
    fn drop(&mut self) {
        drop(self.take());
    }
}
