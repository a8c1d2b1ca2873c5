//! Iteration over batches.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::task::Poll;
use std::thread;
use std::time::Duration;

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::batch::Columns;
use crate::errors::OrRaise;
use crate::fork::InProcess;
use crate::logging::forward_logs;
use crate::states::read_state;
use crate::stats::StatsHandle;
use crate::waiting::{PATIENCE, SLICE, check_signals, counting, drop_aside};

const WHAT: &str = "this iterator";

/// The batches of an iteration, prefetched by its threads.
///
/// Several threads may take batches from one iterator: each batch is yielded once.
#[pyclass(frozen, module = "atds._native")]
pub(crate) struct Batches {
    batches: InProcess<Mutex<Option<atds::Batches>>>,
    columns: Arc<Columns>,
    stats: Py<StatsHandle>,
    /// Whether the iterator takes the seeds of states.
    any_seed: bool,
}

impl Batches {
    pub(crate) fn new(
        py: Python<'_>,
        dataset: atds::Dataset,
        batches: atds::Batches,
        columns: Arc<Columns>,
        any_seed: bool,
    ) -> PyResult<Self> {
        let stats = StatsHandle::new(batches.stats_handle(), dataset, batches.until());
        let stats = Py::new(py, stats)?;
        Ok(Batches {
            batches: InProcess::new(Mutex::new(Some(batches))),
            columns,
            stats,
            any_seed,
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

    /// Where the iterator is, after the last batch that it has yielded.
    fn state_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.stats.get().state_dict(py)
    }

    /// As `state_dict`.
    fn get_state<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.state_dict(py)
    }

    /// Goes on from a state of this data set.
    fn load_state_dict(&self, py: Python<'_>, state: &Bound<'_, PyAny>) -> PyResult<()> {
        let state = read_state(py, state)?;
        let mut dataset = self.stats.get().dataset(py)?;
        if let (true, Some(seed)) = (self.any_seed, state.seed()) {
            dataset = dataset.with_seed(seed);
        }
        let resuming = move |dataset: &atds::Dataset| {
            let rest = dataset.rest(&state)?;
            let batches = rest.epochs_after(state.batches, state.epoch..state.until);
            Ok((rest, batches))
        };
        let (dataset, resumed) = counting(py, &dataset, resuming)?;
        let (handle, until) = (resumed.stats_handle(), resumed.until());
        let batches = self.batches.get(py, WHAT)?;
        // All at once for other threads, which take batches meanwhile.
        let mut batches = loop {
            match batches.try_lock() {
                Ok(batches) => break batches,
                Err(TryLockError::Poisoned(batches)) => break batches.into_inner(),
                Err(TryLockError::WouldBlock) => py.detach(|| thread::sleep(SLICE / 10)),
            }
        };
        self.stats.get().follow(py, handle, dataset, until)?;
        let before = batches.replace(resumed);
        drop(batches);
        py.detach(|| drop_patiently(before));
        forward_logs(py)
    }

    /// As `load_state_dict`.
    fn set_state(&self, py: Python<'_>, state: &Bound<'_, PyAny>) -> PyResult<()> {
        self.load_state_dict(py, state)
    }

    /// Figures of the iteration up to now.
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.stats.get().snapshot(py)
    }

    /// The damage that was left out.
    fn skipped<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.stats.get().skipped(py)
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
