//! The values of a feature: their Avro type, and the union around them.

use tensor_batch::DType;

use super::cursor::{Cursor, Fault};
use crate::DecodeErrorKind;

/// A union with one branch besides null: `[X]`, `["null", X]`, `[X, "null"]`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Nullable {
    /// Index of the branch that is not null.
    pub(crate) value: i64,
    /// Number of branches.
    pub(crate) branches: i64,
}

impl Nullable {
    /// Reads the branch number; returns whether the value is present.
    #[inline]
    pub(crate) fn is_value(self, cursor: &mut Cursor<'_>) -> Result<bool, Fault> {
        let start = *cursor;
        let branch = cursor.long()?;
        if branch == self.value {
            return Ok(true);
        }
        if (0..self.branches).contains(&branch) {
            return Ok(false);
        }
        *cursor = start;
        Err(bad_branch(branch, self.branches as usize))
    }

    /// Reads the branch number; null is an error.
    #[inline]
    pub(crate) fn expect_value(self, cursor: &mut Cursor<'_>) -> Result<(), Fault> {
        let start = *cursor;
        if self.is_value(cursor)? {
            return Ok(());
        }
        *cursor = start;
        Err(null())
    }
}

#[cold]
pub(crate) fn null() -> Fault {
    Box::new(DecodeErrorKind::Null)
}

#[cold]
pub(crate) fn bad_branch(branch: i64, branches: usize) -> Fault {
    Box::new(DecodeErrorKind::BadUnionBranch { branch, branches })
}

/// The Avro type of values that are read without conversion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leaf {
    Int,
    Long,
    Float,
    Double,
    Boolean,
    Bytes,
    String,
    /// A string in which invalid UTF-8 is replaced.
    ReplacedString,
}

impl Leaf {
    /// The dtype of the type.
    pub(crate) fn dtype(self) -> DType {
        match self {
            Leaf::Int => DType::Int32,
            Leaf::Long => DType::Int64,
            Leaf::Float => DType::Float32,
            Leaf::Double => DType::Float64,
            Leaf::Boolean => DType::Bool,
            Leaf::Bytes | Leaf::String | Leaf::ReplacedString => DType::String,
        }
    }
}

/// Runs `$body` with `$primitive` as the type that reads a fixed-width leaf. For strings runs
/// `$strings_body`, with `$utf8` as the check to make.
macro_rules! for_leaf {
    ($leaf:expr, $primitive:ident => $body:expr, $utf8:ident => $strings_body:expr) => {
        match $leaf {
            Leaf::Int => {
                type $primitive = $crate::plan::items::Int;
                $body
            }
            Leaf::Long => {
                type $primitive = $crate::plan::items::Long;
                $body
            }
            Leaf::Float => {
                type $primitive = $crate::plan::items::Float;
                $body
            }
            Leaf::Double => {
                type $primitive = $crate::plan::items::Double;
                $body
            }
            Leaf::Boolean => {
                type $primitive = $crate::plan::items::Boolean;
                $body
            }
            Leaf::Bytes => {
                let $utf8 = $crate::utf8::Utf8::Any;
                $strings_body
            }
            Leaf::String | Leaf::ReplacedString => {
                let $utf8 = match $leaf {
                    Leaf::String => $crate::utf8::Utf8::Checked,
                    _ => $crate::utf8::Utf8::Replaced,
                };
                $strings_body
            }
        }
    };
}
pub(crate) use for_leaf;
