//! Log records of the native part, forwarded to `logging.getLogger("atds")`.
//!
//! Threads of the pipeline log at any time and never wait for the interpreter. So records wait
//! in a queue, and threads of Python forward them: at the end of each call that can log, and
//! while such a call waits.

use std::mem;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use atds::interface::Interface;
use log::{Level, LevelFilter, Log, Metadata, Record};
use pyo3::exceptions::PyException;
use pyo3::prelude::*;

use crate::fork;

/// The maximum number of records that wait to be forwarded. Later records are dropped and counted
/// if a program calls no function for long.
const MAX_RECORDS: usize = 1024;

/// The queue of waiting records in one process.
struct Queue {
    waiting: Mutex<Waiting>,
    /// Whether there may be records, so that a call that logged nothing takes no lock.
    has_any: AtomicBool,
    /// The queue of a forked child. A thread of the parent may hold the lock of this queue during
    /// the fork; in the child it would stay locked forever.
    of_child: OnceLock<Box<Queue>>,
}

struct Waiting {
    records: Vec<(Level, String)>,
    /// Number of records that were dropped.
    dropped: u64,
}

static FIRST: Queue = Queue::new();

/// Whether the command is running in this process.
static TO_STDERR: AtomicBool = AtomicBool::new(false);

impl Queue {
    const fn new() -> Self {
        let records = Vec::new();
        let dropped = 0;
        Queue {
            waiting: Mutex::new(Waiting { records, dropped }),
            has_any: AtomicBool::new(false),
            of_child: OnceLock::new(),
        }
    }

    /// The queue of this process.
    fn here() -> &'static Queue {
        let mut queue = &FIRST;
        for _ in 0..fork::generation() {
            match queue.of_child.get() {
                Some(of_child) => queue = of_child,
                None => break,
            }
        }
        queue
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Makes an empty queue in a child after a fork, which has no other threads yet.
pub(crate) fn forked() {
    Queue::here()
        .of_child
        .get_or_init(|| Box::new(Queue::new()));
}

/// A logger that adds records to the queue, or prints them to standard error while the command
/// runs.
struct Logger;

impl Log for Logger {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.level() <= Level::Info
    }

    fn log(&self, record: &Record<'_>) {
        if !self.enabled(record.metadata()) {
            return;
        }
        if TO_STDERR.load(Relaxed) {
            return atds_cli::StderrLogger.log(record);
        }
        let text = Interface::Python.message(record.args());
        let queue = Queue::here();
        let mut waiting = queue.lock();
        if waiting.records.len() < MAX_RECORDS {
            waiting.records.push((record.level(), text))
        } else {
            waiting.dropped += 1
        }
        queue.has_any.store(true, Relaxed);
    }

    fn flush(&self) {}
}

/// Makes this library's records go to the queue.
pub(crate) fn install() {
    // A logger is set already only if this library is loaded again.
    if log::set_logger(&Logger).is_ok() {
        log::set_max_level(LevelFilter::Info);
    }
}

/// Sends records to standard error while this value lives.
pub(crate) struct ToStderr;

impl ToStderr {
    pub(crate) fn begin() -> Self {
        TO_STDERR.store(true, Relaxed);
        ToStderr
    }
}

impl Drop for ToStderr {
    fn drop(&mut self) {
        TO_STDERR.store(false, Relaxed);
    }
}

/// Forwards the waiting records to Python's logging.
///
/// An exception of a handler is reported as unraisable, so that the call that logged keeps its
/// result. Only exceptions that are no `Exception`, such as `KeyboardInterrupt`, are raised.
#[pyfunction]
#[pyo3(name = "forward_logs")]
pub(crate) fn forward_logs(py: Python<'_>) -> PyResult<()> {
    let queue = Queue::here();
    if !queue.has_any.load(Relaxed) {
        return Ok(());
    }
    forward(py, queue)
}

#[cold]
fn forward(py: Python<'_>, queue: &Queue) -> PyResult<()> {
    let (records, dropped) = {
        let mut waiting = queue.lock();
        queue.has_any.store(false, Relaxed);
        (
            mem::take(&mut waiting.records),
            mem::take(&mut waiting.dropped),
        )
    };
    for (level, text) in records {
        log_in_python(py, level, &text)?;
    }
    if dropped > 0 {
        let text = format!("{dropped} later log records were dropped: too many were waiting");
        log_in_python(py, Level::Warn, &text)?;
    }
    Ok(())
}

fn log_in_python(py: Python<'_>, level: Level, text: &str) -> PyResult<()> {
    let level = match level {
        Level::Error => 40,
        Level::Warn => 30,
        Level::Info => 20,
        Level::Debug | Level::Trace => 10,
    };
    let logged = py.import("logging").and_then(|logging| {
        let logger = logging.call_method1("getLogger", ("atds",))?;
        logger.call_method1("log", (level, text))
    });
    match logged {
        Err(error) if error.is_instance_of::<PyException>(py) => {
            error.write_unraisable(py, None);
            Ok(())
        }
        logged => logged.map(drop),
    }
}
