//! Iteration over batches.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::Duration;

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::batch::Columns;
use crate::errors::OrRaise;
use crate::fork::InProcess;
use crate::logging::forward_logs;
use crate::stats::StatsHandle;
use crate::waiting::{PATIENCE, SLICE, check_signals, drop_aside};

const WHAT: &str = "this iterator";

/// The batches of an iteration, prefetched by its threads.
///
/// Several threads may take batches from one iterator: each batch is yielded once.
#[pyclass(frozen, module = "atds._native")]
pub(crate) struct Batches {
    batches: InProcess<Mutex<Option<atds::Batches>>>,
    columns: Arc<Columns>,
    stats: Py<StatsHandle>,
}

impl Batches {
    pub(crate) fn new(
        py: Python<'_>,
        batches: atds::Batches,
        columns: Arc<Columns>,
    ) -> PyResult<Self> {
        let stats = Py::new(py, StatsHandle::new(batches.stats_handle()))?;
        Ok(Batches {
            batches: InProcess::new(Mutex::new(Some(batches))),
            columns,
            stats,
        })
    }
}

#[pymethods]
impl Batches {
    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let batches = self.batches.get(py, WHAT)?;
        // A batch that is ready is taken at once. Releasing the interpreter's lock would mean waiting for it again if other threads want it.
        let mut next = match batches.try_lock() {
            Ok(mut batches) => next_within(&mut batches, Duration::ZERO),
            Err(_) => Poll::Pending,
        };
        let next = loop {
            match next {
                Poll::Ready(next) => break next,
                Poll::Pending => {
                    check_signals(py)?;
                    next = py.detach(|| next_within(&mut lock(batches), SLICE));
                }
            }
        };
        forward_logs(py)?;
        match next {
            Some(batch) => self.columns.batch(py, batch.or_raise(py)?).map(Some),
            None => Ok(None),
        }
    }

    fn __enter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyTuple>) -> PyResult<()> {
        self.close(py)
    }

    fn __repr__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.shown(py, "batches_text")
    }

    fn _repr_html_<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.shown(py, "batches_html")
    }

    /// Ends the iteration: stops its threads and waits for them.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let batches = self.batches.get(py, WHAT)?;
        let Some(mut batches) = py.detach(|| lock(batches).take()) else {
            return Ok(());
        };
        while !py.detach(|| batches.stop_within(SLICE)) {
            if let Err(error) = check_signals(py) {
                // A thread that a file system blocks is not waited for.
                drop_aside(batches);
                return Err(error);
            }
        }
        forward_logs(py)
    }

    /// Figures of the iteration up to now.
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.stats.get().snapshot(py)
    }

    /// What each thread does now, or waits for.
    fn describe_waits(&self, py: Python<'_>) -> PyResult<String> {
        self.stats.get().describe_waits(py)
    }

    /// A handle that reads these figures after the iteration has ended.
    fn stats_handle(&self, py: Python<'_>) -> Py<StatsHandle> {
        self.stats.clone_ref(py)
    }
}

impl Batches {
    /// The figures as text, by a function of `atds._reprs`.
    fn shown<'py>(&self, py: Python<'py>, function: &str) -> PyResult<Bound<'py, PyAny>> {
        let stats = if self.batches.is_here() {
            Some(self.stats(py)?)
        } else {
            None
        };
        py.import(intern!(py, "atds._reprs"))?
            .call_method1(function, ("atds.Batches", stats))
    }
}

impl Drop for Batches {
    fn drop(&mut self) {
        let mut batches = self.batches.take().map(into_inner);
        // This waits for the threads, so the interpreter's lock is released.
        Python::try_attach(|py| py.detach(|| batches.take().map(drop_patiently)));
        if let Some(batches) = batches {
            drop_patiently(batches);
        }
    }
}

/// Drops an iteration and waits for its threads, but not forever: a thread that a file system
/// blocks does not keep the program from ending.
fn drop_patiently(batches: Option<atds::Batches>) {
    let Some(mut batches) = batches else {
        return;
    };
    let stopped = catch_unwind(AssertUnwindSafe(|| batches.stop_within(PATIENCE)));
    if !stopped.is_ok_and(|has_stopped| has_stopped) {
        drop_aside(batches);
    }
}

fn into_inner(batches: Mutex<Option<atds::Batches>>) -> Option<atds::Batches> {
    batches.into_inner().unwrap_or_else(PoisonError::into_inner)
}

type Next = Poll<Option<Result<atds::Batch, atds::Error>>>;

fn next_within(batches: &mut Option<atds::Batches>, timeout: Duration) -> Next {
    match batches {
        Some(batches) => batches.next_within(timeout),
        None => Poll::Ready(None),
    }
}

fn lock(batches: &Mutex<Option<atds::Batches>>) -> MutexGuard<'_, Option<atds::Batches>> {
    // After a panic of one of its threads, the iteration has ended.
    batches.lock().unwrap_or_else(PoisonError::into_inner)
}
