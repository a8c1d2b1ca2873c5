//! The decode error: what is wrong, at which byte, in which record and field.

use std::fmt;

use atds_features::TimeUnit;
use atds_features::words::{Shown, are, counted};
use tensor_batch::{DType, UNKNOWN};
use thiserror::Error;

use crate::limits::DEEPEST;

/// Binary data that does not agree with its schema.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DecodeError {
    /// What is wrong.
    pub kind: DecodeErrorKind,
    /// Offset in the input slice of the value that cannot be read.
    pub offset: usize,
    /// Index of the record in the input, from 0, if known.
    pub record: Option<u64>,
    /// The [path](crate::path) of the field, if known.
    pub field: Option<String>,
}

impl DecodeError {
    /// An error at `offset`, whose record and field are not yet known.
    #[cold]
    pub fn new(kind: DecodeErrorKind, offset: usize) -> Self {
        DecodeError {
            kind,
            offset,
            record: None,
            field: None,
        }
    }

    /// The same error, in the record at the path `field`. `field` is put before the path in
    /// `self.field`.
    #[cold]
    #[must_use]
    pub fn in_field(mut self, field: &str) -> Self {
        self.field = Some(match self.field {
            Some(inner) => format!("{field}.{inner}"),
            None => field.to_owned(),
        });
        self
    }

    /// The same error, in the record with index `record`.
    #[cold]
    #[must_use]
    pub fn in_record(mut self, record: u64) -> Self {
        self.record = Some(record);
        self
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(record) = self.record {
            write!(f, "record {record}, ")?;
        }
        if let Some(field) = &self.field {
            write!(f, "field '{}', ", Shown(field))?;
        }
        write!(f, "byte {}: {}", self.offset, self.kind)
    }
}

impl std::error::Error for DecodeError {}

/// Advice on an array that is too long or too short.
struct LengthRemedy {
    expected: usize,
    actual: usize,
}

impl fmt::Display for LengthRemedy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.actual > self.expected {
            "; `truncate` drops the rest"
        } else {
            "; a dense feature with a `default` or a `mask` fills the rest"
        })
    }
}

