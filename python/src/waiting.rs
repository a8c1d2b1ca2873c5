//! Waits without the interpreter's lock, in slices, so that signals are handled.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

use atds::{Dataset, Error};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::errors::{OrRaise, thread_error};
use crate::logging::forward_logs;

/// The maximum wait before signals are checked, short enough to be unnoticeable.
pub(crate) const SLICE: Duration = Duration::from_millis(20);

/// The maximum wait for the threads of a dropped object, longer than their current work takes.
pub(crate) const PATIENCE: Duration = Duration::from_secs(1);

/// Drops `value` on a new thread, without waiting for it.
pub(crate) fn drop_aside<T: Send + 'static>(value: T) {
    // If no thread can be started, the value is dropped here.
    let _ = thread::Builder::new()
        .name("atds-drop".to_owned())
        .spawn(move || drop(value));
}

/// Handles signals and forwards log records, for a thread that waits in native code.
pub(crate) fn check_signals(py: Python<'_>) -> PyResult<()> {
    py.check_signals()?;
    forward_logs(py)
}

/// Runs `work` on a new thread and waits for it. A signal, such as Ctrl-C, ends the wait at once;
/// the thread is not waited for.
pub(crate) fn interruptible<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    let (done, mut result) = sync_channel(1);
    thread::Builder::new()
        .name("atds-call".to_owned())
        .spawn(move || {
            // After a signal the receiver is gone.
            let _ = done.send(work());
        })
        .map_err(|error| thread_error(py, error))?;
    loop {
        let received;
        (received, result) = py.detach(move || (result.recv_timeout(SLICE), result));
        match received {
            Ok(value) => {
                forward_logs(py)?;
                return Ok(value);
            }
            Err(RecvTimeoutError::Timeout) => check_signals(py)?,
            Err(RecvTimeoutError::Disconnected) => {
                return Err(PyRuntimeError::new_err("a thread of atds panicked"));
            }
        }
    }
}

/// As [`interruptible`], for `work` that counts the records of a data set: a signal ends it, too.
pub(crate) fn counting<T: Send + 'static>(
    py: Python<'_>,
    dataset: &Dataset,
    work: impl FnOnce(&Dataset) -> Result<T, Error> + Send + 'static,
) -> PyResult<T> {
    let cancelled = Arc::new(AtomicBool::new(false));
    let dataset = dataset.cancelled_by(cancelled.clone());
    let counted = interruptible(py, move || work(&dataset));
    let counted = counted.inspect_err(|_| cancelled.store(true, Relaxed));
    counted?.or_raise(py)
}
