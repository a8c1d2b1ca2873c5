//! States of iterations as dicts of Python, by way of their JSON.

use atds::Dataset;
use atds::state::{Position, State};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyInt};

use crate::errors::{OrRaise, state_error};
use crate::waiting::counting;

/// The state at an epoch, after a number of its batches, of an iteration up to another epoch.
pub(crate) fn state_at<'py>(
    py: Python<'py>,
    dataset: &Dataset,
    (epoch, batches, until): (u64, u64, u64),
    (records, bytes): (u64, u64),
) -> PyResult<Bound<'py, PyAny>> {
    let mut position = Position::default();
    (position.epoch, position.batches) = (epoch, batches);
    let mut state = if dataset.is_framed() {
        dataset.state_at(position, until).or_raise(py)?
    } else {
        counting(py, dataset, move |dataset| {
            dataset.state_at(position, until)
        })?
    };
    (state.skipped.records, state.skipped.bytes) = (records, bytes);
    to_dict(py, &state)
}

fn to_dict<'py>(py: Python<'py>, state: &State) -> PyResult<Bound<'py, PyAny>> {
    let text = serde_json::to_string(state).map_err(|error| state_error(py, &error))?;
    let json = py.import(intern!(py, "json"))?;
    json.call_method1(intern!(py, "loads"), (text,))
}

/// Merges the states of all ranks and workers of a step. With each comes the number of batches that its rank
/// has yielded since.
#[pyfunction]
pub(crate) fn merge_states<'py>(
    py: Python<'py>,
    states: Vec<(Bound<'py, PyAny>, u64)>,
) -> PyResult<Bound<'py, PyAny>> {
    let read = |(state, later)| Ok((read_state(py, &state)?, later));
    let states: Vec<(State, u64)> = states.into_iter().map(read).collect::<PyResult<_>>()?;
    let states = states.iter().map(|(state, later)| (state, *later));
    to_dict(py, &State::merge_later(states).or_raise(py)?)
}

/// Reads a state.
pub(crate) fn read_state(py: Python<'_>, state: &Bound<'_, PyAny>) -> PyResult<State> {
    let json = py.import(intern!(py, "json"))?;
    let text = py
        .get_type::<PyDict>()
        .call1((state,))
        .and_then(|state| {
            let options = PyDict::new(py);
            // Numbers of NumPy and PyTorch.
            options.set_item("default", py.get_type::<PyInt>())?;
            json.call_method(intern!(py, "dumps"), (state,), Some(&options))
        })
        .map_err(|error| state_error(py, &error))?;
    serde_json::from_str(text.extract()?).map_err(|error| state_error(py, &error))
}
