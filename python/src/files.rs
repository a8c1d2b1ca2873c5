//! Files: looking them up, and reading schemas, features and figures.

use std::ffi::OsString;
use std::path::PathBuf;

use atds::FileFormat;
use atds::avro::inference::LeftOut;
use atds::avro::inspect::InspectOptions;
use atds::avro::records::Records;
use atds::interface::Interface;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::errors::{
    OrRaise, feature_error, feature_of_file_error, features_error, features_file_error,
};
use crate::fork::InProcess;
use crate::options::{self, tolerated};
use crate::schemas::FileSchemas;
use crate::waiting::interruptible;

/// Files that were looked up, with the bytes read so far from inputs that can be read only once.
#[pyclass(frozen, module = "atds._native")]
pub(crate) struct Files {
    files: InProcess<atds::Files>,
    paths: Vec<PathBuf>,
    read_once: Vec<PathBuf>,
}

#[pymethods]
impl Files {
    /// Looks up the files that paths, patterns and folders stand for.
    #[new]
    #[pyo3(signature = (given, recursive, format = None))]
    fn new(
        py: Python<'_>,
        given: Vec<PathBuf>,
        recursive: bool,
        format: Option<&str>,
    ) -> PyResult<Self> {
        let format: Option<FileFormat> = format.map(str::parse).transpose().or_raise(py)?;
        let look_up = move || {
            let given = atds::Files::from(given).recursive(recursive).format(format);
            let files = given.looked_up()?;
            let (paths, read_once) = (files.resolve()?, files.read_once()?);
            Ok((files, paths, read_once))
        };
        let (files, paths, read_once) = interruptible(py, look_up)?.or_raise(py)?;
        Ok(Files {
            files: InProcess::new(files),
            paths,
            read_once,
        })
    }

    /// Whether this was made in this process and can be used.
    fn is_here(&self) -> bool {
        self.files.is_here()
    }

    /// The name of the files' format.
    fn format(&self, py: Python<'_>) -> PyResult<&'static str> {
        let files = self.get(py)?.clone();
        let format = self.wait(py, move || files.told_format())?.or_raise(py)?;
        Ok(format.name())
    }

    /// The paths of all files.
    fn paths(&self) -> Vec<OsString> {
        self.paths.iter().cloned().map(Into::into).collect()
    }

    /// The files that can be read only once: pipes, sockets, devices.
    fn read_once(&self) -> Vec<OsString> {
        self.read_once.iter().cloned().map(Into::into).collect()
    }
}

impl Files {
    pub(crate) fn get(&self, py: Python<'_>) -> PyResult<&atds::Files> {
        self.files.get(py, "this data set")
    }

    /// Runs `work` on these files; a signal cancels it.
    pub(crate) fn wait<T: Send + 'static>(
        &self,
        py: Python<'_>,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> PyResult<T> {
        let files = self.get(py)?;
        interruptible(py, work).inspect_err(|_| files.cancel())
    }
}

/// The schema in a file's header, as its text.
#[pyfunction]
pub(crate) fn read_schema(py: Python<'_>, file: PathBuf) -> PyResult<String> {
    let text = move || Records::open(file).map(|records| records.schema_text().to_owned());
    interruptible(py, text)?.or_raise(py)
}

/// Checks a features file. Paths of vocabularies are relative to its folder.
#[pyfunction]
pub(crate) fn check_features_file(py: Python<'_>, file: PathBuf) -> PyResult<()> {
    let read = {
        let file = file.clone();
        interruptible(py, move || atds::features::read(file))?
    };
    let features = read.map_err(|error| features_file_error(py, &file, &error))?;
    let checked = atds::Features::new(features);
    checked
        .map(|_| ())
        .map_err(|error| feature_of_file_error(py, &file, &error))
}

/// Checks features that are given as the JSON of a features file.
#[pyfunction]
pub(crate) fn check_features(py: Python<'_>, features: &str) -> PyResult<()> {
    let features =
        atds::features::from_json(features).map_err(|error| features_error(py, &error))?;
    let checked = atds::Features::new(features);
    checked
        .map(|_| ())
        .map_err(|error| feature_error(py, &error))
}

/// Inferred features for Python: the text of a features file; the names of features of bytes; the
/// values that are left out, with their types; warnings; and the features that are dense by a
/// sample, with their expressions and the number of records.
type Inferred = (
    String,
    Vec<String>,
    Vec<(String, String)>,
    Vec<String>,
    Vec<(String, String, u64)>,
);

