//! Values that both the data and expressions use, so that filters match.

use avro_decode::path::Constant;
use avro_decode::schema::Node;

use super::Source;

/// Strings.
pub(super) const TEXTS: [&str; 8] = ["", "a", "b", "A", "é水", "it's", "\\", "12"];

/// The operand type of both sides of a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sort {
    Text,
    Number,
    Boolean,
}

impl Sort {
    pub(super) fn of(node: &Node) -> Option<Sort> {
        match node {
            Node::String | Node::Bytes | Node::Fixed(_) | Node::Enum(_) => Some(Sort::Text),
            Node::Int | Node::Long | Node::Float | Node::Double => Some(Sort::Number),
            Node::Boolean => Some(Sort::Boolean),
            _ => None,
        }
    }

    pub(super) fn constant(self, source: &mut Source) -> Constant {
        match self {
            Sort::Text => Constant::String(source.one_of(&TEXTS).to_owned()),
            Sort::Boolean => Constant::Boolean(source.flag()),
            Sort::Number => match source.below(8) {
                0..4 => Constant::Integer(source.below(4) as i64),
                4 => Constant::Integer(source.one_of(&[16_777_217, 16_777_216, i64::MIN, -1])),
                _ => Constant::Float(source.one_of(&[0.1, 1.0, 0.0, -0.0, 16_777_217.0, 1e30])),
            },
        }
    }
}
