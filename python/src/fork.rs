//! Forked processes, which cannot use objects that were made before the fork.
//!
//! A child has the memory of its parent but none of its threads, and locks that those threads held
//! stay locked. So a child neither uses nor drops objects that share state with threads. It raises
//! an error with advice, or makes its own objects.
//!
//! A child must not wait for work that a thread of its parent has begun. So no crate of the
//! pipeline has global state that one thread initialises while others wait, such as a `static` of
//! type `LazyLock` or `OnceLock`.

use std::mem;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use pyo3::prelude::*;

use crate::errors::fork_error;
use crate::logging;

/// The number of forks between the first process that loaded this library and this process.
static GENERATION: AtomicU64 = AtomicU64::new(0);

/// Must be called in the child after each fork.
#[pyfunction]
pub(crate) fn forked() {
    logging::forked();
    GENERATION.fetch_add(1, Relaxed);
}

/// The number of forks between the first process that loaded this library and this process.
pub(crate) fn generation() -> u64 {
    GENERATION.load(Relaxed)
}

/// A value that only the process that made it can use. Another process cannot access it, and leaks
/// it instead of dropping it.
#[derive(Debug)]
pub(crate) struct InProcess<T> {
    /// `None` only during the drop.
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

    /// Whether this process made the value.
    pub(crate) fn is_here(&self) -> bool {
        self.generation == GENERATION.load(Relaxed)
    }

    /// The value. `what` is its name in the error.
    pub(crate) fn get(&self, py: Python<'_>, what: &str) -> PyResult<&T> {
        match &self.value {
            Some(value) if self.is_here() => Ok(value),
            _ => Err(fork_error(py, what)),
        }
    }

    /// The value. In another process it is leaked, and the result is `None`.
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
