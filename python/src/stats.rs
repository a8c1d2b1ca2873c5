//! Figures of an iteration as a dict.

use std::sync::{Mutex, MutexGuard, PoisonError};

use atds::damage::Skipped;
use atds::interface::Interface;
use atds::stats::Stats;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::fork::InProcess;
use crate::states::state_at;

/// Reads the figures of one iteration, from any thread and after its end.
#[pyclass(frozen, module = "atds._native")]
pub(crate) struct StatsHandle {
    handle: InProcess<Mutex<Followed>>,
}

/// The iteration whose figures they are. An iterator that goes on elsewhere begins another.
struct Followed {
    handle: atds::stats::StatsHandle,
    /// Its data set.
    dataset: atds::Dataset,
    /// The epoch after the last of the iteration.
    until: u64,
    /// Number of batches that were taken, and not yielded after all.
    refused: u64,
}

impl Followed {
    fn position(&self) -> (u64, u64, u64) {
        let position = self.handle.stats().position;
        let batches = position.batches.saturating_sub(self.refused);
        (position.epoch, batches, self.until)
    }
}

impl StatsHandle {
    pub(crate) fn new(
        handle: atds::stats::StatsHandle,
        dataset: atds::Dataset,
        until: u64,
    ) -> Self {
        StatsHandle {
            handle: InProcess::new(Mutex::new(Followed {
                handle,
                dataset,
                until,
                refused: 0,
            })),
        }
    }

    /// Follows another iteration.
    pub(crate) fn follow(
        &self,
        py: Python<'_>,
        handle: atds::stats::StatsHandle,
        dataset: atds::Dataset,
        until: u64,
    ) -> PyResult<()> {
        *self.followed(py)? = Followed {
            handle,
            dataset,
            until,
            refused: 0,
        };
        Ok(())
    }

    fn followed(&self, py: Python<'_>) -> PyResult<MutexGuard<'_, Followed>> {
        let followed = self.handle.get(py, "this iteration")?;
        Ok(followed.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn current(&self, py: Python<'_>) -> PyResult<atds::stats::StatsHandle> {
        Ok(self.followed(py)?.handle.clone())
    }

    pub(crate) fn dataset(&self, py: Python<'_>) -> PyResult<atds::Dataset> {
        Ok(self.followed(py)?.dataset.clone())
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
        to_dict(py, &self.current(py)?.stats())
    }

    /// The damage that was left out.
    pub(crate) fn skipped<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let skipped = self.current(py)?.skipped(0).into_iter();
        let all: Vec<_> = skipped
            .map(|skipped| Skipped::from(skipped).to_json(Interface::Python))
            .collect();
        let text = serde_json::Value::from(all).to_string();
        py.import(intern!(py, "json"))?
            .call_method1(intern!(py, "loads"), (text,))
    }

    /// What each thread does now, or waits for.
    pub(crate) fn describe_waits(&self, py: Python<'_>) -> PyResult<String> {
        let handle = self.current(py)?;
        Ok(py.detach(|| handle.describe_waits()))
    }

    /// Whether the iteration may yield more.
    fn is_running(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.current(py)?.is_running())
    }

    /// The epoch, the number of its batches that were yielded, and the epoch after the last of the
    /// iteration.
    pub(crate) fn position(&self, py: Python<'_>) -> PyResult<(u64, u64, u64)> {
        Ok(self.followed(py)?.position())
    }

    /// The state of the iteration.
    pub(crate) fn state_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let (dataset, position, skipped) = {
            let followed = self.followed(py)?;
            let skipped = followed.handle.stats().epoch_skipped;
            (followed.dataset.clone(), followed.position(), skipped)
        };
        let skipped = match position.1 {
            // Nothing of the epoch was yielded.
            0 => (0, 0),
            _ => (skipped.records, skipped.bytes),
        };
        state_at(py, &dataset, position, skipped)
    }

    /// Number of records that damage has cost of the epoch, and of bytes whose records are not known.
    fn epoch_skipped(&self, py: Python<'_>) -> PyResult<(u64, u64)> {
        let skipped = self.current(py)?.stats().epoch_skipped;
        Ok((skipped.records, skipped.bytes))
    }

    /// Has the last batch not count as yielded. The iteration must end with it.
    fn refuse(&self, py: Python<'_>) -> PyResult<()> {
        self.followed(py)?.refused += 1;
        Ok(())
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
    dict.set_item("replayed_steps", stats.replayed)?;
    dict.set_item("steps_to_replay", stats.to_replay)?;
    dict.set_item("elapsed_s", stats.elapsed.as_secs_f64())?;
    dict.set_item("records_per_s", records_per_s(stats))?;
    dict.set_item("threads", stats.threads)?;
    dict.set_item("dropped_entries", stats.dropped_entries)?;
    dict.set_item("dropped_records", stats.dropped_records)?;
    dict.set_item("truncated_lists", stats.truncated_lists)?;
    dict.set_item("skipped_records", stats.skipped_records)?;
    dict.set_item("skipped_bytes", stats.skipped_bytes)?;
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
