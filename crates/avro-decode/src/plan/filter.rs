//! Filters: they select elements of an array.

use std::ops::Range;

use atds_features::path::Constant;

use super::cursor::{Cursor, Fault};
use super::program::Program;
use crate::DecodeErrorKind;
use crate::convert::{Rescale, uuid_text};

/// A filter of an array's elements.
#[derive(Clone, Debug)]
pub(crate) struct Filter {
    /// Reads an element up to the last value that the filter needs.
    pub(crate) head: Program,
    /// Reads the rest of an element.
    pub(crate) rest: Program,
    /// The slots of the element's values.
    pub(crate) slots: Range<usize>,
    /// The branches of the element's union that are null. Empty if the element's values tell
    /// whether it is null.
    pub(crate) nulls: Box<[i64]>,
    pub(crate) left: Side,
    pub(crate) right: Side,
}

/// A side of a filter.
#[derive(Clone, Debug)]
pub(crate) enum Side {
    /// A value read from the data, in this slot.
    Operand(usize),
    /// A constant of the expression.
    Constant(Constant),
}

/// A value that a filter needs, and its slot.
#[derive(Clone, Debug)]
pub(crate) struct Operand {
    pub(crate) slot: usize,
    pub(crate) kind: OperandKind,
    /// The promotion of a number by the reader's schema.
    pub(crate) promotion: Promotion,
    /// Set for times that are compared in another unit than the data's.
    pub(crate) rescale: Option<Rescale>,
}

/// The Avro type of a value that a filter needs.
#[derive(Clone, Debug)]
pub(crate) enum OperandKind {
    Int,
    Long,
    Float,
    Double,
    Boolean,
    /// `bytes`, or a `string`, which is UTF-8.
    Bytes {
        utf8: bool,
    },
    Fixed(usize),
    /// A `fixed` of 16 bytes, compared as its text.
    Uuid,
    /// The symbol for each index; `None` if the reader does not have the symbol.
    Enum(Box<[Option<Box<str>>]>),
}

/// The promotion of a number before it is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Promotion {
    None,
    Float,
    Double,
}

