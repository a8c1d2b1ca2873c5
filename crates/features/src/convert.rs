//! Conversions: how a value of a record becomes an element of a tensor.

mod farmhash;
mod ids;
#[doc(hidden)]
pub mod narrow;
mod time;
mod vocabulary;

pub use farmhash::fingerprint64;
pub use ids::Ids;
pub use time::{Clock, TimeUnit};
pub use vocabulary::{DuplicateWord, Vocabulary};

use std::sync::Arc;

/// How the values of a feature become elements of its tensor.
///
/// A format has some of the types below and says which: an integer of 32 bits is an `int` in one
/// format and an `i32` in another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Convert {
    /// As the dtype of the type, and no other:
    ///
    /// | type | dtype |
    /// |---|---|
    /// | integers of 32 bits, and times stored in them | int32 |
    /// | integers of 64 bits, and times stored in them | int64 |
    /// | floats of 32 and 64 bits, booleans | float32, float64, bool |
    /// | strings, bytes | string |
    /// | bytes | uint8, a list of the bytes, which is a dimension of the feature |
    /// | enums | string (the symbol) or int32 (its index) |
    /// | decimals | float64 (the nearest), int64 (the unscaled number) or string (the bytes) |
    /// | UUIDs | string (the text of 36 characters; with [any bytes](crate::Feature::any_bytes), 16 stored bytes) |
    /// | durations of calendars | int64, three for each value: months, days, milliseconds |
    #[default]
    Exact,
    /// As any dtype that a number or a boolean can be cast to:
    ///
    /// | type | dtypes beside those of [`Convert::Exact`] |
    /// |---|---|
    /// | integers, booleans | every integer and every float, bool |
    /// | floats | every float, bool |
    /// | enums | every integer |
    /// | decimals | float16, bfloat16, float32, from the float64 |
    ///
    /// The integers are int8, int16, int32, int64, uint8 and uint16; a number outside the dtype's
    /// range is an error. The floats are float16, bfloat16, float32 and float64. Every cast to a
    /// float rounds to the nearest, ties to even; a value beyond the largest float becomes
    /// infinity. In a cast to bool, 0 is false and all other values are true, NaN included.
    Cast,
    /// As an id from 0 to this number, exclusive, in int64: FarmHash's Fingerprint64 modulo the
    /// number. TensorFlow's `tf.strings.to_hash_bucket_fast` is the same.
    ///
    /// Strings, bytes and enums (by symbol) are hashed as the strings that [`Convert::Exact`] makes
    /// of them. An integer is hashed as its decimal text, as `tf.strings.as_string` writes it.
    HashBuckets(u64),
    /// As the id of a word, in any integer dtype that has every id. The types and their strings are
    /// those of [`Convert::HashBuckets`].
    Vocabulary(Arc<Vocabulary>),
    /// As int64 in this unit, for dates, times and timestamps. To a coarser unit, times are rounded
    /// towards minus infinity.
    Unit(TimeUnit),
}
