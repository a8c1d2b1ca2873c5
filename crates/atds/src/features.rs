//! The features file: columns as JSON.
//!
//! ```json
//! {
//!   "label": {"kind": "dense", "shape": [], "dtype": "int32"},
//!   "ads":   {"kind": "sparse", "shape": [50001], "dtype": "float32"},
//!   "words": {"kind": "varlen", "shape": [-1], "dtype": "string", "layout": "ragged"}
//! }
//! ```
//!
//! `kind` is `dense`, `sparse` or `varlen`; `shape` the dimensions without the
//! batch, -1 for an unknown one of a sparse or varlen feature; `dtype` is
//! `int32`, `int64`, `float32`, `float64`, `bool`, `string` or `bytes`;
//! `layout` is `coo` (if not given) or `ragged`.

use avro_decode::Feature;
use avro_decode::feature::FeatureKind;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tensor_batch::{DType, Layout};
use thiserror::Error;

/// A features file that cannot be read.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum FeaturesError {
    /// Not JSON, or JSON of another form.
    #[error("the features: {message} at line {line} column {column}")]
    Json {
        /// What the parser objects to.
        message: String,
        /// The line, counted from 1.
        line: usize,
        /// The column, counted from 1.
        column: usize,
    },
    /// A feature that cannot be.
    #[error("feature '{feature}': {message}")]
    Feature {
        /// Its name.
        feature: String,
        /// What is wrong with it.
        message: String,
    },
}

#[derive(Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "an object of kind, shape, dtype and layout"
)]
struct Entry {
    kind: String,
    #[serde(default)]
    shape: Vec<i64>,
    dtype: String,
    #[serde(default)]
    layout: Option<String>,
}

/// Reads a features file.
///
/// # Errors
/// Text that is not such JSON, or an unknown kind, dtype or layout.
pub fn from_json(text: &str) -> Result<Vec<Feature>, FeaturesError> {
    let entries: Map<String, Value> = serde_json::from_str(text).map_err(|error| {
        let message = error.to_string();
        let place = format!(" at line {} column {}", error.line(), error.column());
        FeaturesError::Json {
            message: message.strip_suffix(&place).unwrap_or(&message).to_owned(),
            line: error.line(),
            column: error.column(),
        }
    })?;
    let columns = entries.into_iter().map(|(name, entry)| {
        column(&name, entry).map_err(|message| FeaturesError::Feature {
            feature: name,
            message,
        })
    });
    columns.collect()
}

fn column(name: &str, entry: Value) -> Result<Feature, String> {
    let entry: Entry = serde_json::from_value(entry).map_err(|error| error.to_string())?;
    let dtype =
        DType::from_name(&entry.dtype).ok_or_else(|| format!("unknown dtype '{}'", entry.dtype))?;
    let layout = match entry.layout.as_deref() {
        None => None,
        Some("coo") => Some(Layout::Coo),
        Some("ragged") => Some(Layout::Ragged),
        Some(other) => return Err(format!("unknown layout '{other}'")),
    };
    let column = match entry.kind.as_str() {
        "dense" if layout.is_some() => return Err("a dense feature has no layout".to_owned()),
        "dense" => {
            let shape: Result<Vec<usize>, _> =
                entry.shape.iter().map(|&dim| dim.try_into()).collect();
            let shape = shape.map_err(|_| "a dense dimension is negative".to_owned())?;
            Feature::dense(name, &shape, dtype)
        }
        "sparse" => Feature::sparse(name, &entry.shape, dtype),
        "varlen" => Feature::varlen(name, &entry.shape, dtype),
        other => return Err(format!("unknown kind '{other}'")),
    };
    Ok(column.with_layout(layout.unwrap_or_default()))
}

/// Features as the JSON of a features file.
pub fn to_json(features: &[Feature]) -> Value {
    let entries = features.iter().map(|feature| {
        let (kind, shape, layout) = match &feature.kind {
            FeatureKind::Dense { shape, .. } => ("dense", json!(shape), Layout::Coo),
            FeatureKind::Sparse { shape, layout, .. } => ("sparse", json!(shape), *layout),
            FeatureKind::Varlen { shape, layout, .. } => ("varlen", json!(shape), *layout),
            _ => unreachable!("every kind of this version is above"),
        };
        let mut entry = json!({"kind": kind, "shape": shape, "dtype": feature.dtype.name()});
        if layout == Layout::Ragged {
            entry["layout"] = json!("ragged");
        }
        (feature.name.clone(), entry)
    });
    Value::Object(entries.collect())
}
