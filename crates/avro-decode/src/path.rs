//! Path expressions: where in a record a feature's values are.
//!
//! Knows nothing of schemas: an expression is parsed once, and compiled with a
//! schema into a [`Plan`](crate::Plan).

use std::fmt;

/// A parsed expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    /// The steps from the record; the first is a field.
    pub steps: Vec<Step>,
}

/// A step of a [`Path`].
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// `name`, `.name`: a field of a record. A namespace before the name is a
    /// field step each, which the schema tells apart.
    Field(String),
    /// `[2]`: one element of an array, counted from 0.
    Index(u64),
    /// `[*]`: all elements of an array, all values of a map.
    All,
    /// `['key']`: one value of a map.
    Key(String),
    /// `[left=right]`: the elements for which that holds.
    Filter(Filter),
    /// `:type`: a branch of a union, by the name of its type.
    Branch(String),
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

impl fmt::Display for Path {
    fn fmt(&self, _f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Ok(())
    }
}
