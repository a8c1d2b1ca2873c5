//! Waiting without the interpreter's lock, in slices, so that signals are seen.

use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

/// How long is waited at most before signals are looked at: a person does not
/// notice, and a machine does not either.
pub(crate) const SLICE: Duration = Duration::from_millis(20);

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
        })?;
    loop {
        let received;
        (received, result) = py.detach(move || (result.recv_timeout(SLICE), result));
        match received {
            Ok(value) => return Ok(value),
            Err(RecvTimeoutError::Timeout) => py.check_signals()?,
            Err(RecvTimeoutError::Disconnected) => {
                return Err(PyRuntimeError::new_err("a thread of atds panicked"));
            }
        }
    }
}