/// What is wrong with binary data.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum DecodeErrorKind {
    /// The input ends inside a value.
    #[error("the input ends inside a value")]
    UnexpectedEnd,
    /// A record that is decoded alone ends before its bytes do.
    #[error(
        "the record ends, and {}; `tolerate` 'trailing-block-bytes' leaves {} out",
        if *left == 1 { "1 byte follows it".to_owned() } else { format!("{left} bytes follow it") },
        if *left == 1 { "it" } else { "them" }
    )]
    TrailingBytes {
        /// Number of bytes after the record.
        left: usize,
    },
    /// A varint has more bytes than its type allows: 5 for `int`, 10 for `long`.
    #[error("a varint is longer than its type allows")]
    VarintTooLong,
    /// A varint has more than 64 bits.
    #[error("a varint has more than 64 bits")]
    VarintOverflow,
    /// An `int` is outside 32 bits.
    #[error("{0} is not in the range of int")]
    IntOutOfRange(i64),
    /// A length or a block's size is negative.
    #[error("a length is negative: {0}")]
    NegativeLength(i64),
    /// A length or a block's size goes beyond the end of the input.
    #[error("a length of {} where {remaining} {} left", counted(*length, "byte"), are(*remaining))]
    LengthBeyondEnd {
        /// The length read.
        length: u64,
        /// Number of bytes left after the length.
        remaining: usize,
    },
    /// A `boolean` is neither 0 nor 1.
    #[error("a boolean is {0}, neither 0 nor 1")]
    BadBoolean(u8),
    /// A `string` or a key of a map is not UTF-8.
    #[error(
        "a string is not UTF-8: ask for `dtype` 'bytes', or replace invalid bytes with `tolerate` \
         'utf8'"
    )]
    InvalidUtf8,
    /// An enum's index is not the index of a symbol.
    #[error("enum index {index} where there {} {}", are(*symbols), counted(*symbols, "symbol"))]
    BadEnumIndex {
        /// The index read.
        index: i64,
        /// Number of symbols in the enum.
        symbols: usize,
    },
    /// A union's index is not the index of a branch.
    #[error("union branch {branch} where there {} {branches}", are(*branches))]
    BadUnionBranch {
        /// The index read.
        branch: i64,
        /// Number of branches in the union.
        branches: usize,
    },
    /// The items of a block do not have the size that the block's header declares.
    #[error("a block of items has {}, but its header says {declared}", counted(*actual, "byte"))]
    BadBlockSize {
        /// The size in the block's header, in bytes.
        declared: usize,
        /// The size of the items, in bytes.
        actual: usize,
    },
    /// A block has more items than the remaining bytes can hold, or more than
    /// [`MAX_ZERO_SIZE_ITEMS`](crate::limits::MAX_ZERO_SIZE_ITEMS) items without bytes.
    #[error("a block of {} where at most {most} {} possible", counted(*count, "item"), are(*most))]
    TooManyItems {
        /// The count read, without its sign.
        count: u64,
        /// The maximum number of items.
        most: u64,
    },
    /// A tree would have more than
    /// [`MAX_ZERO_SIZE_VALUES`](crate::limits::MAX_ZERO_SIZE_VALUES) values
    /// without bytes.
    #[error(
        "more than {} values that take no bytes",
        crate::limits::MAX_ZERO_SIZE_VALUES
    )]
    TooManyZeroSizeValues,
    /// Values are nested deeper than
    /// [`DecodeOptions::max_depth`](crate::DecodeOptions::max_depth).
    #[error("values are nested deeper than {limit}{}", deeper(*.limit))]
    TooDeep {
        /// The limit.
        limit: usize,
    },
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
    /// Defaults of fields that only the reader has would add more than
    /// [`MAX_FILLED_PARTS`](crate::limits::MAX_FILLED_PARTS) values and bytes to a value.
    #[error(
        "defaults would add more than {} values and bytes",
        crate::limits::MAX_FILLED_PARTS
    )]
    DefaultsTooLarge,
    /// The columns take more than [`RowSlots::room`](tensor_batch::RowSlots::room) allows.
    #[error("the columns need more memory than there is")]
    NoRoom {
        /// Bytes that the value needs at least; 0 if the columns have more than they may.
        needed: usize,
    },
    /// A value is null, and the feature has no default and no mask.
    #[error("a null, where the feature has neither a `default` nor a `mask`")]
    Null,
    /// The index of a sparse entry is null: an index has no default.
    #[error("the index of a sparse entry is null, and indices have no default")]
    NullIndex,
    /// An array has no element at the index in the expression.
    #[error("an array has no element [{index}]")]
    NoItem {
        /// The index, from 0.
        index: u64,
    },
    /// A map does not have the key in the expression.
    #[error("a map has no key '{}'", Shown(key))]
    NoKey {
        /// The key.
        key: String,
    },
    /// A union holds another branch than the expression names.
    #[error("a union holds {}, not {}", Shown(found), Shown(asked))]
    OtherBranch {
        /// The branch of the expression.
        asked: String,
        /// The branch of the data.
        found: String,
    },
    /// An array of a dense feature, or of a fixed dimension, has a length other than its dimension.
    #[error(
        "an array of {}, where the shape says {expected}{}",
        counted(*actual, "value"),
        LengthRemedy { expected: *expected, actual: *actual }
    )]
    ArrayLength {
        /// The dimension.
        expected: usize,
        /// Number of values seen. There may be more if they are already too many.
        actual: usize,
    },
    /// The arrays of a sparse record have different lengths.
    #[error("the arrays of the sparse record have different lengths: {expected} and {actual}")]
    SparseLengths {
        /// The length of the first array.
        expected: usize,
        /// The length of the array that differs.
        actual: usize,
    },
    /// An index of a sparse record is outside its dimension.
    #[error("index {index} is outside dimension {dimension} of {}", Size(*size))]
    IndexOutOfBounds {
        /// The index.
        index: i64,
        /// The dimension, from 0.
        dimension: usize,
        /// The dimension's size, or -1 if unknown.
        size: i64,
    },
    /// A number is outside the range of the dtype that it is cast to.
    #[error("{value} is not in the range of {dtype}")]
    CastOverflow {
        /// The number.
        value: i64,
        /// The dtype.
        dtype: DType,
    },
    /// A decimal's unscaled number is not in the range of int64.
    #[error(
        "the unscaled number of a decimal of {length} bytes is not in the range of int64: read it \
         as float64, the number nearest to it, or as bytes"
    )]
    DecimalTooLarge {
        /// Number of bytes of the decimal.
        length: usize,
    },
    /// A decimal's unscaled number is not in the range of int64, once it has the column's number of
    /// digits after the point.
    #[error(
        "the decimal with the unscaled number {value} and scale {from} is not in the range of int64 \
         at scale {to}: read it as float64"
    )]
    DecimalOverflow {
        /// The unscaled number.
        value: i64,
        /// The type's number of digits after the point.
        from: u32,
        /// The column's number of digits after the point.
        to: u32,
    },
    /// A decimal that is read as a float has more than
    /// [`MAX_DECIMAL_BYTES`](crate::limits::MAX_DECIMAL_BYTES) bytes.
    #[error(
        "a decimal of {length} bytes is too long for a float: the maximum is {} bytes",
        crate::limits::MAX_DECIMAL_BYTES
    )]
    DecimalTooLong {
        /// Number of bytes of the decimal.
        length: usize,
    },
    /// A date, time or timestamp in a finer unit is not in the range of int64.
    #[error("a time of {value} {from} is not in the range of int64 as {to}: give a coarser `unit`")]
    TimeOverflow {
        /// The time.
        value: i64,
        /// The time's unit.
        from: TimeUnit,
        /// The unit requested.
        to: TimeUnit,
    },
}

/// Advice on a limit of depth.
fn deeper(limit: usize) -> String {
    if limit < DEEPEST {
        format!(": raise `max_depth`, to {DEEPEST} at most")
    } else {
        ", the maximum".to_owned()
    }
}

/// Displays a dimension's size.
struct Size(i64);

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            UNKNOWN => f.write_str("unknown size"),
            size => write!(f, "size {size}"),
        }
    }
}
