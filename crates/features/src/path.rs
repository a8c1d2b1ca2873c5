//! Path expressions: the position of a feature's values in a record.
//!
//! This module knows nothing of schemas. An expression is parsed once. A decoder then follows it in
//! the records of a schema.
//!
//! ```
//! use atds_features::path::{Path, Step};
//!
//! let path: Path = r#"friends[name.first = @name.first].cars["red one"].age:int"#.parse()?;
//! assert_eq!(path.steps.len(), 6);
//! assert_eq!(path.steps[5], Step::Branch("int".to_owned()));
//! assert_eq!(path.to_string(), "friends[name.first=@name.first].cars['red one'].age:int");
//!
//! let error = Path::parse("friends[2.age").unwrap_err();
//! assert_eq!(error.to_string(), "expected a closing ']' at character 10 of 'friends[2.age'");
//! # Ok::<(), atds_features::path::PathError>(())
//! ```
//!
//! # Grammar
//!
//! ```text
//! expression = "@" | path ;
//! reference  = "@" | [ "@" ], path ;
//! path       = ( name | step ), { field | step } ;
//! field      = ".", name ;
//! step       = all | index | slice | key | some keys | keys | filter | branch ;
//! all        = "[", "*", "]" ;
//! index      = "[", digits, "]" ;
//! slice      = "[", [ bound ], ":", [ bound ], "]" ;
//! key        = "[", quoted, "]" ;
//! some keys  = "[", quoted, ",", quoted, { ",", quoted }, "]" ;
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
//! Letters and digits are ASCII. A character is any Unicode character but the backslash and the
//! enclosing quote. ASCII white space may stand inside brackets: around their contents, around an
//! `=`, around the `:` of a slice, and around the `,` between keys.
//!
//! Rules that the grammar does not express:
//!
//! - `@` alone is the value of the schema itself: in a file of numbers, `@` is a number. A path
//!   whose first step is not a name starts from that value too. In a file of lists, `[*]` is all
//!   elements. In a file with a union of records, `:Rec.x` is a field of one of the records.
//! - `.keys()` is the step to the keys of a map. `.'keys()'` is a field.
//! - A name without quotes has no dots: `f:Rec.name` is the field `name` of the
//!   branch `Rec`. A full name stands in quotes: `f:'com.x.Rec'.name`.
//! - A name in quotes may be any text: `'user-id'`, `a.'größe'`, `'a.b'`, `''`.
//! - The bounds of a slice are as in Python. They count from 0, or from the end if they are
//!   negative. The end is excluded. Bounds beyond the list make the slice shorter. There is no
//!   step.
//! - A side of a filter is a single value, so its path has no `[*]`, no slice and no filter. At
//!   least one of the two sides is a path.
//! - A side that is only a quoted text, `true` or `false` is a constant. A `.` before it makes it a
//!   field of the element: `.'user-id'`, `.true`. With more steps it is always a path:
//!   `'user-id'.x`, `true.x`.
//! - A number with a point or an exponent is a float, any other an integer.
//!
//! Lengths are limited by [`MAX_PATH_BYTES`](crate::limits::MAX_PATH_BYTES) and
//! [`MAX_PATH_STEPS`](crate::limits::MAX_PATH_STEPS).
//!
//! # Printing
//!
//! All types print in their own syntax, without white space, and with `'` for quotes. A parsed path
//! prints to a text that parses to the same path. A path built by hand prints to such a text if the
//! grammar can express it.

mod error;
mod parse;
mod print;
mod slice;

use std::str::FromStr;

pub use error::{PathError, PathErrorKind, Side};
pub use print::field_step;
pub use slice::Slice;

/// A parsed path expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    /// The steps from the root value, usually a record; empty for the root value itself.
    pub steps: Vec<Step>,
}

/// A step of a [`Path`].
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// `name`, `.name`, `.'any name'`: a field of a record. In a name with a namespace, each part
    /// is a field step of its own, and the schema tells them apart.
    Field(String),
    /// `[2]`: one element of a list, from 0.
    Index(u64),
    /// `[*]`: all elements of a list, all values of a map.
    All,
    /// `[0:4]`: a range of a list's elements.
    Slice(Slice),
    /// `.keys()`: all keys of a map, in the order of its values.
    Keys,
    /// `['key']`: one value of a map.
    Key(String),
    /// `['a', 'b']`: several values, by their keys and in the order of these. Columns of a table with labels
    /// have it; maps do not.
    SomeKeys(Vec<String>),
    /// `[left=right]`: the elements for which both sides are equal.
    Filter(Filter),
    /// `:type`: a branch of a union, by the name of its type.
    Branch(String),
}

impl Step {
    /// Whether the step leads to a list of values, which adds a dimension.
    pub fn is_list(&self) -> bool {
        matches!(
            self,
            Step::All | Step::Slice(_) | Step::SomeKeys(_) | Step::Keys | Step::Filter(_)
        )
    }
}

/// The condition of a filter: it keeps the elements whose two sides are equal.
#[derive(Clone, Debug, PartialEq)]
pub struct Filter {
    /// The side before the `=`.
    pub left: Operand,
    /// The side after the `=`.
    pub right: Operand,
}

/// A side of a [`Filter`].
#[derive(Clone, Debug, PartialEq)]
pub enum Operand {
    /// A path from the element.
    Element(Path),
    /// `@path`: a path from the root of the record.
    Root(Path),
    /// A constant in the expression.
    Constant(Constant),
}

/// A constant of a filter.
#[derive(Clone, Debug, PartialEq)]
pub enum Constant {
    /// `'text'`: compared with strings, bytes and enum symbols.
    String(String),
    /// `12`, compared with numbers.
    Integer(i64),
    /// `1.5`, compared with numbers.
    Float(f64),
    /// `true` or `false`, compared with booleans.
    Boolean(bool),
}

/// A path and its start: `@path` starts from the root, `path` from the current value.
#[derive(Clone, Debug, PartialEq)]
pub struct Reference {
    /// Whether it starts from the root.
    pub from_root: bool,
    /// The path from the start.
    pub path: Path,
}

impl Path {
    /// Number of dimensions that the path adds: one for each `[*]`, slice, list of keys, `.keys()` and filter.
    pub fn lists(&self) -> usize {
        self.steps.iter().filter(|step| step.is_list()).count()
    }

    /// Parses an expression by the [grammar](self#grammar).
    ///
    /// # Errors
    /// If the text is not an expression, or exceeds a limit.
    pub fn parse(text: &str) -> Result<Path, PathError> {
        parse::path(text)
    }
}

impl Reference {
    /// Parses an expression, or one after an `@`, by the
    /// [grammar](self#grammar).
    ///
    /// # Errors
    /// If the text is not an expression with or without `@`, or exceeds a limit.
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
