//! What files hold: their schemas, features and figures.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::PathBuf;

use atds::path::field_step;
use atds::{Feature, InspectOptions, LeftOut, Records, Schema};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::errors::{OrRaise, schema_error};
use crate::fork::InProcess;
use crate::waiting::interruptible;

/// Files that were looked up, and what was read of those that can be read once.
#[pyclass(frozen, module = "atds._native")]
pub(crate) struct Files {
    files: InProcess<atds::Files>,
    paths: Vec<PathBuf>,
    read_once: Vec<PathBuf>,
}

#[pymethods]
impl Files {
    /// Looks up the files that files, patterns and folders stand for.
    #[new]
    fn new(py: Python<'_>, given: Vec<PathBuf>, recursive: bool) -> PyResult<Self> {
        let look_up = move || {
            let given = atds::Files::from(given).recursive(recursive);
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

    /// Whether it was made in this process, so that it can be used.
    fn is_here(&self) -> bool {
        self.files.is_here()
    }

    /// The paths of all files.
    fn paths(&self) -> Vec<OsString> {
        self.paths.iter().cloned().map(Into::into).collect()
    }

    /// Those that can be read once: pipes, sockets, devices.
    fn read_once(&self) -> Vec<OsString> {
        self.read_once.iter().cloned().map(Into::into).collect()
    }
}

impl Files {
    pub(crate) fn get(&self, py: Python<'_>) -> PyResult<&atds::Files> {
        self.files.get(py, "this data set")
    }

    pub(crate) fn all_paths(&self) -> &[PathBuf] {
        &self.paths
    }

    /// Does `work` on these files; a signal makes it give up.
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

/// Features as the JSON of a features file, the names of those that are bytes,
/// and the fields that cannot be a tensor with their types.
pub(crate) type Inferred = (String, Vec<String>, Vec<(String, String)>);

/// The features that a schema has, given as text.
#[pyfunction]
pub(crate) fn infer_features(py: Python<'_>, schema: &str) -> PyResult<Inferred> {
    let schema = Schema::parse(schema).map_err(|error| schema_error(py, "schema", &error))?;
    let inferred = atds::infer(&schema);
    if inferred.truncated {
        return Err(crate::errors::too_many_fields(py));
    }
    Ok(said_features(
        &schema,
        &inferred.features,
        &inferred.left_out,
    ))
}

/// Features of a schema in Python's terms.
pub(crate) fn said_features(schema: &Schema, features: &[Feature], fields: &[LeftOut]) -> Inferred {
    (
        atds::features::to_json(features).to_string(),
        binary(schema, features),
        left_out(fields),
    )
}

/// Reads all of a file, and counts nulls in its first `sample` records; no limit is the
/// default one.
#[pyfunction]
#[pyo3(signature = (
    file, sample = None, memory_limit = None, tolerate = "", max_block_bytes = None, max_depth = None,
))]
pub(crate) fn inspect<'py>(
    py: Python<'py>,
    file: PathBuf,
    sample: Option<u64>,
    memory_limit: Option<u64>,
    tolerate: &str,
    max_block_bytes: Option<usize>,
    max_depth: Option<usize>,
) -> PyResult<Bound<'py, PyDict>> {
    let mut options = InspectOptions::default();
    options.sample = sample.unwrap_or(options.sample);
    options.memory_limit = memory_limit.unwrap_or(options.memory_limit);
    options.tolerate = tolerate.parse().or_raise(py)?;
    options.max_block_bytes = max_block_bytes.unwrap_or(options.max_block_bytes);
    options.max_depth = max_depth.unwrap_or(options.max_depth);
    let found = interruptible(py, move || atds::inspect_with(file, &options))?.or_raise(py)?;
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
    dict.set_item("inflated_bytes", found.inflated_bytes)?;
    let features = atds::features::to_json(&found.features).to_string();
    dict.set_item("features", features)?;
    dict.set_item("binary", binary(&found.schema, &found.features))?;
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

/// The names of the string features whose values are bytes or fixed, and so need
/// not be text.
fn binary(schema: &Schema, features: &[Feature]) -> Vec<String> {
    let paths = atds::paths(schema).paths;
    let types: HashMap<_, _> = paths
        .iter()
        .map(|path| (path.expression.as_str(), path.schema_type.as_str()))
        .collect();
    let strings = features
        .iter()
        .filter(|feature| feature.dtype == atds::DType::String);
    let binary = strings.filter(|feature| {
        let way = match feature.expression {
            // The name of a field, if there is one.
            None => Some(field_step(&feature.name)).filter(|step| types.contains_key(&**step)),
            Some(_) => None,
        };
        let way = way.unwrap_or_else(|| feature.expression().into());
        [way.to_string(), format!("{way}.values")]
            .into_iter()
            .any(|way| is_binary(&types, way))
    });
    binary.map(|feature| feature.name.clone()).collect()
}

/// Whether the innermost values of the arrays at `way` are bytes or fixed.
fn is_binary(types: &HashMap<&str, &str>, mut way: String) -> bool {
    while let Some(schema_type) = types.get(way.as_str()) {
        if schema_type.starts_with("array") {
            way.push_str("[*]");
            continue;
        }
        return schema_type.starts_with("bytes") || schema_type.starts_with("fixed");
    }
    false
}
