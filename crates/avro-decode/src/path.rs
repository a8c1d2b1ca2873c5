//! Path expressions: where in a record a feature's values are.
//!
//! Knows nothing of schemas: an expression is parsed once, and compiled with a
//! schema into a [`Plan`](crate::Plan).
//!
//! ```
//! use avro_decode::path::{Path, Step};
//!
//! let path: Path = r#"friends[name.first = @name.first].cars["red one"].age:int"#.parse()?;
//! assert_eq!(path.steps.len(), 6);
//! assert_eq!(path.steps[5], Step::Branch("int".to_owned()));
//! assert_eq!(path.to_string(), "friends[name.first=@name.first].cars['red one'].age:int");
//!
//! let error = Path::parse("friends[2.age").unwrap_err();
//! assert_eq!(error.to_string(), "expected a closing ']' at character 10 of 'friends[2.age'");
//! # Ok::<(), avro_decode::path::PathError>(())
//! ```
//!
//! # Grammar
//!
//! ```text
//! expression = "@" | path ;
//! reference  = "@" | [ "@" ], path ;
//! path       = ( name | step ), { field | step } ;
//! field      = ".", name ;
//! step       = all | index | slice | key | keys | filter | branch ;
//! all        = "[", "*", "]" ;
//! index      = "[", digits, "]" ;
//! slice      = "[", [ bound ], ":", [ bound ], "]" ;
//! key        = "[", quoted, "]" ;
//! keys       = ".keys()" ;
//! filter     = "[", operand, "=", operand, "]" ;
//! branch     = ":", name ;
//!
//! operand    = [ "." ], value path | "@", root path | constant ;
//! value path = name, { field | index | key | branch } ;
//! root path  = ( name | index | key | branch ), { field | index | key | branch } ;
//! constant   = quoted | number | "true" | "false" ;
//!
//! name       = plain | quoted ;
//! plain      = ( letter | "_" ), { letter | digit | "_" } ;
//! number     = [ "+" | "-" ], digits, [ ".", digits ], [ ( "e" | "E" ), [ "+" | "-" ], digits ] ;
//! bound      = [ "-" ], digits ;
//! digits     = digit, { digit } ;
//! quoted     = "'", { character | escape }, "'" | '"', { character | escape }, '"' ;
//! escape     = "\", ( "\" | "'" | '"' ) ;
//! ```
//!
//! Letters and digits are those of ASCII; a character is any of Unicode but the
//! backslash and the quote that it stands between. White space (of ASCII) may
//! stand within brackets: around what they hold, around an `=`, and around the `:`
//! of a slice.
//!
//! What the grammar leaves open:
//!
//! - `@` alone is the value of the schema itself: `@` of a file of numbers is a
//!   number. A path whose first step is no name starts from that value, too: of
//!   a file of arrays `[*]` is all elements, of one of several records `:Rec.x`
//!   a field of one of them.
//! - `.keys()` is the step to the keys of a map. `.'keys()'` is a field.
//! - A name without quotes has no dots: `f:Rec.name` is the field `name` of the
//!   branch `Rec`. A full name stands in quotes: `f:'com.x.Rec'.name`.
//! - A name in quotes is any text: `'user-id'`, `a.'größe'`, `'a.b'`, `''`.
//! - The bounds of a slice are those of Python: counted from 0, or back from the
//!   end where they are negative; the end is not included; bounds beyond the array
//!   make the slice shorter. There is no step.
//! - A side of a filter is a single value, so that its path has neither `[*]`,
//!   nor a slice, nor a filter. At least one of the two sides is a path.
//! - A side that is a quoted text, `true` or `false`, and nothing else, is a
//!   constant. A `.` before it makes it a field of the element: `.'user-id'`,
//!   `.true`. With more steps it is a path in any case: `'user-id'.x`, `true.x`.
//! - A number with a point or an exponent is a float, any other an integer.
//!
//! Lengths are limited by [`MAX_PATH_BYTES`](crate::limits::MAX_PATH_BYTES) and
//! [`MAX_PATH_STEPS`](crate::limits::MAX_PATH_STEPS).
//!
//! # Printing
//!
//! All types print as they are parsed, without white space, and with `'` for
//! quotes; what was parsed prints to a text that parses to the same. Paths that
//! were put together by hand print to such a text where the grammar has one.

mod error;
mod parse;
mod print;
mod slice;

use std::str::FromStr;

pub use error::{PathError, PathErrorKind, Side};
pub use print::field_step;
pub use slice::Slice;

/// A parsed expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    /// The steps from the record, or whatever the schema is; none for the value
    /// itself.
    pub steps: Vec<Step>,
}

/// A step of a [`Path`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Step {
    /// `name`, `.name`, `.'any name'`: a field of a record. A namespace before the name is a
    /// field step each, which the schema tells apart.
    Field(String),
    /// `[2]`: one element of an array, counted from 0.
    Index(u64),
    /// `[*]`: all elements of an array, all values of a map.
    All,
    /// `[0:4]`: a run of an array's elements.
    Slice(Slice),
    /// `.keys()`: all keys of a map, in the order of its values.
    Keys,
    /// `['key']`: one value of a map.
    Key(String),
    /// `[left=right]`: the elements for which that holds.
    Filter(Filter),
    /// `:type`: a branch of a union, by the name of its type.
    Branch(String),
}

impl Step {
    /// Whether the step leads to any number of values, which are a dimension.
    pub fn is_list(&self) -> bool {
        matches!(
            self,
            Step::All | Step::Slice(_) | Step::Keys | Step::Filter(_)
        )
    }
}

/// What the elements that a filter keeps have in common.
#[derive(Clone, Debug, PartialEq)]
pub struct Filter {
    /// Left of the `=`.
    pub left: Operand,
    /// Right of it.
    pub right: Operand,
}

/// A side of a [`Filter`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Operand {
    /// A value of the element.
    Element(Path),
    /// `@path`: a value of the whole record.
    Root(Path),
    /// A value that stands in the expression.
    Constant(Constant),
}

/// A constant of a filter.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Constant {
    /// `'text'`: compared with strings, bytes, fixed and enum symbols.
    String(String),
    /// `12`, compared with numbers.
    Integer(i64),
    /// `1.5`, compared with numbers.
    Float(f64),
    /// `true` or `false`, compared with booleans.
    Boolean(bool),
}

/// A path with a start: `@path` starts from the record, `path` from where it
/// is used.
#[derive(Clone, Debug, PartialEq)]
pub struct Reference {
    /// Whether it starts from the record.
    pub from_root: bool,
    /// The way from there.
    pub path: Path,
}

impl Path {
    /// Parses an expression by the [grammar](self#grammar).
    ///
    /// # Errors
    /// The text is not an expression, or beyond a limit.
    pub fn parse(text: &str) -> Result<Path, PathError> {
        parse::path(text)
    }
}

impl Reference {
    /// Parses an expression, or one after an `@`, by the
    /// [grammar](self#grammar).
    ///
    /// # Errors
    /// The text is neither, or beyond a limit.
    pub fn parse(text: &str) -> Result<Reference, PathError> {
        parse::reference(text)
    }
}

impl FromStr for Path {
    type Err = PathError;

    /// As [`Path::parse`].
    fn from_str(text: &str) -> Result<Path, PathError> {
        Path::parse(text)
    }
}

impl FromStr for Reference {
    type Err = PathError;

    /// As [`Reference::parse`].
    fn from_str(text: &str) -> Result<Reference, PathError> {
        Reference::parse(text)
    }
}
