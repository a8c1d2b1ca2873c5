//! Figures of an iteration as a dict.

use atds::stats::Stats;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::fork::InProcess;

/// Reads the figures of one iteration, from any thread and after its end.
#[pyclass(frozen, module = "atds._native")]
pub(crate) struct StatsHandle {
    handle: InProcess<atds::stats::StatsHandle>,
}

impl StatsHandle {
    pub(crate) fn new(handle: atds::stats::StatsHandle) -> Self {
        StatsHandle {
            handle: InProcess::new(handle),
        }
    }
}

#[pymethods]
impl StatsHandle {
    /// Whether the iteration belongs to this process.
    fn is_here(&self) -> bool {
        self.handle.is_here()
    }

    /// Figures up to now.
    pub(crate) fn snapshot<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        to_dict(py, &self.handle.get(py, "this iteration")?.stats())
    }

    /// What each thread does now, or waits for.
    pub(crate) fn describe_waits(&self, py: Python<'_>) -> PyResult<String> {
        let handle = self.handle.get(py, "this iteration")?;
        Ok(py.detach(|| handle.describe_waits()))
    }
}

/// The figures of an iteration that has not begun.
#[pyfunction]
pub(crate) fn no_stats(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    to_dict(py, &Stats::default())
}

fn to_dict<'py>(py: Python<'py>, stats: &Stats) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("records", stats.records)?;
    dict.set_item("steps", stats.steps)?;
    dict.set_item("raw_bytes", stats.raw_bytes)?;
    dict.set_item("decompressed_bytes", stats.decompressed_bytes)?;
    dict.set_item("read_wait_s", stats.read_wait.as_secs_f64())?;
    dict.set_item("decompress_s", stats.decompress.as_secs_f64())?;
    dict.set_item("decode_s", stats.decode.as_secs_f64())?;
    dict.set_item("consumer_wait_s", stats.consumer_wait.as_secs_f64())?;
    dict.set_item("batch_wait_s", stats.batch_wait.as_secs_f64())?;
    dict.set_item("elapsed_s", stats.elapsed.as_secs_f64())?;
    dict.set_item("records_per_s", records_per_s(stats))?;
    dict.set_item("threads", stats.threads)?;
    dict.set_item("dropped_entries", stats.dropped_entries)?;
    dict.set_item("dropped_records", stats.dropped_records)?;
    dict.set_item("truncated_lists", stats.truncated_lists)?;
    let tolerated = &stats.tolerated;
    dict.set_item("trailing_block_bytes", tolerated.trailing_block_bytes)?;
    dict.set_item("trailing_file_bytes", tolerated.trailing_file_bytes)?;
    dict.set_item("bad_checksums", tolerated.bad_checksums)?;
    dict.set_item("replaced_texts", tolerated.replaced_texts)?;
    dict.set_item("memory_peak", stats.memory_peak)?;
    dict.set_item("memory_limit", stats.memory_limit)?;
    dict.set_item("mapped_peak", stats.mapped_peak)?;
    dict.set_item("schedule", stats.schedule.as_ref().map(ToString::to_string))?;
    Ok(dict)
}

fn records_per_s(stats: &Stats) -> f64 {
    match stats.records {
        0 => 0.0,
        _ => stats.records_per_s(),
    }
}
