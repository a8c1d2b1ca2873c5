//! Locks of state that a panic cannot leave half done.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks `mutex`, also after a panic.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
