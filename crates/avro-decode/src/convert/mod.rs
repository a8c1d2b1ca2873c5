//! Conversions: how a value of an Avro type becomes an element of a tensor,
//! other than by the plain reads of [`plan::items`](crate::plan).
//!
//! The writer's type says how the bytes are read, the reader's what they mean:
//! a number that was written as `int` and is a `long` to the reader is
//! promoted first, and converted as a `long` then (Avro 1.12, "Schema
//! Resolution").
//!
//! A [`Conversion`] is compiled once. Its dispatch happens once for a run of
//! values; numbers then go by chunks through loops that are compiled for each
//! pair of types.

mod chunks;
mod compile;
mod decimal;
mod duration;
mod enums;
mod error;
mod farmhash;
mod ids;
mod meaning;
mod narrow;
mod number_text;
mod numbers;
mod octets;
mod out;
mod text;
mod time;
mod vocabulary;

pub use error::ConvertError;
pub use meaning::{Clock, Meaning};
pub use time::TimeUnit;
pub use vocabulary::{DuplicateWord, Vocabulary};

pub(crate) use compile::{
    Asked, Compiled, Refusal, Within, are_octets, in_words, operand, source, units,
};
pub(crate) use duration::WIDTH as DURATION_WIDTH;
pub(crate) use farmhash::fingerprint64;
pub(crate) use out::Out;
pub(crate) use text::uuid_text;
pub(crate) use time::Rescale;

use std::sync::Arc;

use tensor_batch::Strings;

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

/// How the values of a feature become elements of its tensor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Convert {
    /// As the dtype of their type and no other:
    ///
    /// | type | dtype |
    /// |---|---|
    /// | int, date, time-millis | int32 |
    /// | long, time-micros, timestamp-*, local-timestamp-* | int64 |
    /// | float, double, boolean | float32, float64, bool |
    /// | string, bytes, fixed | string |
    /// | bytes, fixed | uint8, a list of the bytes, which is a dimension of the feature |
    /// | enum | string (the symbol) or int32 (its index) |
    /// | decimal | float64 (the nearest), int64 (the unscaled number) or string (the bytes) |
    /// | uuid | string (the text; of a fixed its 36 characters, or its 16 bytes where strings are [any bytes](crate::Feature::any_bytes)) |
    /// | duration | int64, three for each value: months, days, milliseconds |
    #[default]
    Exact,
    /// As any dtype that a number or a boolean can be cast to:
    ///
    /// | type | dtypes beside those of [`Convert::Exact`] |
    /// |---|---|
    /// | int, long, boolean | every integer and every float, bool |
    /// | float, double | every float, bool |
    /// | enum | every integer |
    /// | decimal | float16, bfloat16, float32, from the float64 |
    ///
    /// The integers are int8, int16, int32, int64, uint8 and uint16: a number outside the
    /// dtype's range is an error. The floats are float16, bfloat16, float32 and float64.
    /// Every cast to a float gives the nearest, ties to even, and an infinity
    /// beyond the largest. Of bool 0 is false, and all else true, NaN too.
    Cast,
    /// As the id of one of so many buckets, int64: FarmHash's Fingerprint64
    /// modulo the number, which is TensorFlow's
    /// `tf.strings.to_hash_bucket_fast`. For strings, bytes, fixed and enums
    /// (by symbol), as the strings that [`Convert::Exact`] makes of them; for
    /// int and long through their decimal text, as `tf.strings.as_string`
    /// writes it.
    HashBuckets(u64),
    /// As the id of a word, in any integer dtype that has every id. For the same types by the same
    /// strings as [`Convert::HashBuckets`].
    Vocabulary(Arc<Vocabulary>),
    /// As int64 in this unit, for dates, times and timestamps. To a coarser
    /// unit times are floored, towards minus infinity.
    Unit(TimeUnit),
}

/// How a type's values are read.
#[derive(Clone, Debug)]
pub(crate) enum Source {
    /// As a primitive's, without conversion.
    Plain(Leaf),
    /// Converted.
    Other(Box<Conversion>),
}

impl Source {
    /// Elements of the tensor that a value becomes.
    pub(crate) fn width(&self) -> usize {
        match self {
            Source::Plain(_) => 1,
            Source::Other(conversion) => conversion.width(),
        }
    }

    /// Whether a value becomes a list, whose length the data says.
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
    /// Elements for each Avro value.
    pub(crate) fn width(&self) -> usize {
        match self.0 {
            Family::Duration(_) => duration::WIDTH,
            _ => 1,
        }
    }

    /// Reads as many Avro values as fill `out`, whose length is a multiple of
    /// the [width](Conversion::width).
    ///
    /// # Errors
    /// Data that is not such values, or cannot be converted; the cursor is at
    /// the start of the first that fails.
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

    /// Reads `n` Avro values and appends them to `strings`.
    ///
    /// # Errors
    /// As [`read`](Conversion::read); the values before are appended.
    ///
    /// # Panics
    /// If the conversion was compiled for another dtype than string.
    pub(crate) fn read_strings(
        &self,
        cursor: &mut Cursor<'_>,
        n: usize,
        strings: &mut Strings,
    ) -> Result<(), Fault> {
        match &self.0 {
            Family::Text(text) => text.read(cursor, n, strings),
            Family::EnumSymbols(enums) => enums.read(cursor, n, strings),
            Family::NumberText(text) => text.read(cursor, n, strings),
            _ => other_dtype(),
        }
    }
}

/// What the caller of a conversion must not do.
#[cold]
fn other_dtype() -> ! {
    panic!("the values are of the conversion's dtype")
}

#[cfg(test)]
mod tests;
