//! Errors of features files.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use atds_features::DuplicateWord;
use serde_json::Value;
use tensor_batch::DType;
use thiserror::Error;

/// A features file that cannot be read.
#[derive(Clone, Debug, Error)]
#[non_exhaustive]
pub enum FeaturesError {
    /// The file cannot be read.
    #[error("{0}")]
    Io(Arc<io::Error>),
    /// The text is not JSON, not an object of objects, or has a name twice.
    #[error("the features: {message} at line {line} column {column}")]
    Json {
        /// The parser's message.
        message: String,
        /// The line, counted from 1.
        line: usize,
        /// The column, counted from 1.
        column: usize,
    },
    /// An invalid feature.
    #[error("feature '{feature}': {kind}")]
    Feature {
        /// The name of the feature.
        feature: String,
        /// The fault of the feature.
        kind: EntryErrorKind,
    },
}

impl FeaturesError {
    #[cold]
    pub(super) fn io(error: io::Error) -> Self {
        FeaturesError::Io(Arc::new(error))
    }

    #[cold]
    pub(super) fn json(error: &serde_json::Error) -> Self {
        let message = error.to_string();
        let (line, column) = (error.line(), error.column());
        // The message's own position is removed: the error has fields for it.
        let position = format!(" at line {line} column {column}");
        FeaturesError::Json {
            message: message
                .strip_suffix(&position)
                .unwrap_or(&message)
                .to_owned(),
            line,
            column,
        }
    }

    #[cold]
    pub(super) fn feature(feature: &str, kind: EntryErrorKind) -> Self {
        let feature = feature.to_owned();
        FeaturesError::Feature { feature, kind }
    }
}

/// The fault of a feature in a features file.
#[derive(Clone, Debug, Error)]
#[non_exhaustive]
pub enum EntryErrorKind {
    /// A key that a feature must have.
    #[error("'{key}' is missing")]
    MissingKey {
        /// The key.
        key: &'static str,
    },
    /// A key that features of the kind do not have.
    #[error("{kind} has no key '{key}'; its keys are {}", Listed(known))]
    UnknownKey {
        /// The key.
        key: String,
        /// The kind.
        kind: &'static str,
        /// The keys that it has.
        known: Vec<&'static str>,
    },
    /// An unknown name of a kind, a dtype or a layout.
    #[error("'{key}' is '{found}', which is none of {}", Listed(known))]
    UnknownName {
        /// The key.
        key: &'static str,
        /// The name.
        found: String,
        /// The known names.
        known: Vec<&'static str>,
    },
    /// A value of the wrong type.
    #[error("'{key}' is {found}, not {expected}")]
    WrongType {
        /// The key.
        key: &'static str,
        /// The expected type.
        expected: &'static str,
        /// The value.
        found: String,
    },
    /// Two keys of which a feature has only one.
    #[error("'{}' and '{}' exclude each other", .keys[0], .keys[1])]
    Exclusive {
        /// The keys.
        keys: [&'static str; 2],
    },
    /// A default that does not fit the dtype.
    #[error("'default' has {found}, which is not of dtype {dtype}")]
    DefaultValue {
        /// The value.
        found: String,
        /// The dtype.
        dtype: DType,
    },
    /// Nested lists of a default that are not of one length on each level, or
    /// not of the shape.
    #[error("the lists of 'default' are not of the shape {expected:?}")]
    DefaultShape {
        /// The shape, without the batch.
        expected: Vec<usize>,
    },
    /// A default of a `fixed_len_sequence` that does not allow gaps.
    #[error("'default' needs \"allow_missing\": true")]
    DefaultWithoutGaps,
    /// A file of words that cannot be read.
    #[error("'vocabulary', file {}: {error}", .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The system's error.
        error: Arc<io::Error>,
    },
    /// A vocabulary with the same word twice.
    #[error("'vocabulary': {0}")]
    DuplicateWord(DuplicateWord),
}

impl EntryErrorKind {
    #[cold]
    pub(super) fn wrong_type(key: &'static str, expected: &'static str, found: &Value) -> Self {
        EntryErrorKind::WrongType {
            key,
            expected,
            found: short(found),
        }
    }
}

/// Maximum number of characters of a value in a message.
const MAX_SHOWN: usize = 40;

/// A JSON value as text, truncated.
pub(super) fn short(json: &Value) -> String {
    let text = json.to_string();
    match text.char_indices().nth(MAX_SHOWN) {
        None => text,
        Some((end, _)) => format!("{}..", &text[..end]),
    }
}

/// `'a', 'b', 'c'`.
struct Listed<'a>(&'a [&'static str]);

impl fmt::Display for Listed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, name) in self.0.iter().enumerate() {
            write!(f, "{}'{name}'", if i > 0 { ", " } else { "" })?;
        }
        Ok(())
    }
}
