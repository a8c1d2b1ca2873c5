//! Prints paths as text that parses to the same paths.

use std::borrow::Cow;
use std::fmt::{self, Display, Formatter, Write as _};

use super::parse::{is_boolean, name_length};
use super::{Constant, Filter, Operand, Path, Reference, Step};

/// The text of a step to the field `name`: the name, in quotes unless it is plain.
///
/// ```
/// use atds_features::path::field_step;
///
/// assert_eq!(field_step("age"), "age");
/// assert_eq!(field_step("user-id"), "'user-id'");
/// assert_eq!(field_step(""), "''");
/// ```
pub fn field_step(name: &str) -> Cow<'_, str> {
    if is_name(name) {
        Cow::Borrowed(name)
    } else {
        Cow::Owned(Quoted(name).to_string())
    }
}

/// Prints a step as in a path, without the dot before a field.
impl Display for Step {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Step::Field(name) => f.write_str(&field_step(name)),
            Step::Index(index) => write!(f, "[{index}]"),
            Step::All => f.write_str("[*]"),
            Step::Slice(slice) => write!(f, "[{slice}]"),
            Step::Keys => f.write_str(".keys()"),
            Step::Key(key) => write!(f, "[{}]", Quoted(key)),
            Step::SomeKeys(keys) => {
                let mut before = '[';
                for key in keys {
                    write!(f, "{before}{}", Quoted(key))?;
                    before = ',';
                }
                f.write_char(']')
            }
            Step::Filter(filter) => write!(f, "[{filter}]"),
            Step::Branch(name) => write!(f, ":{}", field_step(name)),
        }
    }
}

impl Display for Path {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.steps.is_empty() {
            return f.write_char('@');
        }
        for (i, step) in self.steps.iter().enumerate() {
            let dot = if i > 0 && matches!(step, Step::Field(_)) {
                "."
            } else {
                ""
            };
            write!(f, "{dot}{step}")?;
        }
        Ok(())
    }
}

impl Display for Reference {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let is_all = self.path.steps.is_empty();
        let at = if self.from_root && !is_all { "@" } else { "" };
        write!(f, "{at}{}", self.path)
    }
}

impl Display for Filter {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.left, self.right)
    }
}

impl Display for Operand {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Operand::Element(path) if looks_like_a_constant(path) => write!(f, ".{path}"),
            Operand::Element(path) => path.fmt(f),
            Operand::Root(path) => write!(f, "@{path}"),
            Operand::Constant(constant) => constant.fmt(f),
        }
    }
}

impl Display for Constant {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Constant::String(text) => Quoted(text).fmt(f),
            Constant::Integer(number) => write!(f, "{number}"),
            // Unlike `{}`, this always has a point or an exponent.
            Constant::Float(number) => write!(f, "{number:?}"),
            Constant::Boolean(truth) => write!(f, "{truth}"),
        }
    }
}

/// Whether a path without a leading `.` would parse as a constant, or begin like one.
fn looks_like_a_constant(path: &Path) -> bool {
    match path.steps.as_slice() {
        [Step::Field(word)] if is_boolean(word) => true,
        [Step::Field(name), ..] => !is_name(name),
        _ => false,
    }
}

/// Whether all of a text is a plain name.
fn is_name(text: &str) -> bool {
    !text.is_empty() && name_length(text.as_bytes()) == text.len()
}

/// Displays a text in quotes.
struct Quoted<'a>(&'a str);

impl Display for Quoted<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_char('\'')?;
        for c in self.0.chars() {
            if matches!(c, '\\' | '\'') {
                f.write_char('\\')?;
            }
            f.write_char(c)?;
        }
        f.write_char('\'')
    }
}
