//! The error of parsing an expression: what is wrong, at which character.

use std::fmt::{self, Write as _};

use thiserror::Error;

use super::print::field_step;
use crate::limits::{MAX_PATH_BYTES, MAX_PATH_STEPS};
use crate::shown::Shown;

/// A text that is not a path expression.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PathError {
    /// What is wrong.
    pub kind: PathErrorKind,
    /// Where, as a byte of the text from 0; 0 where the whole is at fault, the
    /// text's length where more was expected.
    pub offset: usize,
    /// The text.
    pub expression: String,
}

/// What is wrong with a path expression.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum PathErrorKind {
    /// There is nothing in the text.
    #[error("the expression is empty")]
    Empty,
    /// The text, or what it prints as, is longer than [`MAX_PATH_BYTES`].
    #[error("an expression of {bytes} bytes, more than {MAX_PATH_BYTES}")]
    TooLong {
        /// Bytes of it.
        bytes: usize,
    },
    /// A path has more than [`MAX_PATH_STEPS`].
    #[error("more than {MAX_PATH_STEPS} steps")]
    TooManySteps,
    /// Something else was expected.
    #[error("expected {0}")]
    Expected(&'static str),
    /// A name without quotes goes on with a character that only names in quotes
    /// have.
    #[error("a name of other characters than letters, digits and '_' stands in quotes: write {}{}", Shown(&field_step(name)), themselves(name))]
    NeedsQuotes {
        /// The name as it seems to be meant.
        name: String,
    },
    /// Brackets hold more than they can, or the text ends before the `]`.
    #[error("expected a closing ']'")]
    UnclosedBracket,
    /// The text ends before the second quote.
    #[error("unclosed quote")]
    UnclosedQuote,
    /// A backslash between quotes stands before another character than a
    /// backslash or a quote.
    #[error("unknown escape '\\{}' (there are '\\\\', '\\'' and '\\\"')", .0.escape_debug())]
    BadEscape(char),
    /// A number does not fit its type: 64 bits, unsigned for an index, signed
    /// for an integer and a bound of a slice, of a float for the others.
    #[error("number too large for 64 bits")]
    NumberTooLarge,
    /// Brackets hold one value, and it is not one that may stand alone.
    #[error(
        "neither an index, nor a slice such as [0:4], nor a key in quotes, nor a filter with '='"
    )]
    NotAStep,
    /// An index is negative.
    #[error("an index counts from 0; [{0}:] is the slice from there, back from the end")]
    NegativeIndex(i64),
    /// A slice has a second `:`.
    #[error("a slice has no step: [start:end] are all elements between the two")]
    SliceStep,
    /// Two numbers stand between brackets, and no `:` between them.
    #[error("a slice is written with a ':', such as [0:4] or [:4]")]
    NotASlice,
    /// A filter has nothing on a side of its `=`.
    #[error("a filter without a {0} side")]
    MissingSide(Side),
    /// A filter has more than one `=`.
    #[error("a filter with a second '='")]
    SecondEquals,
    /// A filter does not depend on the data.
    #[error("a filter of two constants; a field in quotes has a '.' before it: .'name'")]
    BothConstant,
    /// A path in a filter has other brackets than those of an index or a key,
    /// such as `[*]`, a slice or a filter.
    #[error(
        "neither an index nor a key in quotes, so that a side of the filter is not a single value"
    )]
    NotSingle,
}

/// A side of a filter's `=`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Left of it.
    Left,
    /// Right of it.
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

    /// Where the text is wrong, in characters from 1.
    pub fn character(&self) -> usize {
        let before = self.expression.char_indices();
        before.take_while(|(at, _)| *at < self.offset).count() + 1
    }

    /// The text, and below it a caret that points to where it is wrong: two
    /// lines for a font of fixed width, the second without an end.
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

/// Shows a text on one line, one character for each of its own.
/// What to say of a name with characters that are shown as escapes, which expressions do not have.
fn themselves(name: &str) -> &'static str {
    match Shown(name).to_string() == name {
        true => "",
        false => ", with the characters that are escaped here as they are,",
    }
}

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
