//! The meaning of a column's elements.
//!
//! The dtype of a column tells how its elements are stored. It does not tell what an integer
//! counts: milliseconds or microseconds, cents or tenths of a cent, an enum's symbols in one order
//! or another. The schemas of one data set may differ in that. The first schema fixes the meaning
//! of a column, and [`reach`](Meaning::reach) tells whether the values of another schema convert to
//! it.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use atds_features::{Clock, TimeUnit};

use super::time::Rescale;

/// The meaning of a column's elements, apart from their dtype.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Meaning {
    /// Numbers or booleans without a logical type, and decimals that are read as floats.
    Number,
    /// Text: strings and the symbols of enums.
    Text,
    /// Bytes, of `bytes` or `fixed`, without a logical type.
    Bytes,
    /// UUIDs as text, whether stored as text or as 16 bytes.
    Uuid,
    /// UUIDs as their 16 bytes.
    UuidBytes,
    /// Dates, times or timestamps as a number of units.
    Time {
        /// The time from which the number counts.
        clock: Clock,
        /// The unit: that of the type, or of the feature.
        unit: TimeUnit,
    },
    /// Decimals as the unscaled integer.
    Decimal {
        /// Digits after the point.
        scale: u32,
    },
    /// Decimals as the bytes of the unscaled integer.
    DecimalBytes {
        /// Digits after the point.
        scale: u32,
        /// Number of bytes of a `fixed`; `None` for `bytes`.
        size: Option<usize>,
    },
    /// The bytes of `big-decimal`.
    BigDecimal,
    /// Symbols of an enum as their index in this list.
    Symbols(Arc<[String]>),
    /// Durations as months, days and milliseconds.
    Duration,
}

/// How values of one meaning convert to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// They stay the same.
    Same,
    /// Times are multiplied, to get this unit.
    Times(TimeUnit),
    /// Unscaled decimals get this number of digits after the point.
    Digits(u32),
    /// Symbols get their numbers in another list, which has them all.
    Symbols,
}

/// How a feature represents its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// As elements of the type's dtype.
    Elements,
    /// As ids of the value's text.
    Ids,
    /// As times in the unit of the feature.
    Unit,
}

impl Meaning {
    /// How values of this meaning convert to the meaning `column`; `None` if that needs a loss or a
    /// guess.
    pub(super) fn reach(&self, column: &Meaning, form: Form) -> Option<Reach> {
        use Meaning as M;
        match (self, column) {
            (this, column) if this == column => Some(Reach::Same),
            (
                &M::Time { clock, unit: from },
                &M::Time {
                    clock: other,
                    unit: to,
                },
            ) => {
                if from == to && form == Form::Unit && clock.meets(other) {
                    return Some(Reach::Same);
                }
                let exact = clock.becomes(other) && Rescale::is_exact(from, to);
                exact.then_some(Reach::Times(to))
            }
            (M::Decimal { scale: 0 }, M::Number) | (M::Number, M::Decimal { scale: 0 }) => {
                Some(Reach::Same)
            }
            (&M::Decimal { scale: from }, &M::Decimal { scale: to }) => {
                (from < to).then_some(Reach::Digits(to))
            }
            (M::Symbols(_), M::Symbols(_)) => self
                .symbol_beyond(column)
                .is_none()
                .then_some(Reach::Symbols),
            // Avro's schema resolution also accepts strings as bytes.
            (M::Text, M::Uuid | M::Bytes) | (M::Uuid | M::Bytes, M::Text) => Some(Reach::Same),
            (M::UuidBytes, M::Bytes) | (M::Bytes, M::UuidBytes) => Some(Reach::Same),
            // The id of an integer is the id of its decimal text.
            (M::Number, M::Text | M::Bytes) | (M::Text | M::Bytes, M::Number) => {
                (form == Form::Ids).then_some(Reach::Same)
            }
            _ => None,
        }
    }

    /// The first symbol that the list of `column` lacks, if both meanings are symbols.
    pub(crate) fn symbol_beyond(&self, column: &Meaning) -> Option<&str> {
        let (Meaning::Symbols(symbols), Meaning::Symbols(known)) = (self, column) else {
            return None;
        };
        let known: HashSet<&str> = known.iter().map(String::as_str).collect();
        let mut symbols = symbols.iter().map(String::as_str);
        symbols.find(|symbol| !known.contains(symbol))
    }

