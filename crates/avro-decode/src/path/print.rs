//! Paths as text, which parses to the same paths.

use std::fmt::{self, Display, Formatter, Write as _};

use super::parse::name_length;
use super::{Constant, Filter, Operand, Path, Reference, Step};

impl Display for Path {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (i, step) in self.steps.iter().enumerate() {
            match step {
                Step::Field(name) if i == 0 => f.write_str(name),
                Step::Field(name) => write!(f, ".{name}"),
                Step::Index(index) => write!(f, "[{index}]"),
                Step::All => f.write_str("[*]"),
                Step::Key(key) => write!(f, "[{}]", Quoted(key)),
                Step::Filter(filter) => write!(f, "[{filter}]"),
                Step::Branch(name) if is_name(name) => write!(f, ":{name}"),
                Step::Branch(name) => write!(f, ":{}", Quoted(name)),
            }?;
        }
        Ok(())
    }
}

impl Display for Reference {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let at = if self.from_root { "@" } else { "" };
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

/// Whether all of a text is a name.
fn is_name(text: &str) -> bool {
    !text.is_empty() && name_length(text.as_bytes()) == text.len()
}

/// A text in quotes.
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
