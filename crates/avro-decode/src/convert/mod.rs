//! Conversions: how a value of an Avro type becomes an element of a tensor, if a plain read of
//! [`plan::items`](crate::plan) does not suffice.
//!
//! The writer's type tells how to read the bytes, the reader's type what they mean. A number that
//! the writer has as `int` and the reader as `long` is first promoted, then converted as a `long`
//! (Avro 1.12, "Schema Resolution").
//!
//! A [`Conversion`] is compiled once. It dispatches once for a run of values. Numbers then go in
//! chunks through loops that are compiled for each pair of types.

mod chunks;
mod compile;
mod decimal;
mod duration;
mod enums;
mod error;
mod ids;
mod meaning;
mod number_text;
mod numbers;
mod octets;
mod out;
mod text;
mod time;

pub use error::ConvertError;
pub use meaning::Meaning;

pub(crate) use compile::{
    Asked, Compiled, Refusal, Within, are_octets, in_words, operand, source, units,
};
pub(crate) use duration::WIDTH as DURATION_WIDTH;
pub(crate) use tensor_batch::Out;
pub(crate) use text::uuid_text;
pub(crate) use time::Rescale;

use tensor_batch::Strings;

use crate::DecodeErrorKind;
use crate::plan::cursor::{Cursor, Fault};
use crate::plan::leaf::Leaf;
use decimal::Decimal;
use duration::Duration;
use enums::{EnumIds, EnumSymbols};
use ids::{NumberIds, TextIds};
use number_text::{NumberText, NumberTextIds};
use numbers::Numbers;
use octets::Octets;
use text::Text;
use time::Time;

/// How the values of a type are read.
#[derive(Clone, Debug)]
pub(crate) enum Source {
    /// As a primitive, without conversion.
    Plain(Leaf),
    /// Converted.
    Other(Box<Conversion>),
}

impl Source {
    /// Number of elements per value.
    pub(crate) fn width(&self) -> usize {
        match self {
            Source::Plain(_) => 1,
            Source::Other(conversion) => conversion.width(),
        }
    }

    /// Whether a value becomes a list whose length is read from the data.
    pub(crate) fn is_octets(&self) -> bool {
        matches!(self, Source::Other(conversion) if matches!(conversion.0, Family::Octets(_)))
    }

    /// Whether a value becomes one element.
    pub(crate) fn is_one(&self) -> bool {
        self.width() == 1 && !self.is_octets()
    }
}

/// A compiled conversion to one dtype.
#[derive(Clone, Debug)]
pub(crate) struct Conversion(Family);

#[derive(Clone, Debug)]
enum Family {
    Numbers(Numbers),
    Text(Text),
    EnumSymbols(EnumSymbols),
    EnumIds(EnumIds),
    TextIds(TextIds),
    NumberIds(NumberIds),
    NumberText(NumberText),
    NumberTextIds(NumberTextIds),
    Decimal(Decimal),
    Duration(Duration),
    Time(Time),
    Octets(Octets),
}

impl Conversion {
    /// Number of elements per Avro value.
    pub(crate) fn width(&self) -> usize {
        match self.0 {
            Family::Duration(_) => duration::WIDTH,
            _ => 1,
        }
    }

    /// Reads Avro values until `out` is full. The length of `out` must be a multiple of the
    /// [width](Conversion::width).
    ///
    /// # Errors
    /// If the data is invalid, or a value cannot be converted. The cursor is at the start of the
    /// first value that fails.
    ///
    /// # Panics
    /// If `out` is of another dtype than the conversion was compiled for.
    pub(crate) fn read(&self, cursor: &mut Cursor<'_>, out: Out<'_>) -> Result<(), Fault> {
        match &self.0 {
            Family::Numbers(numbers) => numbers.read(cursor, out),
            Family::EnumIds(enums) => enums.read(cursor, out),
            Family::TextIds(ids) => ids.read(cursor, out),
            Family::NumberIds(ids) => ids.read(cursor, out),
            Family::NumberTextIds(ids) => ids.read(cursor, out),
            Family::Decimal(decimal) => decimal.read(cursor, out),
            Family::Duration(duration) => duration.read(cursor, out),
            Family::Time(time) => time.read(cursor, out),
            Family::Octets(octets) => octets.read(cursor, out),
            Family::Text(_) | Family::EnumSymbols(_) | Family::NumberText(_) => other_dtype(),
        }
    }

    /// Reads `n` Avro values and appends them to `strings`, which may have `most` bytes.
    ///
    /// # Errors
    /// As [`read`](Conversion::read), and if there is no room; the values before the error are appended.
    ///
    /// # Panics
    /// If the conversion was compiled for another dtype than string.
    pub(crate) fn read_strings(
        &self,
        cursor: &mut Cursor<'_>,
        n: usize,
        (strings, most): (&mut Strings, usize),
    ) -> Result<(), Fault> {
        let push = |text: &[u8]| {
            if strings.data().len() + text.len() > most {
                return Err(Box::new(DecodeErrorKind::NoRoom { needed: text.len() }));
            }
            strings.push(text);
            Ok(())
        };
        match &self.0 {
            Family::Text(text) => text.read(cursor, n, push),
            Family::EnumSymbols(enums) => enums.read(cursor, n, push),
            Family::NumberText(text) => text.read(cursor, n, push),
            _ => other_dtype(),
        }
    }
}

/// Panics for a caller that asks for a dtype other than the compiled one.
#[cold]
fn other_dtype() -> ! {
    panic!("the values are of the conversion's dtype")
}

#[cfg(test)]
mod tests;