/// A value read for a filter.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Captured<'x> {
    /// The value is missing; it equals nothing.
    Missing,
    Integer(i64),
    Float(f64),
    Boolean(bool),
    Bytes(&'x [u8]),
    /// The bytes of a UUID, which is compared as text.
    Uuid(&'x [u8; 16]),
}

impl Filter {
    /// Clears the values of the previous element.
    pub(crate) fn reset(&self, operands: &mut [Captured<'_>]) {
        operands[self.slots.clone()].fill(Captured::Missing);
    }

    /// Whether both sides are equal for the element at `item`.
    pub(crate) fn holds(&self, operands: &[Captured<'_>], item: &Cursor<'_>) -> bool {
        self.left.value(operands).equals(self.right.value(operands)) && !self.is_null(*item)
    }

    fn is_null(&self, mut item: Cursor<'_>) -> bool {
        // An invalid branch number is an error later, when the element is read.
        !self.nulls.is_empty() && item.long().is_ok_and(|branch| self.nulls.contains(&branch))
    }
}

impl Side {
    fn value<'a>(&'a self, operands: &[Captured<'a>]) -> Captured<'a> {
        match self {
            Side::Operand(slot) => operands[*slot],
            Side::Constant(Constant::String(text)) => Captured::Bytes(text.as_bytes()),
            Side::Constant(Constant::Integer(number)) => Captured::Integer(*number),
            Side::Constant(Constant::Float(number)) => Captured::Float(*number),
            Side::Constant(Constant::Boolean(value)) => Captured::Boolean(*value),
        }
    }
}

impl Captured<'_> {
    fn equals(self, other: Captured<'_>) -> bool {
        match (self, other) {
            (Captured::Integer(a), Captured::Integer(b)) => a == b,
            (Captured::Float(a), Captured::Float(b)) => a == b,
            (Captured::Integer(a), Captured::Float(b))
            | (Captured::Float(b), Captured::Integer(a)) => is_same_number(a, b),
            (Captured::Boolean(a), Captured::Boolean(b)) => a == b,
            (Captured::Bytes(a), Captured::Bytes(b)) => a == b,
            (Captured::Uuid(a), Captured::Uuid(b)) => a == b,
            (Captured::Uuid(uuid), Captured::Bytes(text))
            | (Captured::Bytes(text), Captured::Uuid(uuid)) => uuid_text(*uuid) == text,
            _ => false,
        }
    }
}

/// Whether an integer and a float are exactly the same number. Not every integer has a float.
pub(crate) fn is_same_number(integer: i64, float: f64) -> bool {
    // 2^63 is the smallest float above every i64.
    let end = 9_223_372_036_854_775_808.0;
    (-end..end).contains(&float) && float.trunc() == float && float as i64 == integer
}

impl Operand {
    /// Reads the value.
    pub(crate) fn capture<'x>(
        &'x self,
        cursor: &mut Cursor<'x>,
        operands: &mut [Captured<'x>],
    ) -> Result<(), Fault> {
        let mut value = self.read(cursor)?;
        if let (Some(rescale), Captured::Integer(time)) = (self.rescale, value) {
            // A time that overflows in the column's unit equals no time of the column.
            let time = rescale.apply(time);
            value = time.map_or(Captured::Missing, Captured::Integer);
        }
        operands[self.slot] = match (self.promotion, value) {
            (Promotion::None, value) => value,
            (Promotion::Float, Captured::Integer(n)) => Captured::Float((n as f32).into()),
            (_, Captured::Integer(n)) => Captured::Float(n as f64),
            (_, value) => value,
        };
        Ok(())
    }

    fn read<'x>(&'x self, cursor: &mut Cursor<'x>) -> Result<Captured<'x>, Fault> {
        let start = *cursor;
        Ok(match &self.kind {
            OperandKind::Int => Captured::Integer(cursor.int()?.into()),
            OperandKind::Long => Captured::Integer(cursor.long()?),
            OperandKind::Float => {
                let bytes = cursor.bytes(4)?.try_into().unwrap_or_default();
                Captured::Float(f32::from_le_bytes(bytes).into())
            }
            OperandKind::Double => {
                let bytes = cursor.bytes(8)?.try_into().unwrap_or_default();
                Captured::Float(f64::from_le_bytes(bytes))
            }
            OperandKind::Boolean => match cursor.bytes(1)?[0] {
                byte @ 0..=1 => Captured::Boolean(byte == 1),
                byte => {
                    *cursor = start;
                    return Err(Box::new(DecodeErrorKind::BadBoolean(byte)));
                }
            },
            OperandKind::Bytes { utf8 } => {
                let length = cursor.length()?;
                let bytes = cursor.bytes(length)?;
                if *utf8 && !crate::utf8::is_utf8(bytes) {
                    *cursor = start;
                    return Err(Box::new(DecodeErrorKind::InvalidUtf8));
                }
                Captured::Bytes(bytes)
            }
            OperandKind::Fixed(size) => Captured::Bytes(cursor.bytes(*size)?),
            OperandKind::Uuid => {
                let bytes = cursor.bytes(16)?;
                Captured::Uuid(bytes.try_into().expect("16 bytes were read"))
            }
            OperandKind::Enum(symbols) => {
                let index = cursor.int()?;
                match usize::try_from(index).ok().and_then(|i| symbols.get(i)) {
                    Some(Some(symbol)) => Captured::Bytes(symbol.as_bytes()),
                    Some(None) => Captured::Missing,
                    None => {
                        *cursor = start;
                        let (index, symbols) = (index.into(), symbols.len());
                        return Err(Box::new(DecodeErrorKind::BadEnumIndex { index, symbols }));
                    }
                }
            }
        })
    }
}
