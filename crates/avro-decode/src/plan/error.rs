//! Errors of features that do not fit a schema.

use std::fmt;

use atds_features::path::{PathError, field_step};
use atds_features::words::Shown;
use thiserror::Error;

use crate::convert::ConvertError;
use crate::nearest::nearest;
use crate::plan::MeaningError;
use crate::resolve::ResolveError;
use crate::schema::Name;

/// A feature that does not fit the schema.
#[derive(Clone, Debug, Error, PartialEq)]
#[error("{}{kind}", Prefix(.feature))]
#[non_exhaustive]
pub struct PlanError {
    /// The feature's name; empty for an error in the schema itself.
    pub feature: String,
    /// Why it does not fit.
    pub kind: PlanErrorKind,
}

impl PlanError {
    /// Whether the schema lacks a field or a branch of a union, or has only null there. If only
    /// some files lack it, a default or a mask solves this.
    pub fn is_absent(&self) -> bool {
        matches!(
            self.kind,
            PlanErrorKind::NoSuchField { .. }
                | PlanErrorKind::NoSuchName { .. }
                | PlanErrorKind::NoSuchBranch { .. }
                | PlanErrorKind::NoBranchHasField { .. }
                | PlanErrorKind::AlwaysNull { .. }
        )
    }

    /// The most similar name in the schema, for an error about a missing name.
    pub fn nearest(&self) -> Option<&str> {
        match &self.kind {
            PlanErrorKind::NoSuchField { nearest, .. }
            | PlanErrorKind::NoSuchName { nearest, .. }
            | PlanErrorKind::NoSuchSymbol { nearest, .. } => nearest.as_deref(),
            _ => None,
        }
    }

    #[cold]
    pub(super) fn new(feature: &str, kind: PlanErrorKind) -> Self {
        let feature = feature.to_owned();
        PlanError { feature, kind }
    }
}

/// Displays the feature that an error is about, if there is one.
struct Prefix<'a>(&'a str);

impl fmt::Display for Prefix<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            "" => Ok(()),
            feature => write!(f, "feature '{}': ", Shown(feature)),
        }
    }
}

impl PlanErrorKind {
    /// The error for a `record` with these `fields` that has no field `name`. `missing` is the path
    /// to that field.
    #[cold]
    pub(super) fn no_such_field<'a>(
        missing: String,
        name: &str,
        record: &Name,
        fields: impl Iterator<Item = &'a str>,
    ) -> Self {
        let fields: Vec<String> = fields.map(str::to_owned).collect();
        PlanErrorKind::NoSuchField {
            missing,
            record: record.to_string(),
            nearest: nearest(name, fields.iter().map(String::as_str)).map(str::to_owned),
            fields,
        }
    }

    /// The error for a feature `name` that is neither one of `fields` nor an expression.
    #[cold]
    pub(super) fn no_such_name<'a>(
        error: &PathError,
        name: &str,
        fields: impl Iterator<Item = &'a str>,
    ) -> Self {
        PlanErrorKind::NoSuchName {
            error: error.clone(),
            nearest: nearest(name, fields).map(str::to_owned),
        }
    }

    /// The error for a filter that compares an enum of these `symbols` with `symbol`.
    #[cold]
    pub(super) fn no_such_symbol(symbol: &str, symbols: &[String]) -> Self {
        let nearest = nearest(symbol, symbols.iter().map(String::as_str));
        PlanErrorKind::NoSuchSymbol {
            symbol: symbol.to_owned(),
            symbols: symbols.to_vec(),
            nearest: nearest.map(str::to_owned),
        }
    }
}

/// Displays what to write instead of a slice of a list's or a filter's elements.
struct AfterList<'a>(&'a str);

impl fmt::Display for AfterList<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.0.ends_with("[*]") {
            return Ok(());
        }
        f.write_str(
            "; the steps after a '[*]' or a filter apply to each element: for the first \
             elements, write a slice in place of the '[*]', or use `truncate`",
        )
    }
}

/// Displays the fields that a record has.
struct Fields<'a>(&'a str, &'a [String], &'a Option<String>);

impl fmt::Display for Fields<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Fields(record, fields, nearest) = self;
        match nearest {
            Some(nearest) => write!(f, "; did you mean '{}'? The record", Shown(nearest))?,
            None => f.write_str(": the record")?,
        }
        write!(f, " '{}' has {}", Shown(record), Quoted(fields))
    }
}

/// Displays ` (did you mean 'a'?)`, if there is a name to suggest.
struct DidYouMean<'a>(&'a Option<String>);

