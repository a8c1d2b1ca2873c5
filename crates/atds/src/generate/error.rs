//! Why files could not be generated, or there are no records of a shape.

use std::io;
use std::path::PathBuf;

use avro_decode::SchemaError;
use tensor_batch::DType;
use thiserror::Error;

use super::files::MAX_FILES;
use crate::limits::{MAX_MEAN_LENGTH, MAX_SAMPLE_VALUES};

/// Why files could not be generated.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum GenerateError {
    /// No files, or more than [`MAX_FILES`], were asked for.
    #[error("cannot write records to {files} files: there must be 1 to {MAX_FILES}")]
    FileCount {
        /// The number asked for.
        files: usize,
    },
    /// The folder holds an Avro file that would stay there, and be read with the new ones.
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
        /// What the system said.
        source: io::Error,
    },
    /// A file could not be written.
    #[error("{}: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What went wrong, and at which byte.
        source: avro_block::Error,
    },
    /// [`GenerateOptions::cancelled`](super::GenerateOptions::cancelled) was set.
    #[error("cancelled")]
    Cancelled,
}

/// Why there are no records for features.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ShapeError {
    /// A mean length that is not above 0 and at most [`MAX_MEAN_LENGTH`].
    #[error("`mean_length` is {mean_length}: it must be above 0, at most {MAX_MEAN_LENGTH}")]
    MeanLength {
        /// The mean length asked for.
        mean_length: f64,
    },
    /// A feature that no records are made for.
    #[error("feature '{feature}': {kind}")]
    Feature {
        /// Its name.
        feature: String,
        /// Why not.
        kind: ShapeErrorKind,
    },
    /// The schema would be none, for its size or for the length of a name.
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

/// Why no records are made for a feature.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum ShapeErrorKind {
    /// Its expression leads further than to a field.
    #[error("'{expression}' is not the name of a field, which is all that samples are made for")]
    Expression {
        /// The expression.
        expression: String,
    },
    /// Another feature is of the same field.
    #[error("another feature is of the field '{field}' too")]
    DuplicateField {
        /// The field.
        field: String,
    },
    /// Its kind has no samples: sparse entries by keys.
    #[error("samples are made for dense and varlen features, and for sparse ones of a shape")]
    Kind,
    /// No Avro type is read as its dtype.
    #[error("samples of {dtype} are made only where it is cast")]
    DType {
        /// The dtype.
        dtype: DType,
    },
    /// Its conversion has no samples: a vocabulary or a unit.
    #[error("samples are not made for a vocabulary or a unit")]
    Conversion,
    /// A sparse shape with too many cells to number them.
    #[error("the shape has 2^64 cells or more")]
    TooManyCells,
    /// With it, records have more than [`MAX_SAMPLE_VALUES`] values.
    #[error("with it records have more than {MAX_SAMPLE_VALUES} values")]
    TooManyValues,
}
