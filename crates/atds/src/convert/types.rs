//! Types and values without the unions around them.

use avro_decode::Value;
use avro_decode::schema::{Node, NodeId, Record, Schema};

use super::ConvertError;
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

/// Counts the fields that flattening makes. Named types may stand in several places, so they may be
/// exponentially more than the schema has.
#[derive(Default)]
pub(super) struct Flattened {
    fields: usize,
    bytes: usize,
    /// Whether records may be in records of their own type, whose fields are known from the values alone.
    pub(super) is_recursive: bool,
}

impl Flattened {
    /// Maximum number of fields, as of the keys that a schema is made for.
    const MAX_FIELDS: usize = 1 << 16;
    /// Maximum length of their names together: 256 bytes each, which few have.
    const MAX_BYTES: usize = 1 << 24;

    /// Counts the fields of `record`, which is at `name`, before their names are made.
    ///
    /// # Errors
    /// There are too many.
    pub(super) fn add(&mut self, name: &str, record: &Record) -> Result<(), ConvertError> {
        self.fields += record.fields.len();
        let names = record
            .fields
            .iter()
            .map(|field| name.len() + 1 + field.name.len());
        self.bytes = names.fold(self.bytes, usize::saturating_add);
        match self.fields <= Self::MAX_FIELDS && self.bytes <= Self::MAX_BYTES {
            true => Ok(()),
            false => Err(ConvertError::TooManyFields {
                fields: Self::MAX_FIELDS,
                bytes: Self::MAX_BYTES,
            }),
        }
    }
}
