//! Values that inferred features leave out or round.

use std::fmt;

use atds_features::feature::Feature;
use atds_features::words::Shown;

/// A value that no inferred feature reads.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct LeftOut {
    /// The expression of the value.
    pub field: String,
    /// The type of the value.
    pub schema_type: String,
    /// Why the value is left out.
    pub reason: LeftOutReason,
    /// A feature that reads the value or a part of it; `None` if there is none.
    pub read_with: Option<Feature>,
}

/// Why a value is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LeftOutReason {
    /// It is always null, takes no bytes, or is a record without fields.
    NoValue,
    /// It is an array of items that take no bytes, so nothing bounds their number.
    EmptyItems,
    /// It is a record inside itself, so expressions reach only a part of it.
    Recursive,
    /// It has more than [`MAX_RANK`](tensor_batch::MAX_RANK) dimensions.
    TooManyDimensions,
    /// It is nested deeper, or its expression is longer, than the [limits](crate::limits) allow.
    TooDeep,
}

impl fmt::Display for LeftOutReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            LeftOutReason::NoValue => "it holds no value",
            LeftOutReason::EmptyItems => "its items take no bytes",
            LeftOutReason::Recursive => "the record holds itself",
            LeftOutReason::TooManyDimensions => "it has too many dimensions",
            LeftOutReason::TooDeep => "it lies too deep",
        })
    }
}

/// A whole sentence: the field, its type, the reason, and the expression that reads it or a part of
/// it.
impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (field, schema_type) = (Shown(&self.field), Shown(&self.schema_type));
        write!(f, "left out '{field}' ({schema_type}): {}", self.reason)?;
        match &self.read_with {
            Some(feature) => {
                let expression = Shown(feature.expression());
                write!(f, "; the expression '{expression}' reads a part of it")
            }
            None => Ok(()),
        }
    }
}

impl LeftOut {
    /// The value and the reason in words, such as `'x' is null (it holds no value)`.
    pub fn in_words(&self) -> String {
        let (field, schema_type) = (Shown(&self.field), Shown(&self.schema_type));
        format!("'{field}' is {schema_type} ({})", self.reason)
    }
}

/// A feature that is inferred as float64 although some values are inexact as floats: a decimal with
/// digits after the point, or a union of long with a float.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rounded {
    /// The feature's name, which is also its expression.
    pub field: String,
    /// The type of its values.
    pub schema_type: String,
    /// The expression that reads the exact values, as int64.
    pub exact: String,
    /// Whether every value fits int64. Decimals of more than 18 digits may not; read their bytes
    /// instead.
    pub fits_int64: bool,
}

/// A whole sentence, with the way to read the exact values.
impl fmt::Display for Rounded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (field, schema_type) = (Shown(&self.field), Shown(&self.schema_type));
        write!(f, "'{field}' ({schema_type}) is float64, ")?;
        let exact = Shown(&self.exact);
        if self.field == self.exact {
            f.write_str(
                "the number nearest to each decimal: read it as int64 for the exact number \
                 without its point",
            )?;
            if self.fits_int64 {
                Ok(())
            } else {
                f.write_str(", or as bytes where that is beyond int64")
            }
        } else {
            write!(
                f,
                "which rounds longs beyond 2^53: '{exact}' reads them exactly, as int64"
            )
        }
    }
}
