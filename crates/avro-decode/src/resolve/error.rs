//! The error of schemas that cannot be resolved.

use std::fmt;

use atds_features::words::{Shown, counted};

use crate::limits::{MAX_DEFAULT_PARTS, MAX_RESOLVED_PARTS};

/// The writer's schema cannot be read as the reader's.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ResolveError {
    /// What is wrong.
    pub kind: ResolveErrorKind,
    /// The [path](crate::path) of the reader's field; empty for the whole schema.
    pub field: String,
    /// The writer's type. If the writer lacks the field, the type of its record.
    pub writer: String,
    /// The reader's type.
    pub reader: String,
}

/// Why one type cannot be read as another.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ResolveErrorKind {
    /// The types differ, and there is no promotion.
    Types,
    /// The names of records, enums or fixeds differ, and the reader has no alias equal to the
    /// writer's name.
    Names,
    /// The sizes of fixeds differ.
    Sizes {
        /// The writer's size in bytes.
        writer: usize,
        /// The reader's size in bytes.
        reader: usize,
    },
    /// The precisions or scales of decimals differ.
    Decimals {
        /// The writer's precision and scale.
        writer: (u32, u32),
        /// The reader's precision and scale.
        reader: (u32, u32),
    },
    /// The logical types differ, and the writer's values do not convert to the reader's without a
    /// loss.
    LogicalTypes {
        /// The writer's logical type.
        writer: Box<str>,
        /// The reader's logical type.
        reader: Box<str>,
        /// Whether both are times that differ only in their unit, and the reader's unit is coarser.
        is_coarser: bool,
    },
    /// The writer's record lacks the field, and the reader's field has no default.
    MissingField {
        /// The most similar name of a writer's field.
        nearest: Option<String>,
    },
    /// The writer's record lacks the field, and the default of the reader's field does not match
    /// its type.
    BadDefault,
    /// The reader's defaults that are needed are nested too deep, or have more than
    /// [`MAX_DEFAULT_PARTS`] values and bytes.
    DefaultTooLarge,
    /// The pairs of types have more than [`MAX_RESOLVED_PARTS`] types, fields, symbols and
    /// branches.
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
                    "the writer's {writer} has no such field, and the reader's field has no default"
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
                 symbols and branches are compared"
            ),
        }
    }
}

impl std::error::Error for ResolveError {}
