//! Schemas that cannot be resolved.

use std::fmt;

use crate::limits::{MAX_DEFAULT_PARTS, MAX_RESOLVED_PARTS};
use crate::shown::Shown;
use crate::words::counted;

/// Data of a writer's schema that cannot be read as a reader's.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ResolveError {
    /// What stands in the way.
    pub kind: ResolveErrorKind,
    /// The reader's field, as the [path](crate::path) to it; empty for the whole.
    pub field: String,
    /// The writer's type; of a field that the writer does not have, its
    /// record.
    pub writer: String,
    /// The reader's type.
    pub reader: String,
}

/// Why one type cannot be read as another.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ResolveErrorKind {
    /// The types are different ones, and there is no promotion from one to the
    /// other.
    Types,
    /// The names of records, enums or fixeds differ, and the reader has no
    /// alias that is the writer's name.
    Names,
    /// The sizes of fixeds differ.
    Sizes {
        /// Bytes of the writer's.
        writer: usize,
        /// Bytes of the reader's.
        reader: usize,
    },
    /// The precisions or scales of decimals differ.
    Decimals {
        /// Precision and scale of the writer's.
        writer: (u32, u32),
        /// Precision and scale of the reader's.
        reader: (u32, u32),
    },
    /// The logical types differ, and the values of one do not become those of
    /// the other without a loss.
    LogicalTypes {
        /// The name of the writer's.
        writer: Box<str>,
        /// The name of the reader's.
        reader: Box<str>,
        /// Whether both are times that differ only in their unit, of which the
        /// reader's is coarser.
        is_coarser: bool,
    },
    /// The writer's record does not have the field, and the reader's has no
    /// default for it.
    MissingField {
        /// The writer's field that has a similar name.
        nearest: Option<String>,
    },
    /// The writer's record does not have the field, and the reader's default
    /// does not match its type.
    BadDefault,
    /// The defaults of the reader's that are needed are nested deeper than
    /// values may be, or have more than [`MAX_DEFAULT_PARTS`] values and bytes.
    DefaultTooLarge,
    /// More than [`MAX_RESOLVED_PARTS`] types, fields, symbols and branches
    /// meet.
    TooLarge,
}

impl fmt::Display for ResolveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ResolveError {
            kind,
            field,
            writer,
            reader,
        } = self;
        if !field.is_empty() {
            write!(f, "field '{}': ", Shown(field))?;
        }
        match kind {
            ResolveErrorKind::Types => write!(f, "{writer} cannot be read as {reader}"),
            ResolveErrorKind::Names => write!(
                f,
                "{writer} cannot be read as {reader}: the names differ, and no alias is the writer's name"
            ),
            ResolveErrorKind::Sizes {
                writer: written,
                reader: read,
            } => write!(
                f,
                "{writer} cannot be read as {reader}: {}, not {read}",
                counted(*written, "byte")
            ),
            ResolveErrorKind::Decimals {
                writer: (precision, scale),
                reader: (as_precision, as_scale),
            } => write!(
                f,
                "{writer} cannot be read as {reader}: a decimal of precision {precision} and scale \
                 {scale}, not {as_precision} and {as_scale}"
            ),
            ResolveErrorKind::LogicalTypes {
                writer: written,
                reader: read,
                is_coarser,
            } => {
                write!(f, "{writer} cannot be read as {reader}: ")?;
                if *is_coarser {
                    write!(
                        f,
                        "{written} does not become {read} without a loss; the reader's type must \
                         have the finer unit"
                    )
                } else {
                    write!(f, "the values are {written}, not {read}")
                }
            }
            ResolveErrorKind::MissingField { nearest } => {
                write!(
                    f,
                    "the writer's {writer} has no such field, and there is no default"
                )?;
                match nearest {
                    Some(nearest) => write!(f, "; did you mean '{}'?", Shown(nearest)),
                    None => Ok(()),
                }
            }
            ResolveErrorKind::BadDefault => write!(
                f,
                "the writer's {writer} has no such field, and the default does not match {reader}"
            ),
            ResolveErrorKind::DefaultTooLarge => write!(
                f,
                "the writer's {writer} has no such field, and the defaults take more than \
                 {MAX_DEFAULT_PARTS} values and bytes, or are nested too deep"
            ),
            ResolveErrorKind::TooLarge => write!(
                f,
                "{writer} cannot be read as {reader}: more than {MAX_RESOLVED_PARTS} types, fields, \
                 symbols and branches meet"
            ),
        }
    }
}

impl std::error::Error for ResolveError {}
