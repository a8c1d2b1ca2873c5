//! The error of decoding: what is wrong, at which byte, in which record and field.

use std::fmt;

use tensor_batch::{DType, UNKNOWN};
use thiserror::Error;

use crate::TimeUnit;
use crate::limits::DEEPEST;
use crate::shown::Shown;
use crate::words::{are, counted};

/// Binary data that is not what its schema says.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DecodeError {
    /// What is wrong.
    pub kind: DecodeErrorKind,
    /// Where the value that cannot be read starts in the input slice.
    pub offset: usize,
    /// Which record of the input, counted from 0, as far as known.
    pub record: Option<u64>,
    /// The field, as the [path](crate::path) to it, as far as known.
    pub field: Option<String>,
}

impl DecodeError {
    /// An error at `offset`, in a record and field not known yet.
    #[cold]
    pub fn new(kind: DecodeErrorKind, offset: usize) -> Self {
        DecodeError {
            kind,
            offset,
            record: None,
            field: None,
        }
    }

    /// The same error, known to be in the record that the path `field` leads to
    /// and that is `self.field`'s parent.
    #[cold]
    #[must_use]
    pub fn in_field(mut self, field: &str) -> Self {
        self.field = Some(match self.field {
            Some(inner) => format!("{field}.{inner}"),
            None => field.to_owned(),
        });
        self
    }

