//! Paths built by hand.

use atds_features::path::{Constant, Filter, Operand, Path, Step};

pub(crate) fn path(steps: impl Into<Vec<Step>>) -> Path {
    Path {
        steps: steps.into(),
    }
}

/// A path of fields; `names` joins them with dots.
pub(crate) fn fields(names: &str) -> Path {
    path(names.split('.').map(field).collect::<Vec<_>>())
}

pub(crate) fn field(name: &str) -> Step {
    Step::Field(name.to_owned())
}

pub(crate) fn key(key: &str) -> Step {
    Step::Key(key.to_owned())
}

pub(crate) fn branch(name: &str) -> Step {
    Step::Branch(name.to_owned())
}

pub(crate) fn filter(left: Operand, right: Operand) -> Step {
    Step::Filter(Filter { left, right })
}

pub(crate) fn element(path: Path) -> Operand {
    Operand::Element(path)
}

pub(crate) fn root(path: Path) -> Operand {
    Operand::Root(path)
}

pub(crate) fn string(text: &str) -> Operand {
    Operand::Constant(Constant::String(text.to_owned()))
}

pub(crate) fn integer(number: i64) -> Operand {
    Operand::Constant(Constant::Integer(number))
}

pub(crate) fn float(number: f64) -> Operand {
    Operand::Constant(Constant::Float(number))
}

pub(crate) fn boolean(truth: bool) -> Operand {
    Operand::Constant(Constant::Boolean(truth))
}
