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
/// for what they are at. One that a file system does not answer is left to
/// itself, and does not keep a program from ending.
const PATIENCE: Duration = Duration::from_secs(1);

/// Drops `value`, and waits for that, but not for ever.
pub(crate) fn drop_patiently<T: Send + 'static>(value: T) {
    let (done, dropped) = sync_channel(1);
    let work = move || {
        drop(value);
        // Nobody may wait for it any more.
        let _ = done.send(());
    };
    // Where no thread can be had, `work` is dropped, and the value with it.
    let thread = thread::Builder::new()
        .name("atds-drop".to_owned())
        .spawn(work);
    if dropped.recv_timeout(PATIENCE).is_ok()
        && let Ok(thread) = thread
    {
        // It has nothing left to do.
        let _ = thread.join();
    }
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
