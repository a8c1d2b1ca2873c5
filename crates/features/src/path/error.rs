//! The error of parsing a path expression: what is wrong, at which character.

use std::fmt::{self, Write as _};

use thiserror::Error;

use super::print::field_step;
use crate::limits::{MAX_PATH_BYTES, MAX_PATH_STEPS};
use crate::words::{Shown, counted};

/// A text that is not a path expression.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PathError {
    /// What is wrong.
    pub kind: PathErrorKind,
    /// Byte offset of the error in the text. It is 0 if the whole text is wrong, and the text's
    /// length if the text ends too early.
    pub offset: usize,
    /// The text.
    pub expression: String,
}

/// What is wrong with a path expression.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum PathErrorKind {
    /// The text is empty.
    #[error("the expression is empty")]
    Empty,
    /// The text, or its printed form, is longer than [`MAX_PATH_BYTES`].
    #[error("an expression of {bytes} bytes, more than {MAX_PATH_BYTES}")]
    TooLong {
        /// Length in bytes.
        bytes: usize,
    },
    /// A path has more than [`MAX_PATH_STEPS`].
    #[error("more than {MAX_PATH_STEPS} steps")]
    TooManySteps,
    /// Something else was expected.
    #[error("expected {0}")]
    Expected(&'static str),
    /// A name without quotes continues with a character that is only allowed in quotes.
    #[error("a name with characters other than letters, digits and '_' needs quotes: write {}{}", Shown(&field_step(name)), themselves(name))]
    NeedsQuotes {
        /// The whole name as it was probably meant.
        name: String,
    },
    /// A bracket is not closed: it holds too much, or the text ends before the `]`.
    #[error("expected a closing ']'")]
    UnclosedBracket,
    /// The text ends before the second quote.
    #[error("unclosed quote")]
    UnclosedQuote,
    /// A backslash in quotes stands before a character other than a backslash or a quote.
    #[error("unknown escape '\\{}' (there are '\\\\', '\\'' and '\\\"')", .0.escape_debug())]
    BadEscape(char),
    /// A number does not fit its type: an unsigned 64-bit index, a signed 64-bit integer or slice
    /// bound, or a float.
    #[error("number too large for 64 bits")]
    NumberTooLarge,
    /// Brackets hold a single value that is not an index or a key.
    #[error("expected an index, a slice such as [0:4], a key in quotes, or a filter with '='")]
    NotAStep,
    /// An index is negative.
    #[error(
        "an index cannot be negative; the slice [{0}:] has the last {last}",
        last = counted(.0.unsigned_abs(), "element")
    )]
    NegativeIndex(i64),
    /// A slice has a second `:`.
    #[error("a slice has no step: [start:end] selects all elements from start to end")]
    SliceStep,
    /// Brackets hold two numbers without a `:` between them.
    #[error("a slice is written with a ':', such as [0:4] or [:4]")]
    NotASlice,
    /// A filter has an empty side.
    #[error("the filter has no {0} side")]
    MissingSide(Side),
    /// A filter has more than one `=`.
    #[error("the filter has a second '='")]
    SecondEquals,
    /// A filter has two constants, so it does not depend on the data.
    #[error(
        "both sides of the filter are constants; a field in quotes has a '.' before it: .'name'"
    )]
    BothConstant,
    /// A path in a filter contains `[*]`, a slice or a filter, and not just indices and keys.
    #[error("a side of a filter is a single value: expected an index or a key in quotes")]
    NotSingle,
}

/// A side of a filter's `=`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Before the `=`.
    Left,
    /// After the `=`.
    Right,
}

impl PathError {
    #[cold]
    pub(super) fn new(kind: PathErrorKind, offset: usize, expression: &str) -> Self {
        PathError {
            kind,
            offset,
            expression: expression.to_owned(),
        }
    }

    /// Whether the text is a name that is meant as an expression: it has a `.` or a `[`, and lacks
    /// more than quotes.
    pub fn is_meant_as_path(&self) -> bool {
        let only_lacks_quotes = matches!(self.kind, PathErrorKind::NeedsQuotes { .. });
        self.expression.contains(['.', '[']) && !only_lacks_quotes
    }

    /// Position of the error in the text, in characters from 1.
    pub fn character(&self) -> usize {
        let before = self.expression.char_indices();
        before.take_while(|(at, _)| *at < self.offset).count() + 1
    }

    /// The text, and a caret below the position of the error. These are two lines for a font of
    /// fixed width, without a final line break.
    pub fn pointer(&self) -> String {
        let spaces = " ".repeat(self.character() - 1);
        format!("{}\n{spaces}^", OneLine(&self.expression))
    }
}

impl fmt::Display for PathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kind.fmt(f)?;
        match self.kind {
            PathErrorKind::Empty | PathErrorKind::TooLong { .. } => Ok(()),
            _ => {
                let expression = OneLine(&self.expression);
                write!(f, " at character {} of '{expression}'", self.character())
            }
        }
    }
}

impl std::error::Error for PathError {}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Side::Left => "left",
            Side::Right => "right",
        })
    }
}

/// Advice for a name whose display needs escapes, since expressions have no escapes for such
/// characters.
fn themselves(name: &str) -> &'static str {
    if Shown(name).to_string() == name {
        ""
    } else {
        ", with each escape replaced by its character,"
    }
}

/// Displays a text on one line, with one character for each of the text's characters.
struct OneLine<'a>(&'a str);

impl fmt::Display for OneLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in self.0.chars() {
            let shown = if c.is_control() {
                char::REPLACEMENT_CHARACTER
            } else {
                c
            };
            f.write_char(shown)?;
        }
        Ok(())
    }
}
