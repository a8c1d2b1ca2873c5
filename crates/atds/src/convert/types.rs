//! Types and values without the unions around them.

use avro_decode::Value;
use avro_decode::schema::{Node, NodeId, Schema};

use super::losses::LossKind;

/// A value without its unions.
pub(super) enum Branch<'v> {
    Null,
    /// The union has several types besides null, so that the type is not known later.
    Several,
    Value(NodeId, &'v Value),
}

/// A value of type `ty` without its union.
pub(super) fn branch<'v>(schema: &Schema, ty: NodeId, value: &'v Value) -> Branch<'v> {
    match (schema.node(ty), value) {
        (Node::Union(branches), Value::Union(taken, value)) => {
            let ty = branches[*taken];
            match schema.node(ty) {
                Node::Null => Branch::Null,
                _ if others(schema, branches).nth(1).is_some() => Branch::Several,
                _ => Branch::Value(ty, value),
            }
        }
        (Node::Null, _) => Branch::Null,
        _ => Branch::Value(ty, value),
    }
}

/// The branches of a union besides null.
fn others(schema: &Schema, branches: &[NodeId]) -> impl Iterator<Item = NodeId> {
    let is_other = |ty: &&NodeId| *schema.node(**ty) != Node::Null;
    branches.iter().filter(is_other).copied()
}

/// The type of values that may be null, if it is one.
pub(super) fn single(schema: &Schema, ty: NodeId) -> Result<&Node, LossKind> {
    match schema.node(ty) {
        Node::Union(branches) => {
            let mut others = others(schema, branches);
            match (others.next(), others.next()) {
                (Some(ty), None) => Ok(schema.node(ty)),
                (None, _) => Err(LossKind::Null),
                _ => Err(LossKind::Union),
            }
        }
        node => Ok(node),
    }
}
