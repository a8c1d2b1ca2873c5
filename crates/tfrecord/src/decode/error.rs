//! Errors of decoding: what is wrong, at which byte, in which record, with which feature.

use std::fmt;

use atds_features::feature::Partition;
use atds_features::words::{Shown, counted};
use tensor_batch::{DType, UNKNOWN};

use super::list::Kind;
use super::partition::PartitionFault;
use crate::ErrorKind;

/// A record that cannot be decoded.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct DecodeError {
    /// What is wrong.
    pub kind: DecodeErrorKind,
    /// Offset in the payload of the bytes that are wrong, or of the record's first byte.
    pub offset: usize,
    /// Number of the record in its block, from 0.
    pub record: u64,
    /// The key, or the feature's name if it has several keys; `None` if the record as a whole is
    /// wrong.
    pub field: Option<String>,
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "record {}, ", self.record)?;
        if let Some(field) = &self.field {
            write!(f, "key '{}', ", Shown(field))?;
        }
        write!(f, "byte {}: {}", self.offset, self.kind)
    }
}

impl std::error::Error for DecodeError {}

/// What is wrong with a record.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeErrorKind {
    /// The record's checksum does not fit, or its length does not.
    #[error("{0}")]
    Record(ErrorKind),
    /// A message ends inside a value.
    #[error("the message ends inside a value")]
    UnexpectedEnd,
    /// A varint has more than 64 bits.
    #[error("a varint has more than 64 bits")]
    VarintTooLong,
    /// The tag of a field is none of protocol buffers.
    #[error("no field has the tag {tag}: the record is no message of protocol buffers")]
    BadTag {
        /// The tag.
        tag: u64,
    },
    /// The record has none of the fields of an `Example` or a `SequenceExample`.
    #[error("the record has no features: it is no Example and no SequenceExample")]
    NoExample,
    /// A key is no UTF-8.
    #[error("a key is no UTF-8: the record is no Example and no SequenceExample")]
    KeyNotText,
    /// A group ends that has not begun.
    #[error("a group ends that has not begun: the record is no message of protocol buffers")]
    BadGroup,
    /// More groups lie in one another than are read.
    #[error("too many groups lie in one another")]
    GroupsTooDeep,
    /// The record has no value for the key, and the feature has no default.
    #[error("is required but could not be found; a `default` or a `mask` allows it to be missing")]
    Missing,
    /// The values are of another kind.
    #[error("has {found} values, which a feature of {dtype} does not read{}", cast(*.found, *.dtype))]
    WrongKind {
        /// The kind of the values.
        found: Kind,
        /// The feature's dtype.
        dtype: DType,
    },
    /// The record has another number of values than the shape.
    #[error("has {}, but the feature's shape takes {expected}", counted(*.found, "value"))]
    WrongCount {
        /// Number of values that the shape takes.
        expected: usize,
        /// Number of values in the record.
        found: usize,
    },
    /// The number of values does not fill steps of the shape.
    #[error("has {}, which is not a multiple of {of}, the size of a step", counted(*.found, "value"))]
    NotAMultiple {
        /// Number of values in a step.
        of: usize,
        /// Number of values in the record.
        found: usize,
    },
    /// A list is longer than its dimension.
    #[error("has {}, more than the dimension of {limit}; `truncate` drops the rest", counted(*.found, "value"))]
    TooLong {
        /// The dimension.
        limit: usize,
        /// Number of values in the record.
        found: usize,
    },
    /// An index of a sparse feature is outside its dimension.
    #[error("the index {index} is outside dimension {dimension}{}", of_size(*.size))]
    IndexOutOfBounds {
        /// The index.
        index: i64,
        /// The dimension, from 0.
        dimension: usize,
        /// The size of the dimension, or [`UNKNOWN`].
        size: i64,
    },
    /// A sparse feature has another number of indices than of values.
    #[error("has {} of dimension {dimension} but {}", count_of(*.indices), counted(*.values, "value"))]
    SparseLengths {
        /// The dimension, from 0.
        dimension: usize,
        /// Number of indices.
        indices: usize,
        /// Number of values.
        values: usize,
    },
    /// A partition does not divide the values of the record.
    #[error("its partition {partition} {fault}")]
    Partition {
        /// The partition.
        partition: Box<Partition>,
        /// What is wrong with it.
        fault: PartitionFault,
    },
    /// An integer is outside the range of the dtype.
    #[error("{value} is outside the range of {dtype}")]
    CastOverflow {
        /// The integer.
        value: i64,
        /// The dtype.
        dtype: DType,
    },
    /// Records have more keys than features are inferred for.
    #[error("the records have more than {limit} keys: give `features`")]
    TooManyKeys {
        /// The limit.
        limit: usize,
    },
    /// The record needs more memory than there is room for.
    #[error("the record needs {needed} bytes, more than there is room for")]
    NoRoom {
        /// Size in bytes.
        needed: usize,
    },
}

/// The advice for values that a cast would read.
fn cast(found: Kind, dtype: DType) -> &'static str {
    match (found, dtype) {
        (Kind::Int64, DType::String) | (Kind::Float, DType::String) | (Kind::Bytes, _) => "",
        (Kind::Float, dtype) if dtype.is_integer() => "",
        _ => "; `cast` does",
    }
}

fn of_size(size: i64) -> String {
    match size {
        UNKNOWN => String::new(),
        size => format!(" of size {size}"),
    }
}

fn count_of(n: usize) -> String {
    match n {
        1 => "1 index".to_owned(),
        n => format!("{n} indices"),
    }
}

/// What is wrong, and the address of the bytes that are wrong: the record's first byte is known to the
/// caller. Boxed, so that results without one are small.
#[derive(Debug)]
pub(crate) struct Fault(Box<(DecodeErrorKind, usize)>);

impl Fault {
    /// A fault where `bytes` begin.
    #[cold]
    pub(crate) fn new(kind: DecodeErrorKind, bytes: &[u8]) -> Self {
        Fault(Box::new((kind, bytes.as_ptr().addr())))
    }

    /// What is wrong.
    pub(crate) fn into_kind(self) -> DecodeErrorKind {
        self.0.0
    }

    /// The error in a record whose first byte is at `start` of `payload`.
    #[cold]
    pub(crate) fn into_error(
        self,
        payload: &[u8],
        (start, record): (usize, u64),
        field: Option<&str>,
    ) -> DecodeError {
        let (kind, address) = *self.0;
        let offset = address.wrapping_sub(payload.as_ptr().addr());
        // Joined pieces of a message, and what is missing, are nowhere in the payload.
        let is_inside = (start..=payload.len()).contains(&offset);
        DecodeError {
            kind,
            offset: if is_inside { offset } else { start },
            record,
            field: field.map(str::to_owned),
        }
    }
}

impl From<DecodeErrorKind> for Fault {
    /// A fault of the record as a whole.
    #[cold]
    fn from(kind: DecodeErrorKind) -> Self {
        Fault::new(kind, &[])
    }
}
