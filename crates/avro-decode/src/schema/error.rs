//! The error of parsing a schema: what is wrong, at which position.

use std::fmt;

use atds_features::words::Shown;
use thiserror::Error;

use crate::limits::{MAX_NAME_BYTES, MAX_SCHEMA_BYTES, MAX_SCHEMA_DEPTH};

/// A text that is not a schema.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SchemaError {
    /// What is wrong.
    pub kind: SchemaErrorKind,
    /// The position as a JSON pointer, such as `/fields/3/type/items`; empty for the whole schema.
    pub path: String,
}

impl fmt::Display for SchemaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            write!(f, "schema: {}", self.kind)
        } else {
            write!(f, "schema, at {}: {}", self.path, self.kind)
        }
    }
}

impl std::error::Error for SchemaError {}

/// What is wrong with a schema.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum SchemaErrorKind {
    /// The text is longer than [`MAX_SCHEMA_BYTES`].
    #[error("the text has {bytes} bytes, more than {MAX_SCHEMA_BYTES}")]
    TooLong {
        /// Bytes of the text.
        bytes: usize,
    },
    /// The text is not JSON.
    #[error("not JSON, line {line} column {column}: {reason}")]
    Json {
        /// The JSON parser's message.
        reason: String,
        /// Line of the text, from 1.
        line: usize,
        /// Column of the line, from 1; 0 before the first column.
        column: usize,
    },
    /// Types are nested deeper than [`MAX_SCHEMA_DEPTH`], or the text's objects and arrays deeper
    /// than 127.
    #[error("types are nested deeper than {MAX_SCHEMA_DEPTH}, or JSON deeper than 127")]
    TooDeep,
    /// A type is neither a string, nor an object, nor an array.
    #[error("a type must be a string, an object or an array")]
    NotAType,
    /// A required attribute is missing.
    #[error("the attribute \"{0}\" is missing")]
    Missing(&'static str),
    /// An attribute violates its definition.
    #[error("\"{attribute}\" is not {expected}")]
    BadAttribute {
        /// The attribute's name.
        attribute: &'static str,
        /// The valid values.
        expected: &'static str,
    },
    /// A logical type is invalid for its type, so it is ignored.
    #[error("logicalType '{}' is ignored: {}", Shown(name), Shown(why))]
    LogicalTypeNotTaken {
        /// The logical type's name.
        name: String,
        /// The reason.
        why: String,
    },
    /// A type's name is neither one of Avro's types nor defined earlier.
    #[error("unknown type {0:?}")]
    UnknownType(String),
    /// A name or symbol contains a character other than letters, digits and underscores, or begins
    /// with a digit.
    #[error("{0:?} is not a name: letters, digits and underscores, and no digit first")]
    BadName(String),
    /// A full name is longer than [`MAX_NAME_BYTES`].
    #[error("a name is longer than {MAX_NAME_BYTES} bytes")]
    NameTooLong,
    /// A type is given the name of a primitive type.
    #[error("{0:?} is the name of a primitive type")]
    ReservedName(String),
    /// Two types have this name.
    #[error("{0:?} is defined twice")]
    DuplicateName(String),
    /// Two fields of a record have this name.
    #[error("the record has two fields {0:?}")]
    DuplicateField(String),
    /// An enum has this symbol twice.
    #[error("the enum has the symbol {0:?} twice")]
    DuplicateSymbol(String),
    /// Two branches of a union have the same type.
    #[error("the union has two branches of type {}", Shown(.0))]
    DuplicateBranch(String),
    /// A branch of a union is a union.
    #[error("a branch of a union cannot be a union")]
    NestedUnion,
    /// A default does not match its type. Only
    /// [`Schema::check_defaults`](super::Schema::check_defaults) returns this.
    #[error("the default does not match the type")]
    BadDefault,
}
