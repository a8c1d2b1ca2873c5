//! Errors of generating files, and of shapes of records.

use std::io;
use std::path::PathBuf;

use avro_decode::SchemaError;
use tensor_batch::DType;
use thiserror::Error;

use super::files::MAX_FILES;
use crate::limits::{MAX_MEAN_LENGTH, MAX_SAMPLE_VALUES};

/// An error of generating files.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum GenerateError {
    /// The number of files is 0 or above [`MAX_FILES`].
    #[error("cannot write records to {files} files: there must be 1 to {MAX_FILES}")]
    FileCount {
        /// The number of files.
        files: usize,
    },
    /// The folder has another Avro file, which would be read together with the new files.
    #[error("{} would stay beside the new files: remove it or choose another folder", path.display())]
    FolderInUse {
        /// The file.
        path: PathBuf,
    },
    /// A folder could not be made or read, or a file not be made.
    #[error("{}: {source}", path.display())]
    Io {
        /// The folder or file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A file could not be written.
    #[error("{}: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The error and its offset.
        source: avro_block::Error,
    },
    /// [`GenerateOptions::cancelled`](super::GenerateOptions::cancelled) was set.
    #[error("cancelled")]
    Cancelled,
}

/// An error of a shape for features.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ShapeError {
    /// A mean length that is not above 0 and at most [`MAX_MEAN_LENGTH`].
    #[error("`mean_length` is {mean_length}: it must be above 0, at most {MAX_MEAN_LENGTH}")]
    MeanLength {
        /// The given mean length.
        mean_length: f64,
    },
    /// A feature for which no records can be made.
    #[error("feature '{feature}': {kind}")]
    Feature {
        /// The name of the feature.
        feature: String,
        /// The reason.
        kind: ShapeErrorKind,
    },
    /// The schema would be invalid, because of its size or the length of a name.
    #[error("the schema of the records: {0}")]
    Schema(SchemaError),
}

impl ShapeError {
    #[cold]
    pub(super) fn mean_length(mean_length: f64) -> Self {
        ShapeError::MeanLength { mean_length }
    }

    #[cold]
    pub(super) fn feature(feature: &str, kind: ShapeErrorKind) -> Self {
        let feature = feature.to_owned();
        ShapeError::Feature { feature, kind }
    }
}

/// The reason why no records can be made for a feature.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum ShapeErrorKind {
    /// The expression is not just the name of a field.
    #[error("'{expression}' is not the name of a field: samples are made for fields only")]
    Expression {
        /// The expression.
        expression: String,
    },
    /// Another feature reads the same field.
    #[error("another feature reads the field '{field}', too")]
    DuplicateField {
        /// The field.
        field: String,
    },
    /// The kind is not supported: sparse entries by keys.
    #[error("samples are made for dense and varlen features, and for sparse ones of a shape")]
    Kind,
    /// No Avro type is read as the dtype.
    #[error("samples of {dtype} are made only with a cast")]
    DType {
        /// The dtype.
        dtype: DType,
    },
    /// The conversion is not supported: a vocabulary or a unit.
    #[error("samples are not made for a vocabulary or a unit")]
    Conversion,
    /// A sparse shape with too many cells to number them.
    #[error("the shape has 2^64 cells or more")]
    TooManyCells,
    /// The feature would give records more than [`MAX_SAMPLE_VALUES`] values.
    #[error("with this feature, records would have more than {MAX_SAMPLE_VALUES} values")]
    TooManyValues,
}