    /// Whether the values are plain: their type alone tells their meaning.
    pub(super) fn is_plain(&self) -> bool {
        matches!(self, Meaning::Number | Meaning::Text | Meaning::Bytes)
    }

    /// Advice for values of this meaning in a column of the meaning `column`.
    pub(crate) fn remedy(&self, column: &Meaning) -> &'static str {
        use Meaning as M;
        match (self, column) {
            (M::Time { clock, .. }, M::Time { clock: other, .. }) if clock == other => {
                "give the feature a `unit`, or a `reader_schema` that has the finer unit"
            }
            (M::Time { clock, .. }, M::Time { clock: other, .. }) if clock.meets(*other) => {
                "give the feature a `unit`: both then count from 1970-01-01"
            }
            (M::Time { .. }, M::Time { .. }) => {
                "give a `reader_schema` with a plain int or long there, which reads both as bare numbers"
            }
            (M::Time { .. }, M::Number) | (M::Number, M::Time { .. }) => {
                "give a `reader_schema` with the logical type, or with a plain int or long, \
                 which reads both as bare numbers"
            }
            (M::Symbols(_), M::Symbols(_)) => {
                "read them as strings, or give the feature a `vocabulary`, or a `reader_schema` \
                 whose enum has all symbols"
            }
            (
                M::Decimal { .. } | M::DecimalBytes { .. },
                M::Decimal { .. } | M::DecimalBytes { .. },
            ) => "read them as float64, which is the number itself",
            (M::Decimal { .. }, M::Number) | (M::Number, M::Decimal { .. }) => {
                "read them as float64 with `cast=true`"
            }
            (M::UuidBytes, M::Uuid | M::Text) | (M::Uuid | M::Text, M::UuidBytes) => {
                "read them as strings, which are the text of either"
            }
            _ => "give a `reader_schema` that fixes their type, or read such files on their own",
        }
    }
}

impl Meaning {
    /// As [`remedy`](Meaning::remedy), for values that are compared or used as indices. The options
    /// of a feature do not change such values.
    pub(crate) fn remedy_by_schema(&self, column: &Meaning) -> &'static str {
        use Meaning as M;
        match (self, column) {
            (M::Time { clock, .. }, M::Time { clock: other, .. }) if clock == other => {
                "give a `reader_schema` that has the finer unit"
            }
            (M::Time { .. }, M::Time { .. } | M::Number) | (M::Number, M::Time { .. }) => {
                "give a `reader_schema` with a plain int or long there, which reads both as bare numbers"
            }
            _ => "give a `reader_schema` that fixes their type, or read such files on their own",
        }
    }
}

/// Maximum number of symbols listed; the rest is only counted.
const MAX_SYMBOLS: usize = 10;

impl fmt::Display for Meaning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Meaning::Number => f.write_str("plain numbers"),
            Meaning::Text => f.write_str("text"),
            Meaning::Bytes => f.write_str("plain bytes"),
            Meaning::Uuid => f.write_str("the text of UUIDs"),
            Meaning::UuidBytes => f.write_str("the 16 bytes of UUIDs"),
            Meaning::Time { clock, unit } => write!(f, "{clock} in {unit}"),
            Meaning::Decimal { scale } => write!(f, "unscaled decimals of scale {scale}"),
            Meaning::DecimalBytes { scale, size } => {
                write!(f, "the bytes of decimals of scale {scale}")?;
                match size {
                    Some(size) => write!(f, ", {size} each"),
                    None => Ok(()),
                }
            }
            Meaning::BigDecimal => f.write_str("the bytes of big-decimals"),
            Meaning::Symbols(symbols) => {
                f.write_str("the numbers of the symbols ")?;
                for (i, symbol) in symbols.iter().take(MAX_SYMBOLS).enumerate() {
                    let comma = if i > 0 { ", " } else { "" };
                    write!(f, "{comma}'{}'", symbol.escape_debug())?;
                }
                match symbols.len().checked_sub(MAX_SYMBOLS) {
                    Some(more @ 1..) => write!(f, " and {more} more"),
                    _ => Ok(()),
                }
            }
            Meaning::Duration => f.write_str("durations"),
        }
    }
}
