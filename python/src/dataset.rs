//! Data sets: the facade's builder with all options, and properties of a built data set.

use std::collections::HashSet;
use std::sync::Arc;

use atds::avro::inference::Sampled;
use atds::limits::default_memory_limit;
use atds::{BatchSpec, ColumnKind, DatasetBuilder, FileFormat, Layout};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::batch::Columns;
use crate::batches::Batches;
use crate::errors::{OrRaise, feature_error, features_error};
use crate::files::Files;
use crate::fork::InProcess;
use crate::options;
use crate::schemas::FileSchemas;
use crate::shares::{self, World};
use crate::states::{read_state, state_at};
use crate::waiting::{counting, interruptible};

const WHAT: &str = "this data set";

/// A data set: files, and the description of batches.
#[pyclass(frozen, module = "atds._native")]
pub(crate) struct Dataset {
    dataset: InProcess<atds::Dataset>,
    columns: Arc<Columns>,
}

#[pymethods]
impl Dataset {
    /// `features` is the text of a features file. Strings named in `binary` are bytes. `masks` maps
    /// each mask of entries to its feature. `sampled` are the features that were inferred from a
    /// sample. `schemas` are the schemas of the files, or of the first file if they are not
    /// checked. `max_threads` limits an automatic number of threads. The memory that there is by
    /// default is divided by `processes`, the number of processes that read on this machine.
    #[new]
    #[pyo3(signature = (
        files, batch_size, features, binary, masks, options, schemas, sampled, *, max_threads,
        processes, keep_threads,
    ))]
    #[expect(clippy::too_many_arguments, reason = "the last have names in Python")]
    fn new(
        py: Python<'_>,
        files: PyRef<'_, Files>,
        batch_size: usize,
        features: &str,
        binary: HashSet<String>,
        masks: Py<PyDict>,
        options: &Bound<'_, PyDict>,
        schemas: &FileSchemas,
        sampled: Vec<(String, String, u64)>,
        max_threads: Option<usize>,
        processes: usize,
        keep_threads: bool,
    ) -> PyResult<Self> {
        let features =
            atds::features::from_json(features).map_err(|error| features_error(py, &error))?;
        let sampled = sampled.into_iter();
        let sampled = sampled.map(|(feature, expression, n)| Sampled::new(feature, expression, n));
        let builder = atds::Dataset::builder(files.get(py)?.clone(), batch_size)
            .features(features)
            .sampled_features(sampled)
            .keep_threads(keep_threads)
            .memory_limit(default_memory_limit(processes))
            .schemas(schemas.schemas.clone());
        let builder = options::apply(builder, options, max_threads)?;
        let dataset = files
            .wait(py, || DatasetBuilder::build(builder))?
            .or_raise(py)?;
        Ok(Dataset {
            columns: Arc::new(Columns::new(py, dataset.spec(), &binary, masks)),
            dataset: InProcess::new(dataset),
        })
    }

    /// Whether this was made in this process and can be used.
    fn is_here(&self) -> bool {
        self.dataset.is_here()
    }

    /// Ends the threads that wait for the next epoch.
    fn end_threads(&self, py: Python<'_>) -> PyResult<()> {
        let dataset = self.dataset.get(py, WHAT)?.clone();
        interruptible(py, move || dataset.end_threads())
    }

    /// The batches of `count` epochs from epoch `first` on, without the first `given` batches of that.
    /// `any_seed` is whether the iterator takes the seeds of states.
    #[pyo3(signature = (first, count, given = 0, *, any_seed = false))]
    fn epochs(
        &self,
        py: Python<'_>,
        first: u64,
        count: u64,
        given: u64,
        any_seed: bool,
    ) -> PyResult<Batches> {
        let epochs = first..first.saturating_add(count);
        let dataset = self.dataset.get(py, WHAT)?.clone();
        let batches = dataset.epochs_after(given, epochs);
        Batches::new(py, dataset, batches, self.columns.clone(), any_seed)
    }

    /// The same data set with another seed.
    fn with_seed(&self, py: Python<'_>, seed: u64) -> PyResult<Self> {
        Ok(self.with(self.dataset.get(py, WHAT)?.with_seed(seed)))
    }

    /// The same data set, with the states of another that reads other columns of the same batches.
    fn with_states_of(&self, py: Python<'_>, other: &Dataset) -> PyResult<Self> {
        let other = other.dataset.get(py, WHAT)?;
        Ok(self.with(self.dataset.get(py, WHAT)?.with_states_of(other)))
    }

    /// The data set that goes on from a state. Returns it with the epoch, the number of batches that were
    /// yielded of it, and the epoch after the last of the iteration.
    fn rest(
        &self,
        py: Python<'_>,
        state: &Bound<'_, PyAny>,
    ) -> PyResult<(Dataset, (u64, u64, u64))> {
        let state = read_state(py, state)?;
        let found = (state.epoch, state.batches, state.until);
        let dataset = self.dataset.get(py, WHAT)?;
        let rest = counting(py, dataset, move |dataset| dataset.rest(&state))?;
        Ok((self.with(rest), found))
    }

    /// Number of records that others have left to all that go on together, if it goes on after others.
    fn records_left(&self, py: Python<'_>) -> PyResult<Option<u64>> {
        Ok(self.dataset.get(py, WHAT)?.records_left())
    }

    /// The state of an iteration up to epoch `until`, in epoch `epoch` after `batches` batches. Damage has
    /// cost `skipped` of the epoch: a number of records, and of bytes.
    #[pyo3(signature = (epoch, batches, until, skipped = (0, 0)))]
    fn state_at<'py>(
        &self,
        py: Python<'py>,
        epoch: u64,
        batches: u64,
        until: u64,
        skipped: (u64, u64),
    ) -> PyResult<Bound<'py, PyAny>> {
        let dataset = self.dataset.get(py, WHAT)?;
        state_at(py, dataset, (epoch, batches, until), skipped)
    }

    /// The schemas that another process needs to build this data set without reading headers.
    fn schemas(&self, py: Python<'_>) -> PyResult<Vec<(usize, String)>> {
        let schemas = self.dataset.get(py, WHAT)?.schemas().iter();
        Ok(schemas
            .map(|(file, text)| (file, text.to_owned()))
            .collect())
    }

    /// Number of records of each file.
    fn file_records(&self, py: Python<'_>) -> PyResult<Vec<u64>> {
        let counts = counting(py, self.dataset.get(py, WHAT)?, atds::Dataset::file_records)?;
        Ok(counts.to_vec())
    }

    /// Whether the numbers of records are known without counting.
    fn is_counted(&self, py: Python<'_>) -> PyResult<bool> {
        counting(py, self.dataset.get(py, WHAT)?, atds::Dataset::is_counted)
    }

    /// The slice that reads the records from `start` to `end` of an epoch, and draws as worker
    /// `worker` of rank `rank`.
    #[pyo3(signature = (start, end, file_records, *, rank, worker))]
    fn slice(
        &self,
        py: Python<'_>,
        start: u64,
        end: u64,
        file_records: Vec<u64>,
        rank: u64,
        worker: u64,
    ) -> PyResult<Self> {
        let dataset = self.dataset.get(py, WHAT)?;
        let slice = dataset.slice(start..end, file_records).or_raise(py)?;
        Ok(self.with(slice.with_rank(rank, worker)))
    }

    /// The shard of number `index` of `count`, which draws as worker `worker` of rank `rank`.
    #[pyo3(signature = (index, count, *, rank, worker))]
    fn shard(
        &self,
        py: Python<'_>,
        index: u64,
        count: u64,
        rank: u64,
        worker: u64,
    ) -> PyResult<Self> {
        let shard = self.dataset.get(py, WHAT)?.shard(index, count);
        Ok(self.with(shard.or_raise(py)?.with_rank(rank, worker)))
    }

    /// The records of worker `worker` of rank `rank`. Whole files need no `file_records`.
    #[pyo3(signature = (world, rank, worker, file_records))]
    fn share(
        &self,
        py: Python<'_>,
        world: World,
        rank: u64,
        worker: u64,
        file_records: Vec<u64>,
    ) -> PyResult<Self> {
        let dataset = self.dataset.get(py, WHAT)?;
        let share = dataset.share(shares::world(world)?, rank, worker, file_records);
        Ok(self.with(share.or_raise(py)?))
    }

    /// Number of records of all files.
    fn num_records(&self, py: Python<'_>) -> PyResult<u64> {
        counting(py, self.dataset.get(py, WHAT)?, atds::Dataset::num_records)
    }

    /// The columns: name, dtype, kind, shape, layout.
    fn spec(&self, py: Python<'_>) -> PyResult<Vec<SaidColumn>> {
        columns(self.dataset.get(py, WHAT)?.spec())
    }
}

