//! The error of generating files, and of shapes of records.

use std::error::Error;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use avro_decode::SchemaError;
use tensor_batch::DType;

use crate::limits::{MAX_FILES, MAX_MEAN_LENGTH, MAX_SAMPLE_VALUES};

/// An error of generating files, or of a shape of records, and the file or folder where it occurred.
#[derive(Debug)]
#[non_exhaustive]
pub struct GenerateError {
    /// The kind of the error.
    pub kind: GenerateErrorKind,
    /// The file or folder, if the error is about one.
    pub path: Option<PathBuf>,
}

/// The kind of a [`GenerateError`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GenerateErrorKind {
    /// The number of files is 0 or above [`MAX_FILES`].
    #[error("cannot write records to {files} files: there must be 1 to {MAX_FILES}")]
    FileCount {
        /// The number of files.
        files: usize,
    },
    /// The path is another Avro file of the folder, which would be read together with the new
    /// files.
    #[error("would stay beside the new files: remove it or choose another folder")]
    FolderInUse,
    /// A folder could not be created or read, or a file could not be created.
    #[error("{0}")]
    Io(io::Error),
    /// A file could not be written.
    #[error("{0}")]
    Write(avro_block::Error),
    /// [`GenerateOptions::cancelled`](crate::GenerateOptions::cancelled) was set.
    #[error("cancelled")]
    Cancelled,
    /// A mean length that is not above 0 and at most [`MAX_MEAN_LENGTH`].
    #[error("`mean_length` is {mean_length}: it must be above 0, at most {MAX_MEAN_LENGTH}")]
    MeanLength {
        /// The given mean length.
        mean_length: f64,
    },
    /// A feature for which no records can be made.
    #[error("feature '{feature}': {reason}")]
    Feature {
        /// The name of the feature.
        feature: String,
        /// The reason.
        reason: UnsupportedFeature,
    },
    /// The schema would be invalid, because of its size or the length of a name.
    #[error("the schema of the records: {0}")]
    Schema(SchemaError),
}

/// The reason why no records can be made for a feature.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum UnsupportedFeature {
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

impl GenerateError {
    #[cold]
    pub(crate) fn io(error: io::Error, path: &Path) -> Self {
        GenerateErrorKind::Io(error).at(path)
    }

    #[cold]
    pub(crate) fn write(error: avro_block::Error, path: &Path) -> Self {
        GenerateErrorKind::Write(error).at(path)
    }

    #[cold]
    pub(crate) fn feature(feature: &str, reason: UnsupportedFeature) -> Self {
        let feature = feature.to_owned();
        GenerateErrorKind::Feature { feature, reason }.into()
    }
}

impl GenerateErrorKind {
    #[cold]
    pub(crate) fn at(self, path: &Path) -> GenerateError {
        GenerateError {
            kind: self,
            path: Some(path.to_owned()),
        }
    }
}

impl From<GenerateErrorKind> for GenerateError {
    #[cold]
    fn from(kind: GenerateErrorKind) -> Self {
        GenerateError { kind, path: None }
    }
}

impl fmt::Display for GenerateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let GenerateError { kind, path } = self;
        match (path, kind) {
            // The path is the subject of the sentence.
            (Some(path), GenerateErrorKind::FolderInUse) => write!(f, "{} {kind}", path.display()),
            (Some(path), _) => write!(f, "{}: {kind}", path.display()),
            (None, _) => kind.fmt(f),
        }
    }
}

impl Error for GenerateError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.kind {
            GenerateErrorKind::Io(error) => Some(error),
            GenerateErrorKind::Write(error) => Some(error),
            _ => None,
        }
    }
}