impl fmt::Display for DidYouMean<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(nearest) => write!(f, " (did you mean '{}'?)", Shown(nearest)),
            None => Ok(()),
        }
    }
}

/// Displays the path to a value, or `the schema` for an empty path.
struct At<'a>(&'a str);

impl fmt::Display for At<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            "" => f.write_str("the schema"),
            way => write!(f, "'{}'", Shown(way)),
        }
    }
}

/// Maximum number of names listed; the rest is only counted.
const MAX_NAMES: usize = 10;

/// Displays names: `'a', 'b' and 3 more`.
struct Quoted<'a>(&'a [String]);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, name) in self.0.iter().take(MAX_NAMES).enumerate() {
            write!(f, "{}'{}'", if i > 0 { ", " } else { "" }, Shown(name))?;
        }
        match self.0.len() {
            0 => f.write_str("none"),
            len if len > MAX_NAMES => write!(f, " and {} more", len - MAX_NAMES),
            _ => Ok(()),
        }
    }
}

/// Why a feature does not fit the schema.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum PlanErrorKind {
    /// The schema is not a record, so it has no fields.
    #[error("the schema is {schema_type}, not a record, so it has no fields: its value is '@'")]
    SchemaNotRecord {
        /// The schema's type.
        schema_type: String,
    },
    /// The feature has partitions, which divide the lists of TFRecord's keys.
    #[error(
        "`partitions` are for TFRecord: Avro nests lists instead, as in `kind: var_len`, `rank: 2`, \
         `layout: ragged`"
    )]
    Partitions,
    /// The writer's schema cannot be read as the reader's.
    #[error(transparent)]
    Resolve(Box<ResolveError>),
    /// The schema has no such field.
    #[error(
        "the schema has no field '{}'{}",
        Shown(missing),
        Fields(record, fields, nearest)
    )]
    NoSuchField {
        /// The path to the missing field.
        missing: String,
        /// The record that lacks the field.
        record: String,
        /// The fields that the record has.
        fields: Vec<String>,
        /// The most similar field name, if there is one.
        nearest: Option<String>,
    },
    /// The feature has no expression, no field has its name, and its name is not an expression.
    #[error(
        "no field has this name, and it is not an expression: {error}{}",
        DidYouMean(nearest)
    )]
    NoSuchName {
        /// The error of parsing the name as an expression.
        error: PathError,
        /// The most similar field name, if there is one.
        nearest: Option<String>,
    },
    /// The schema has only null for the value.
    #[error("{} is null in every record", At(path))]
    AlwaysNull {
        /// The path to the value.
        path: String,
    },
    /// A path leads through a type that is not a record.
    #[error(
        "'{}' is {schema_type}, not a record, so it has no fields",
        Shown(through)
    )]
    NotNested {
        /// The path to that type.
        through: String,
        /// That type.
        schema_type: String,
    },
    /// A field step on an array or a map, probably meant for its elements.
    #[error(
        "{} is {schema_type}: a field of its elements is '{}[*].{}'",
        At(through),
        Shown(through),
        Shown(&field_step(field))
    )]
    FieldOfList {
        /// The path to the array or map.
        through: String,
        /// The field.
        field: String,
        /// The type of the array or map.
        schema_type: String,
    },
    /// A step that a type does not have, such as an index of a map.
    #[error(
        "{} is {schema_type}, to which '{}' does not apply",
        At(through),
        Shown(step)
    )]
    WrongStep {
        /// The path to the type.
        through: String,
        /// The step.
        step: String,
        /// The type.
        schema_type: String,
    },
    /// A slice of a type that is not an array.
    #[error(
        "{} is {schema_type}, but a slice such as '{}' needs an array{}",
        At(through),
        Shown(step),
        AfterList(through)
    )]
    NotAnArray {
        /// The path to the type.
        through: String,
        /// The slice.
        step: String,
        /// The type.
        schema_type: String,
    },
    /// A union of several types for which the expression names no branch.
    #[error("the union {union} has several types: name one, as in 'field:type'")]
    Union {
        /// The union.
        union: String,
    },
    /// A field that several records of a union have with different types.
    #[error(
        "the union {union} has the field in several branches, of different types: name one, as in {}",
        Quoted(expressions)
    )]
    SeveralBranches {
        /// The union.
        union: String,
        /// The expression through each branch.
        expressions: Vec<String>,
    },
    /// No record of a union has the field.
    #[error(
        "no branch of the union {union} has the field '{field}'; there are {}",
        Quoted(expressions)
    )]
    NoBranchHasField {
        /// The field.
        field: String,
        /// The union.
        union: String,
        /// The expressions of the fields that exist.
        expressions: Vec<String>,
    },
    /// A union has no branch with the name in the expression.
    #[error(
        "the union has no branch '{}', only {}",
        Shown(branch),
        Quoted(branches)
    )]
    NoSuchBranch {
        /// The name.
        branch: String,
        /// The union's branches.
        branches: Vec<String>,
    },
    /// The values cannot be converted to the dtype.
    #[error(transparent)]
    Convert(ConvertError),
    /// The values have another meaning than earlier schemas gave the column, and do not convert
    /// without a loss or a guess.
    #[error(transparent)]
    Meaning(Box<MeaningError>),
    /// A filter's operand is not a value that can be compared.
    #[error("a filter compares single values, not {schema_type}")]
    BadOperand {
        /// The operand's type.
        schema_type: String,
    },
    /// The sides of a filter can never be equal.
    #[error("the sides of '[{}]' are of types that are never equal", Shown(filter))]
    NotComparable {
        /// The filter.
        filter: String,
    },
    /// A filter compares an enum with a text that is not one of its symbols.
    #[error(
        "the enum has no symbol '{}'{}, only {}; if other files have the symbol, read all files \
         with a `reader_schema` whose enum has it",
        Shown(symbol),
        DidYouMean(nearest),
        Quoted(symbols)
    )]
    NoSuchSymbol {
        /// The text that it is compared with.
        symbol: String,
        /// The symbols of the enum.
        symbols: Vec<String>,
        /// The most similar symbol, if there is one.
        nearest: Option<String>,
    },
    /// The entries of a sparse feature with keys are not records.
    #[error(
        "the entries of a sparse feature are a record or an array of records, not {schema_type}"
    )]
    NotEntries {
        /// The type of the entries.
        schema_type: String,
    },
    /// An index key does not lead to int or long.
    #[error("the index key '{}' is {schema_type}, not int or long", Shown(field))]
    BadIndex {
        /// The path of the key.
        field: String,
        /// The type at the path.
        schema_type: String,
    },
    /// The items of an array take no bytes, so nothing bounds their number.
    #[error("the items of {schema_type} take no bytes, so nothing bounds their number")]
    ZeroSizeItems {
        /// The array.
        schema_type: String,
    },
    /// Compiling the features visits more of the schema than
    /// [`MAX_PLAN_PARTS`](crate::limits::MAX_PLAN_PARTS).
    #[error(
        "the features lead through more than {} parts of the schema",
        crate::limits::MAX_PLAN_PARTS
    )]
    TooLarge,
    /// The values are of a type that has no dtype.
    #[error("the values are {schema_type}, which cannot be an element of a tensor")]
    NotAnElement {
        /// The Avro type.
        schema_type: String,
    },
    /// The number of nested arrays differs from the rank of the shape.
    #[error(
        "the shape has rank {rank}{}, but the schema has rank {schema_rank}",
        if *has_batch { ", of which the first dimension is the batch" } else { "" }
    )]
    RankMismatch {
        /// Number of dimensions of the shape.
        rank: usize,
        /// Whether the first dimension of the shape is the batch.
        has_batch: bool,
        /// Number of nested arrays, or of arrays of indices.
        schema_rank: usize,
    },
    /// The innermost dimension of durations is not 3.
    #[error("a duration is 3 numbers, but the shape says {length}")]
    DurationShape {
        /// The dimension.
        length: usize,
    },
    /// A sparse feature's field is not a record.
    #[error(
        "a sparse feature is a record of indices0.. and values, but the field is {schema_type}"
    )]
    NotSparse {
        /// The type of the field.
        schema_type: String,
    },
    /// A sparse record has no field `values`.
    #[error("the sparse record has no field 'values'")]
    NoValues,
    /// A sparse record lacks an `indicesN`; it needs one for each dimension, from 0 on.
    #[error("the sparse record has no field 'indices{dimension}'")]
    IndicesGap {
        /// The first missing dimension.
        dimension: usize,
    },
    /// A sparse record has a field that is neither indices nor values.
    #[error(
        "the sparse record has the field '{}', which is neither values nor indicesN",
        Shown(field)
    )]
    ExtraField {
        /// The field.
        field: String,
    },
    /// The indices are not an array of int or long.
    #[error(
        "the field '{}' of the sparse record is {schema_type}, not an array of int or long",
        Shown(field)
    )]
    BadIndices {
        /// The field.
        field: String,
        /// The type of the field.
        schema_type: String,
    },
    /// The values are not an array of a primitive.
    #[error(
        "the field 'values' of the sparse record is {schema_type}, not an array of a primitive"
    )]
    BadValues {
        /// The type of the field.
        schema_type: String,
    },
}
