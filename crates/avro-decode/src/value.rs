//! Values as trees, for tests, tools and reading single records.

use atds_features::TimeUnit;
use atds_features::words::{Shown, are, counted};
use thiserror::Error;

/// A value of any Avro type. The schema tells what its numbers and indices mean.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// `null`
    Null,
    /// `boolean`
    Boolean(bool),
    /// `int`
    Int(i32),
    /// `long`
    Long(i64),
    /// `float`
    Float(f32),
    /// `double`
    Double(f64),
    /// `bytes`
    Bytes(Vec<u8>),
    /// `string`
    String(String),
    /// The items of an `array`.
    Array(Vec<Value>),
    /// The entries of a `map`, in the order of the data; keys may repeat.
    Map(Vec<(String, Value)>),
    /// The index of a `union`'s branch, from 0, and its value.
    Union(usize, Box<Value>),
    /// The fields of a `record`, in the schema's order.
    Record(Vec<Value>),
    /// The index of an `enum`'s symbol, from 0.
    Enum(u32),
    /// `fixed`
    Fixed(Vec<u8>),
}

impl Value {
    /// The name of the value's Avro type.
    pub fn type_name(&self) -> &'static str {
        match self {
            Value::Null => "null",
            Value::Boolean(_) => "boolean",
            Value::Int(_) => "int",
            Value::Long(_) => "long",
            Value::Float(_) => "float",
            Value::Double(_) => "double",
            Value::Bytes(_) => "bytes",
            Value::String(_) => "string",
            Value::Array(_) => "array",
            Value::Map(_) => "map",
            Value::Union(..) => "union",
            Value::Record(_) => "record",
            Value::Enum(_) => "enum",
            Value::Fixed(_) => "fixed",
        }
    }

    /// Whether the value's type contains other values, even if this value is empty.
    pub(crate) fn is_nested(&self) -> bool {
        matches!(
            self,
            Value::Array(_) | Value::Map(_) | Value::Union(..) | Value::Record(_)
        )
    }
}

/// A value that does not fit its schema.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
#[error("{}{}{kind}", .field.as_deref().unwrap_or_default(), if .field.is_some() { ": " } else { "" })]
pub struct ValueError {
    /// Why it does not fit.
    pub kind: ValueErrorKind,
    /// The field, as the names of nested fields joined by dots; `None` for the value itself.
    pub field: Option<String>,
}

impl ValueError {
    #[cold]
    pub(crate) fn new(kind: ValueErrorKind) -> Self {
        ValueError { kind, field: None }
    }

    #[cold]
    pub(crate) fn wrong_type(expected: &'static str, value: &Value) -> Self {
        ValueError::new(ValueErrorKind::WrongType {
            expected,
            found: value.type_name(),
        })
    }

    #[cold]
    pub(crate) fn in_field(mut self, field: &str) -> Self {
        self.field = Some(match self.field {
            Some(inner) => format!("{field}.{inner}"),
            None => field.to_owned(),
        });
        self
    }
}

/// Why a value does not fit its schema.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum ValueErrorKind {
    /// The value is of another type.
    #[error("the schema has {expected}, but the value is {found}")]
    WrongType {
        /// The schema's type.
        expected: &'static str,
        /// The value's type.
        found: &'static str,
    },
    /// A record has too many or too few fields.
    #[error("the schema has {}, but the value has {found}", counted(*expected, "field"))]
    FieldCount {
        /// Number of fields of the schema's record.
        expected: usize,
        /// Number of fields of the value.
        found: usize,
    },
    /// A `fixed` has another size.
    #[error("the schema has a fixed of {}, but the value has {found}", counted(*expected, "byte"))]
    FixedSize {
        /// The schema's size.
        expected: usize,
        /// Number of bytes of the value.
        found: usize,
    },
    /// An enum's index is not the index of a symbol.
    #[error("enum index {index} where there {} {}", are(*symbols), counted(*symbols, "symbol"))]
    BadEnumIndex {
        /// The value's index.
        index: u32,
        /// Number of symbols of the schema's enum.
        symbols: usize,
    },
    /// A union's index is not the index of a branch.
    #[error("union branch {branch} where there {} {branches}", are(*branches))]
    BadUnionBranch {
        /// The value's branch.
        branch: usize,
        /// Number of branches of the schema's union.
        branches: usize,
    },
    /// Values are nested deeper than [`MAX_DECODE_DEPTH`](crate::limits::MAX_DECODE_DEPTH), so no
    /// decoder would read them.
    #[error("values are nested deeper than {}", crate::limits::MAX_DECODE_DEPTH)]
    TooDeep,
    /// A value of the writer's type cannot be read as the reader's type.
    #[error("the value is {writer}, which cannot be read as {reader}")]
    Unresolvable {
        /// The writer's type.
        writer: String,
        /// The reader's type.
        reader: String,
    },
    /// The reader's enum has neither the symbol nor a default.
    #[error("{reader} has neither the symbol '{}' nor a default", Shown(symbol))]
    UnknownSymbol {
        /// The symbol.
        symbol: String,
        /// The reader's enum.
        reader: String,
    },
    /// A time in the reader's finer unit is not in the range of `long`.
    #[error("a time of {value} {from} is not in the range of long as {to}")]
    TimeOverflow {
        /// The time.
        value: i64,
        /// The unit of the writer's type.
        from: TimeUnit,
        /// The unit of the reader's type.
        to: TimeUnit,
    },
    /// `bytes` that are read as a `string` are not UTF-8.
    #[error("the bytes to be read as a string are not UTF-8")]
    InvalidUtf8,
    /// Defaults of fields that only the reader has would add more than
    /// [`MAX_FILLED_PARTS`](crate::limits::MAX_FILLED_PARTS) values and bytes to the value.
    #[error(
        "defaults would add more than {} values and bytes",
        crate::limits::MAX_FILLED_PARTS
    )]
    DefaultsTooLarge,
}
