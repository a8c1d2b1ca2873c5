//! A primitive nested in arrays, and where a union may stand around it.

use tensor_batch::DType;

use super::blocks::each_block;
use super::cursor::{Cursor, Fault};
use super::items::Sink;
use crate::DecodeErrorKind;

/// A union with one branch besides null: `[X]`, `["null", X]`, `[X, "null"]`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Nullable {
    /// Which branch is not null.
    pub(crate) value: i64,
    /// Number of branches.
    pub(crate) branches: i64,
}

impl Nullable {
    /// Reads the branch; null is an error (a mask or a default is not asked for).
    #[inline]
    pub(crate) fn expect_value(self, cursor: &mut Cursor<'_>) -> Result<(), Fault> {
        let start = *cursor;
        let branch = cursor.long()?;
        if branch == self.value {
            return Ok(());
        }
        *cursor = start;
        Err(self.not_a_value(branch))
    }

    #[cold]
    fn not_a_value(self, branch: i64) -> Fault {
        Box::new(if (0..self.branches).contains(&branch) {
            DecodeErrorKind::Null
        } else {
            DecodeErrorKind::BadUnionBranch {
                branch,
                branches: self.branches as usize,
            }
        })
    }
}

/// The Avro type of the innermost values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leaf {
    Int,
    Long,
    Float,
    Double,
    Boolean,
    Bytes,
    String,
}

impl Leaf {
    /// What the type is read as.
    pub(crate) fn dtype(self) -> DType {
        match self {
            Leaf::Int => DType::Int32,
            Leaf::Long => DType::Int64,
            Leaf::Float => DType::Float32,
            Leaf::Double => DType::Float64,
            Leaf::Boolean => DType::Bool,
            Leaf::Bytes | Leaf::String => DType::String,
        }
    }
}

/// One level of arrays.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Level {
    /// The union around the array.
    pub(crate) nullable: Option<Nullable>,
    /// The length every array of this level has, or any.
    pub(crate) length: Option<usize>,
    /// The fewest bytes of an item.
    pub(crate) min_item: usize,
}

/// A leaf nested in as many arrays as there are levels, outermost first.
#[derive(Clone, Debug)]
pub(crate) struct Nested {
    pub(crate) levels: Box<[Level]>,
    /// The union around each leaf.
    pub(crate) nullable: Option<Nullable>,
    pub(crate) leaf: Leaf,
}

/// Runs `$body` with `$primitive` naming the type that reads a fixed-width
/// leaf, or `$strings_body` with `$utf8` telling whether to check.
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
                let $utf8 = false;
                $strings_body
            }
            Leaf::String => {
                let $utf8 = true;
                $strings_body
            }
        }
    };
}
pub(crate) use for_leaf;

/// Reads `n` leaves.
#[inline]
pub(crate) fn leaves<S: Sink>(
    cursor: &mut Cursor<'_>,
    nullable: Option<Nullable>,
    n: usize,
    sink: &mut S,
) -> Result<(), Fault> {
    let Some(nullable) = nullable else {
        return sink.take(cursor, n);
    };
    for _ in 0..n {
        nullable.expect_value(cursor)?;
        sink.take(cursor, 1)?;
    }
    Ok(())
}

impl Level {
    /// Reads one array of this level: `items` gets each block's item count and
    /// the number of items before it. Returns the array's length.
    #[inline]
    pub(crate) fn array(
        &self,
        cursor: &mut Cursor<'_>,
        mut items: impl FnMut(&mut Cursor<'_>, usize, usize) -> Result<(), Fault>,
    ) -> Result<usize, Fault> {
        if let Some(nullable) = self.nullable {
            nullable.expect_value(cursor)?;
        }
        let start = *cursor;
        let most = self.length.unwrap_or(usize::MAX);
        let mut seen = 0;
        let mut too_long = false;
        let read = each_block(cursor, self.min_item, |cursor, n| {
            // An array that is too long is an error before a value too many is read.
            too_long = n > most - seen;
            if too_long {
                return Err(wrong_length(most, seen + n));
            }
            items(cursor, seen, n)?;
            seen += n;
            Ok(())
        });
        if too_long {
            *cursor = start;
        }
        read?;
        match self.length {
            Some(length) if length != seen => {
                *cursor = start;
                Err(wrong_length(length, seen))
            }
            _ => Ok(seen),
        }
    }
}

#[cold]
fn wrong_length(expected: usize, at_least: usize) -> Fault {
    Box::new(DecodeErrorKind::ArrayLength {
        expected,
        actual: at_least,
    })
}
