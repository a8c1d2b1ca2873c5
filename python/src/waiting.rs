//! Waiting without the interpreter's lock, in slices, so that signals are seen.

use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::errors::thread_error;
use crate::logging::forward_logs;

/// How long is waited at most before signals are looked at: a person does not
/// notice, and a machine does not either.
pub(crate) const SLICE: Duration = Duration::from_millis(20);

/// How long the threads of what is dropped are waited for: more than they take
/// for what they are at.
pub(crate) const PATIENCE: Duration = Duration::from_secs(1);

/// Drops `value` on a thread of its own, which is not waited for.
pub(crate) fn drop_aside<T: Send + 'static>(value: T) {
    // Where no thread can be had, it is dropped here.
    let _ = thread::Builder::new()
        .name("atds-drop".to_owned())
        .spawn(move || drop(value));
}

/// What Python wants of a thread that waits in native code: acts on signals, and forwards log
/// records.
pub(crate) fn attend(py: Python<'_>) -> PyResult<()> {
    py.check_signals()?;
    forward_logs(py)
}

/// Does `work` on a thread of its own and waits for it; a signal, such as
/// Ctrl-C, ends the waiting at once and leaves the thread to itself.
pub(crate) fn interruptible<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    let (done, mut result) = sync_channel(1);
    thread::Builder::new()
        .name("atds-call".to_owned())
        .spawn(move || {
            // Nobody waits for it any more after a signal.
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
            Err(RecvTimeoutError::Timeout) => attend(py)?,
            Err(RecvTimeoutError::Disconnected) => {
                return Err(PyRuntimeError::new_err("a thread of atds panicked"));
            }
        }
    }
}
