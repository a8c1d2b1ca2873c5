//! Features, which select the values to read from each record, and the features file, their JSON
//! form.
//!
//! ```json
//! {
//!   "label": {"kind": "dense", "shape": [], "dtype": "int32"},
//!   "ads":   {"kind": "sparse", "shape": [50001], "dtype": "float32"},
//!   "words": {"kind": "varlen", "shape": [-1], "dtype": "string", "layout": "ragged"},
//!   "age":   {"kind": "fixed_len", "expression": "user.age", "shape": [], "dtype": "int32",
//!             "default": -1, "mask": "has_age"},
//!   "cars":  {"kind": "sparse", "expression": "user.cars[*].engine", "index_key": "id",
//!             "value_key": "power", "size": 10000, "dtype": "float32"}
//! }
//! ```
//!
//! Kinds have the names of ATDS or of TensorFlow. Each `kind` has these keys besides `dtype`:
//!
//! | `kind` | keys |
//! |---|---|
//! | `dense` | `shape` (none is a scalar; `null` for a dimension that varies and is padded) |
//! | `sparse` (ATDS) | `shape` (-1 for an unknown dimension), `layout` |
//! | `varlen` | `shape` (-1 for an unknown dimension; none is one for each `[*]`), `layout` |
//! | `fixed_len` | `shape` (a first `null` may be the batch, others vary and are padded) |
//! | `fixed_len_sequence` | as `fixed_len`, and `allow_missing`, without which there is no `default` |
//! | `var_len` | `rank` or `shape` (none is one dimension for each `[*]`), `layout`, `partitions` (TFRecord) |
//! | `sparse` (TensorFlow) | `index_key` and `size` (one of each, or lists), `value_key`, `already_sorted`, `layout` |
//!
//! Every feature may have an `expression` (its name if it has none), a `default`
//! (a value, or nested lists of the shape), a `mask` and a `row_mask` (names of
//! columns), `truncate` (`true` drops values beyond the dimensions of its shape, see
//! [`Feature::with_truncate`]), and one conversion:
//!
//! | key | values become |
//! |---|---|
//! | `"cast": true` | the dtype, see [`Convert::Cast`] |
//! | `"hash_buckets": 1000` | int64 ids, the same as from `tf.strings.to_hash_bucket_fast` |
//! | `"vocabulary": ["a", "b"]` or `{"file": "words.txt"}`, a line a word | ids from 0 in that order; other words get the id `"unknown"`, -1 if not given |
//! | `"unit": "millis"` | int64 in `days`, `hours`, `minutes`, `seconds`, `millis`, `micros` or `nanos` |
//!
//! `dtype` is `int8`, `int16`, `int32`, `int64`, `uint8`, `uint16`, `float16`, `bfloat16`, `float32`,
//! `float64`, `bool`, `string` or `bytes`; `layout` is `coo` (if not given) or
//! `ragged`. Strings of dtype `bytes` are not checked to be UTF-8. A float may be `"NaN"`, `"Infinity"` or `"-Infinity"`; a string
//! that is not UTF-8 is `{"bytes": ".."}` with a character of U+0000 to U+00FF
//! for each byte.

mod convert;
mod entry;
mod error;
mod fill;
mod parse;
mod write;

use std::path::Path;

use serde_json::Value;

#[doc(inline)]
pub use atds_features::feature::{Extents, FeatureErrorKind, FeatureKind, Partition, SparseKeys};
#[doc(inline)]
pub use atds_features::{
    Clock, Convert, DuplicateWord, Feature, FeatureError, Features, Fill, Missing, TimeUnit,
    Vocabulary, path,
};
#[doc(inline)]
pub use avro_decode::{ConvertError, Meaning, MeaningError, OutOfBounds};
pub use error::{EntryErrorKind, FeaturesError};

/// Reads features from the text of a features file. Paths of vocabularies are relative to the
/// working directory.
///
/// # Errors
/// The text is not JSON, a feature occurs twice, or a feature is invalid.
pub fn from_json(text: &str) -> Result<Vec<Feature>, FeaturesError> {
    parse::features(text, Path::new(""))
}

/// Reads a features file. Paths of vocabularies are relative to its folder.
///
/// # Errors
/// The file cannot be read, or as [`from_json`].
pub fn read(path: impl AsRef<Path>) -> Result<Vec<Feature>, FeaturesError> {
    let path = path.as_ref();
    let text = std::fs::read_to_string(path).map_err(FeaturesError::io)?;
    parse::features(&text, path.parent().unwrap_or(Path::new("")))
}

/// Features as the JSON of a features file; reading it gives the same features.
/// Kinds of ATDS are used where possible, otherwise kinds of TensorFlow.
pub fn to_json(features: &[Feature]) -> Value {
    write::features(features)
}

#[cfg(test)]
mod tests;
