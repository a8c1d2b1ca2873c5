//! Filters: they select elements of a list.

use atds_features::TimeUnit;
use atds_features::path::{Constant, Filter, Operand};

use super::follow::{Found, TypedValue};
use crate::plan::MeaningOf;
use crate::reference::convert::{in_unit, string, unit_of, whole};
use crate::schema::{LogicalType, Node};
use crate::{Meaning, Value};

/// Whether `filter` keeps `element` of the record `root`. It does not if the element is null, or a
/// side is missing.
pub(super) fn is_kept(filter: &Filter, element: TypedValue<'_>, root: TypedValue<'_>) -> bool {
    if matches!(element.resolve(), Found::Missing(_)) {
        return false;
    }
    let side = |operand: &Operand| match operand {
        Operand::Element(path) => {
            let of = MeaningOf::operand(root.context.checked, path);
            Side::found(element.follow(&path.steps, root), &of)
        }
        Operand::Root(path) => {
            let of = MeaningOf::root_operand(path);
            Side::found(root.follow(&path.steps, root), &of)
        }
        Operand::Constant(constant) => Some(Side::constant(constant)),
    };
    match (side(&filter.left), side(&filter.right)) {
        (Some(left), Some(right)) => left.equals(&right),
        _ => false,
    }
}

/// A side of a filter.
enum Side {
    Text(Vec<u8>),
    Boolean(bool),
    Integer(i64),
    Float(f32),
    Double(f64),
    /// A constant. It is rounded for a comparison with a `float`.
    Decimals(f64),
}

impl Side {
    fn constant(constant: &Constant) -> Side {
        match constant {
            Constant::String(text) => Side::Text(text.clone().into()),
            Constant::Integer(number) => Side::Integer(*number),
            Constant::Float(number) => Side::Decimals(*number),
            Constant::Boolean(value) => Side::Boolean(*value),
        }
    }

    fn found(found: Found<'_>, of: &MeaningOf) -> Option<Side> {
        let Found::At(typed) = found else {
            return None;
        };
        if typed.schema.logical(typed.ty) == Some(&LogicalType::Uuid) {
            return Some(Side::Text(string(typed.schema, typed.ty, typed.value)));
        }
        if let Some((from, to)) = units(typed, of) {
            // A time that overflows in the column's unit equals no time of the column.
            return in_unit(whole(typed.value), from, to).map(Side::Integer);
        }
        Some(match (typed.value, typed.node()) {
            (Value::String(text), _) => Side::Text(text.clone().into()),
            (Value::Bytes(bytes) | Value::Fixed(bytes), _) => Side::Text(bytes.clone()),
            (&Value::Enum(symbol), Node::Enum(ty)) => {
                Side::Text(ty.symbols[symbol as usize].clone().into())
            }
            (&Value::Boolean(value), _) => Side::Boolean(value),
            (&Value::Int(number), _) => Side::Integer(number.into()),
            (&Value::Long(number), _) => Side::Integer(number),
            (&Value::Float(number), _) => Side::Float(number),
            (&Value::Double(number), _) => Side::Double(number),
            (value, _) => panic!("a filter compares no {}", value.type_name()),
        })
    }

    fn equals(&self, other: &Side) -> bool {
        match (self, other) {
            (Side::Text(left), Side::Text(right)) => left == right,
            (Side::Boolean(left), Side::Boolean(right)) => left == right,
            (Side::Integer(left), Side::Integer(right)) => left == right,
            (Side::Float(left), Side::Decimals(right))
            | (Side::Decimals(right), Side::Float(left)) => *left == *right as f32,
            (&Side::Integer(integer), other) | (other, &Side::Integer(integer)) => {
                let float = other.float();
                // Beyond 128 bits, `as` saturates, and the result equals no long.
                float.fract() == 0.0 && float as i128 == i128::from(integer)
            }
            (left, right) => left.float() == right.float(),
        }
    }

    fn float(&self) -> f64 {
        match *self {
            Side::Float(number) => number.into(),
            Side::Double(number) | Side::Decimals(number) => number,
            _ => panic!("a filter compares what is alike"),
        }
    }
}

/// The unit of a time, and the unit in which it is compared or used as an index.
pub(super) fn units(typed: TypedValue<'_>, of: &MeaningOf) -> Option<(TimeUnit, TimeUnit)> {
    let from = unit_of(typed.schema.logical(typed.ty)?)?;
    match typed.context.meanings.of(of) {
        Some(&Meaning::Time { unit, .. }) => Some((from, unit)),
        _ => None,
    }
}