    /// The same error, known to be in record number `record`.
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

/// What to do about an array that is too long, or too short.
struct LengthRemedy {
    expected: usize,
    actual: usize,
}

impl fmt::Display for LengthRemedy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.actual > self.expected {
            true => "; `truncate` leaves out the values beyond",
            false => "; a dense feature with a `default` or a `mask` fills the rest",
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
    /// A record that stands for itself ends before its bytes do.
    #[error(
        "the record ends, and {}; `tolerate` 'trailing-block-bytes' leaves {} out",
        if *left == 1 { "1 byte follows it".to_owned() } else { format!("{left} bytes follow it") },
        if *left == 1 { "it" } else { "them" }
    )]
    TrailingBytes {
        /// Bytes behind the record.
        left: usize,
    },
    /// A varint goes on for more bytes than its type has: 5 for `int`, 10 for
    /// `long`.
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
        /// Bytes that follow it.
        remaining: usize,
    },
    /// A `boolean` is neither 0 nor 1.
    #[error("a boolean is {0}, neither 0 nor 1")]
    BadBoolean(u8),
    /// A `string` or a key of a map is not UTF-8.
    #[error(
        "a string is not UTF-8: ask for `dtype` 'bytes', or replace what is not with `tolerate` \
         'utf8'"
    )]
    InvalidUtf8,
    /// An enum's index is not that of a symbol.
    #[error("enum index {index} where there {} {}", are(*symbols), counted(*symbols, "symbol"))]
    BadEnumIndex {
        /// The index read.
        index: i64,
        /// Symbols of the enum.
        symbols: usize,
    },
    /// A union's index is not that of a branch.
    #[error("union branch {branch} where there {} {branches}", are(*branches))]
    BadUnionBranch {
        /// The index read.
        branch: i64,
        /// Branches of the union.
        branches: usize,
    },
    /// The items of a block do not take the bytes that its header says.
    #[error("a block of items takes {}, and says {declared}", counted(*actual, "byte"))]
    BadBlockSize {
        /// Bytes by the block's header.
        declared: usize,
        /// Bytes that the items took.
        actual: usize,
    },
    /// A block has more items than can be in the bytes there are, or more
    /// than [`MAX_ZERO_SIZE_ITEMS`](crate::limits::MAX_ZERO_SIZE_ITEMS) that
    /// take none.
    #[error("a block of {} where at most {most} {} possible", counted(*count, "item"), are(*most))]
    TooManyItems {
        /// The count read, without its sign.
        count: u64,
        /// The most items possible.
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
    /// A value of a type that cannot be read as the reader's.
    #[error("the value is {writer}, which cannot be read as {reader}")]
    Unresolvable {
        /// The writer's type.
        writer: String,
        /// The reader's type.
        reader: String,
    },
    /// A symbol that the reader's enum does not have, nor a default.
    #[error("{reader} has neither the symbol '{}' nor a default", Shown(symbol))]
    UnknownSymbol {
        /// The symbol.
        symbol: String,
        /// The reader's enum.
        reader: String,
    },
    /// Defaults of fields that only the reader has would make more than
    /// [`MAX_FILLED_PARTS`](crate::limits::MAX_FILLED_PARTS) of a value.
    #[error(
        "defaults of more than {} values and bytes",
        crate::limits::MAX_FILLED_PARTS
    )]
    DefaultsTooLarge,
    /// A null where the feature has no way to say so.
    #[error("a null, where the feature has neither a `default` nor a `mask`")]
    Null,
    /// The index of a sparse entry is null: no default stands for it.
    #[error("the index of a sparse entry is null, and no default stands for one")]
    NullIndex,
    /// An array has no element at the place that the expression names.
    #[error("an array has no element [{index}]")]
    NoItem {
        /// The place, counted from 0.
        index: u64,
    },
    /// A map has no such key.
    #[error("a map has no key '{}'", Shown(key))]
    NoKey {
        /// The key.
        key: String,
    },
    /// A union holds another branch than the one that the expression names.
    #[error("a union holds {}, not {}", Shown(found), Shown(asked))]
    OtherBranch {
        /// The branch of the expression.
        asked: String,
        /// The branch of the data.
        found: String,
    },
    /// An array of a dense feature, or of a fixed dimension, has another
    /// length than its dimension.
    #[error(
        "an array of {}, where the shape says {expected}{}",
        counted(*actual, "value"),
        LengthRemedy { expected: *expected, actual: *actual }
    )]
    ArrayLength {
        /// The dimension.
        expected: usize,
        /// Values seen; more may follow if they are too many already.
        actual: usize,
    },
    /// The arrays of a sparse record have different lengths.
    #[error("the arrays of the sparse record have different lengths: {expected} and {actual}")]
    SparseLengths {
        /// The length of the first array.
        expected: usize,
        /// The length of another.
        actual: usize,
    },
    /// An index of a sparse record is outside its dimension.
    #[error("index {index} is outside dimension {dimension} of {}", Size(*size))]
    IndexOutOfBounds {
        /// The index.
        index: i64,
        /// The dimension, counted from 0.
        dimension: usize,
        /// Its size, or -1 if unknown.
        size: i64,
    },
    /// A number is outside the dtype that it is cast to.
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
        /// Bytes of the number.
        length: usize,
    },
    /// A decimal's unscaled number is not in the range of int64 with the digits
    /// after the point that the column has.
    #[error(
        "an unscaled decimal of {value} is not in the range of int64 with scale {to} for {from}: read \
         it as float64"
    )]
    DecimalOverflow {
        /// The unscaled number.
        value: i64,
        /// Digits after the point by its type.
        from: u32,
        /// Digits after the point by the column.
        to: u32,
    },
    /// A decimal that is to be a float has more than
    /// [`MAX_DECIMAL_BYTES`](crate::limits::MAX_DECIMAL_BYTES) bytes.
    #[error(
        "a decimal of {length} bytes, where at most {} are made a float",
        crate::limits::MAX_DECIMAL_BYTES
    )]
    DecimalTooLong {
        /// Its bytes.
        length: usize,
    },
    /// A date, time or timestamp in a finer unit is not in the range of int64.
    #[error("a time of {value} {from} is not in the range of int64 as {to}: give a coarser `unit`")]
    TimeOverflow {
        /// The time.
        value: i64,
        /// The unit it is in.
        from: TimeUnit,
        /// The unit it should be in.
        to: TimeUnit,
    },
}

/// What to do about a limit of depth.
fn deeper(limit: usize) -> String {
    match limit < DEEPEST {
        true => format!(": raise `max_depth`, to {DEEPEST} at most"),
        false => ", which is the most that is read".to_owned(),
    }
}

/// A dimension's size in words.
struct Size(i64);

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            UNKNOWN => f.write_str("unknown size"),
            size => write!(f, "size {size}"),
        }
    }
}