impl Dataset {
    /// Another data set with the same columns.
    fn with(&self, dataset: atds::Dataset) -> Self {
        Dataset {
            dataset: InProcess::new(dataset),
            columns: self.columns.clone(),
        }
    }
}

/// The columns of features of files of a format, given as the text of a features file. They do not
/// depend on the schema.
#[pyfunction]
pub(crate) fn spec_of_features(
    py: Python<'_>,
    features: &str,
    format: &str,
) -> PyResult<Vec<SaidColumn>> {
    let format: FileFormat = format.parse().or_raise(py)?;
    let features =
        atds::features::from_json(features).map_err(|error| features_error(py, &error))?;
    let features = format
        .features(features)
        .map_err(|error| feature_error(py, &error))?;
    columns(features.spec())
}

/// A column as its name, dtype, kind, shape and whether it is ragged; a dimension
/// that varies is -1.
pub(crate) type SaidColumn = (String, &'static str, &'static str, Vec<i64>, bool);

/// The columns of `spec` in Python's terms.
pub(crate) fn columns(spec: &BatchSpec) -> PyResult<Vec<SaidColumn>> {
    let columns = spec.columns().iter().map(|column| {
        let (kind, shape, layout) = match &column.kind {
            ColumnKind::Dense { shape } => {
                let dims = shape.iter().map(|&dim| i64::try_from(dim));
                ("dense", dims.collect::<Result<_, _>>()?, Layout::Coo)
            }
            ColumnKind::Padded { shape, .. } => ("dense", shape.clone(), Layout::Coo),
            ColumnKind::Sparse { shape, layout } => ("sparse", shape.clone(), *layout),
            ColumnKind::Varlen { shape, layout } => ("varlen", shape.clone(), *layout),
            ColumnKind::Flat => ("flat", Vec::new(), Layout::Coo),
            _ => return Err(PyValueError::new_err("a column of a kind not known here")),
        };
        let ragged = layout == Layout::Ragged;
        Ok((
            column.name.clone(),
            column.dtype.name(),
            kind,
            shape,
            ragged,
        ))
    });
    columns.collect()
}
