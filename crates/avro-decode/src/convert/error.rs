//! Errors for conversions that do not exist.

use std::fmt;

use atds_features::Convert;
use tensor_batch::DType;
use thiserror::Error;

/// A conversion that a type does not have.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConvertError {
    /// The type does not convert to this dtype.
    #[error(
        "the values are {schema_type}, {} {}, not {asked}{}",
        How(.convert),
        Listed(.expected),
        instead(.expected, *.asked, *.castable)
    )]
    DType {
        /// The type.
        schema_type: String,
        /// The conversion requested.
        convert: Convert,
        /// Every dtype to which this conversion can convert the type.
        expected: Box<[DType]>,
        /// The dtype requested.
        asked: DType,
        /// Whether [`Convert::Cast`] can convert to the dtype.
        castable: bool,
    },
    /// Values of the type are not elements of any dtype.
    #[error("the values are {schema_type}, which cannot be an element of a tensor")]
    NotAnElement {
        /// The type.
        schema_type: String,
    },
    /// Values of the type have no ids.
    #[error(
        "the values are {schema_type}; only strings, bytes, fixed, enums, int and long have ids"
    )]
    NoIds {
        /// The type.
        schema_type: String,
    },
    /// A unit was requested for a type that is not a time.
    #[error("the values are {schema_type}, not a date, time or timestamp, so they have no unit")]
    NotATime {
        /// The type.
        schema_type: String,
    },
    /// A number of hash buckets that is 0 or not an int64.
    #[error("`hash_buckets` is {0}, not between 1 and {max}", max = i64::MAX)]
    HashBuckets(u64),
    /// A vocabulary has ids outside the range of the dtype.
    #[error("the vocabulary has the id {id}, which is outside {dtype}")]
    IdRange {
        /// The id.
        id: i64,
        /// The dtype requested.
        dtype: DType,
    },
    /// The writer's type is not resolved to the reader's.
    #[error("data of type {writer} cannot be read as {reader}")]
    Unresolved {
        /// The type of the data.
        writer: String,
        /// The reader's type.
        reader: String,
    },
}

/// Advice on a request that works, if there is one.
fn instead(expected: &[DType], asked: DType, castable: bool) -> &'static str {
    match (expected, asked) {
        _ if castable => "; ask for it with `cast=true`",
        ([DType::String] | [DType::UInt8, DType::String], asked) if asked.is_integer() => {
            "; ask for ids, by `hash_buckets` or a `vocabulary`"
        }
        _ => "",
    }
}

/// Displays a conversion's effect on the values.
struct How<'a>(&'a Convert);

impl fmt::Display for How<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Convert::Exact => f.write_str("read as"),
            Convert::Cast => f.write_str("cast to"),
            Convert::HashBuckets(_) => f.write_str("hashed to"),
            Convert::Vocabulary(_) => f.write_str("with the ids of a vocabulary as"),
            Convert::Unit(unit) => write!(f, "in {unit} as"),
        }
    }
}

/// Displays dtypes: `int32`, `int32 or int64`, `int32, int64 or bool`.
struct Listed<'a>(&'a [DType]);

impl fmt::Display for Listed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, dtype) in self.0.iter().enumerate() {
            let before = match i {
                0 => "",
                i if i + 1 == self.0.len() => " or ",
                _ => ", ",
            };
            write!(f, "{before}{dtype}")?;
        }
        Ok(())
    }
}