/// The features that a data set of `files` reads by default. `schemas` are the schemas of the
/// files, or of the first file if they are not checked.
#[pyfunction]
pub(crate) fn infer_features(
    py: Python<'_>,
    files: PyRef<'_, Files>,
    options: &Bound<'_, PyDict>,
    schemas: &FileSchemas,
) -> PyResult<Inferred> {
    let builder = atds::Dataset::builder(files.get(py)?.clone(), 1);
    let builder = builder.schemas(schemas.schemas.clone());
    let builder = options::apply(builder, options, None)?;
    let inferred = files.wait(py, move || builder.infer())?.or_raise(py)?;
    let sampled = inferred.sampled.iter().map(|one| {
        let (feature, expression) = (one.feature.clone(), one.expression.clone());
        (feature, expression, one.records)
    });
    Ok((
        atds::features::to_json(&inferred.features).to_string(),
        inferred.binary.clone(),
        left_out(&inferred.left_out),
        atds::avro::inference::inference_warnings(&inferred),
        sampled.collect(),
    ))
}

/// The files that have no damage, and for each of the others its damage as the text of a JSON object. All
/// are read once. `features` is the text of a features file; `None` to infer them.
#[pyfunction]
#[pyo3(signature = (files, features, options))]
pub(crate) fn without_damaged(
    py: Python<'_>,
    files: PyRef<'_, Files>,
    features: Option<&str>,
    options: &Bound<'_, PyDict>,
) -> PyResult<(Vec<PathBuf>, Vec<String>)> {
    let builder = atds::Dataset::builder(files.get(py)?.clone(), 1024);
    let mut builder = options::apply(builder, options, None)?;
    if let Some(features) = features {
        let features = atds::features::from_json(features);
        builder = builder.features(features.map_err(|error| features_error(py, &error))?);
    }
    let dataset = files.wait(py, move || builder.build())?.or_raise(py)?;
    let skipped = dataset.skipped_files().iter();
    let skipped = skipped.map(|skipped| skipped.to_json(Interface::Python).to_string());
    Ok((dataset.files().to_vec(), skipped.collect()))
}

/// Inspects a file, and counts nulls in its first `sample` records. `None` stands for the default
/// of an option.
#[pyfunction]
#[pyo3(signature = (
    file, sample = None, memory_limit = None, tolerate = Vec::new(), max_block_bytes = None, max_depth = None,
))]
pub(crate) fn inspect<'py>(
    py: Python<'py>,
    file: PathBuf,
    sample: Option<u64>,
    memory_limit: Option<u64>,
    tolerate: Vec<String>,
    max_block_bytes: Option<usize>,
    max_depth: Option<usize>,
) -> PyResult<Bound<'py, PyDict>> {
    let mut options = InspectOptions::default();
    options.sample = sample.unwrap_or(options.sample);
    options.memory_limit = memory_limit.unwrap_or(options.memory_limit);
    options.tolerate = tolerated(py, &tolerate)?;
    options.max_block_bytes = max_block_bytes.unwrap_or(options.max_block_bytes);
    options.max_depth = max_depth.unwrap_or(options.max_depth);
    let found = interruptible(py, move || {
        atds::avro::inspect::inspect_with(file, &options)
    })?
    .or_raise(py)?;
    let dict = PyDict::new(py);
    dict.set_item("path", found.path.as_os_str())?;
    dict.set_item("packing", found.packing.map(|packing| packing.name()))?;
    dict.set_item("codec", &found.codec)?;
    dict.set_item("schema", &found.schema_text)?;
    let metadata = PyDict::new(py);
    for (key, value) in &found.metadata {
        metadata.set_item(key, PyBytes::new(py, value))?;
    }
    dict.set_item("metadata", metadata)?;
    dict.set_item("blocks", found.blocks)?;
    dict.set_item("records", found.records)?;
    dict.set_item("file_bytes", found.file_bytes)?;
    dict.set_item("raw_bytes", found.raw_bytes)?;
    dict.set_item("decompressed_bytes", found.decompressed_bytes)?;
    let features = atds::features::to_json(&found.features).to_string();
    dict.set_item("features", features)?;
    dict.set_item("binary", &found.binary)?;
    dict.set_item("left_out", left_out(&found.left_out))?;
    let paths = found.paths.iter().map(|path| {
        let (way, values, nulls) = (&path.path, path.values, path.nulls);
        (
            &way.expression,
            &way.schema_type,
            way.nullable,
            values,
            nulls,
        )
    });
    dict.set_item("paths", paths.collect::<Vec<_>>())?;
    dict.set_item("paths_truncated", found.paths_truncated)?;
    dict.set_item("sampled", found.sampled)?;
    let notes = found.notes.iter();
    let notes: Vec<_> = notes
        .map(|note| (&note.path, note.kind.to_string()))
        .collect();
    dict.set_item("notes", notes)?;
    Ok(dict)
}

fn left_out(fields: &[LeftOut]) -> Vec<(String, String)> {
    let fields = fields.iter();
    fields
        .map(|field| (field.field.clone(), field.schema_type.clone()))
        .collect()
}
