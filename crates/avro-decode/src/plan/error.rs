//! Features that do not fit a schema.

use std::fmt;

use tensor_batch::DType;
use thiserror::Error;

/// A feature that does not fit the schema.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{}{kind}", Prefix(.feature))]
pub struct PlanError {
    /// The feature's name; empty where the schema itself is at fault.
    pub feature: String,
    /// How it does not fit.
    pub kind: PlanErrorKind,
}

impl PlanError {
    #[cold]
    pub(super) fn new(feature: &str, kind: PlanErrorKind) -> Self {
        let feature = feature.to_owned();
        PlanError { feature, kind }
    }
}

/// The feature an error is about, if it is about one.
struct Prefix<'a>(&'a str);

impl fmt::Display for Prefix<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            "" => Ok(()),
            feature => write!(f, "feature '{feature}': "),
        }
    }
}

/// How a feature does not fit the schema.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum PlanErrorKind {
    /// The schema is not a record, so it has no fields.
    #[error("the schema is {schema_type}, not a record")]
    SchemaNotRecord {
        /// What the schema is.
        schema_type: String,
    },
    /// The schema has no such field.
    #[error("the schema has no field '{missing}'")]
    NoSuchField {
        /// As much of the dotted name as is missing.
        missing: String,
    },
    /// A dotted name leads through something that is not a record.
    #[error("'{through}' is {schema_type}, not a record, so it has no fields")]
    NotNested {
        /// The part of the name before the dot.
        through: String,
        /// What it is.
        schema_type: String,
    },
    /// A union other than `[X]`, `["null", X]` and `[X, "null"]`.
    #[error("the union {union} is not of the form [X], [\"null\", X] or [X, \"null\"]")]
    Union {
        /// The union.
        union: String,
    },
    /// The dtype is not the one of the Avro type.
    #[error("the values are {schema_type}, which is read as {}, not {asked}", expected.name())]
    DTypeMismatch {
        /// The Avro type.
        schema_type: String,
        /// The dtype it is read as.
        expected: DType,
        /// The dtype asked for.
        asked: DType,
    },
    /// The values are of a type that has no dtype.
    #[error("the values are {schema_type}, which cannot be an element of a tensor")]
    NotAnElement {
        /// The Avro type.
        schema_type: String,
    },
    /// The arrays are nested otherwise than the shape says.
    #[error("the shape has rank {rank}, the schema {schema_rank}")]
    RankMismatch {
        /// Dimensions of the shape.
        rank: usize,
        /// Nested arrays, or arrays of indices.
        schema_rank: usize,
    },
    /// A sparse feature's field is not a record.
    #[error(
        "a sparse feature is a record of indices0.. and values, but the field is {schema_type}"
    )]
    NotSparse {
        /// What it is.
        schema_type: String,
    },
    /// A sparse record has no field `values`.
    #[error("the sparse record has no field 'values'")]
    NoValues,
    /// A sparse record lacks `indicesN`, of which there is one for each
    /// dimension from 0 on.
    #[error("the sparse record has no field 'indices{dimension}'")]
    IndicesGap {
        /// The first that is missing.
        dimension: usize,
    },
    /// A sparse record has a field that is neither indices nor values.
    #[error("the sparse record has the field '{field}', which is neither values nor indicesN")]
    ExtraField {
        /// The field.
        field: String,
    },
    /// The indices are not an array of int or long.
    #[error(
        "the field '{field}' of the sparse record is {schema_type}, not an array of int or long"
    )]
    BadIndices {
        /// The field.
        field: String,
        /// What it is.
        schema_type: String,
    },
    /// The values are not an array of a primitive.
    #[error(
        "the field 'values' of the sparse record is {schema_type}, not an array of a primitive"
    )]
    BadValues {
        /// What it is.
        schema_type: String,
    },
}
