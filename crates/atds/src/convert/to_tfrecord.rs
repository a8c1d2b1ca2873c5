//! Records as messages of TFRecord: fields become keys.
//!
//! A field that is null is a missing key, a single value a list of one, an array of arrays a feature list.

use std::collections::HashSet;

use atds_tfrecord::{Example, FeatureValues};
use avro_decode::Value;
use avro_decode::limits::DEEPEST;
use avro_decode::schema::{Node, NodeId, Schema};

use super::ConvertError;
use super::losses::{LossKind, Losses};
use super::names::Table;
use super::types::{Branch, Flattened, branch, single};
use crate::Error;

/// Makes messages of the records of a table.
pub(super) struct ToExample {
    schema: Schema,
    names: Vec<String>,
    flattens: bool,
    /// Whether a field is an array of arrays: all messages are then of one kind.
    has_lists: bool,
    /// Whether a record may have keys that the schema does not tell.
    is_recursive: bool,
}

impl ToExample {
    /// # Errors
    /// Two fields have one key, or flattened records have too many.
    pub(super) fn new(table: &Table, flattens: bool) -> Result<Self, Error> {
        let schema = table.schema.clone();
        let mut keys = Vec::new();
        let mut flattened = flattens.then(Flattened::default);
        for (field, name) in table.record().fields.iter().zip(&table.names) {
            let (inside, field) = (&mut Vec::new(), (&**name, field.ty));
            add_keys(&schema, field, &mut flattened, inside, &mut keys)?;
        }
        let has_lists = keys.iter().any(|(_, is_list)| *is_list);
        keys.sort_unstable();
        if let Some(twice) = keys.windows(2).find(|pair| pair[0] == pair[1]) {
            let name = twice[0].0.clone();
            return Err(ConvertError::SameKey { name }.into());
        }
        Ok(ToExample {
            schema,
            names: table.names.clone(),
            flattens,
            has_lists,
            is_recursive: flattened.is_some_and(|all| all.is_recursive),
        })
    }

    /// The message of a record.
    ///
    /// # Errors
    /// A value has no place, and losses are not allowed; two values have one key.
    pub(super) fn example(&self, record: &Value, losses: &mut Losses) -> Result<Example, Error> {
        let mut example = Example {
            features: Vec::new(),
            feature_lists: self.has_lists.then(Vec::new),
        };
        let (Node::Record(types), Value::Record(values)) =
            (self.schema.node(self.schema.root()), record)
        else {
            unreachable!("the table has records");
        };
        for ((field, value), name) in types.fields.iter().zip(values).zip(&self.names) {
            self.field(name, field.ty, value, &mut example, losses)?;
        }
        if self.is_recursive
            && let Some(name) = twice(&example)
        {
            let error = ConvertError::SameKey { name: name.clone() };
            return Err(losses.error(&name, error));
        }
        Ok(example)
    }

    fn field(
        &self,
        name: &str,
        ty: NodeId,
        value: &Value,
        example: &mut Example,
        losses: &mut Losses,
    ) -> Result<(), Error> {
        let (ty, value) = match branch(&self.schema, ty, value) {
            Branch::Null => return Ok(()),
            Branch::Several => return losses.add(name, LossKind::Union),
            Branch::Value(ty, value) => (ty, value),
        };
        match (self.schema.node(ty), value) {
            (Node::Record(types), Value::Record(values)) if self.flattens => {
                for (field, value) in types.fields.iter().zip(values) {
                    let name = format!("{name}.{}", field.name);
                    self.field(&name, field.ty, value, example, losses)?;
                }
            }
            (Node::Record(_), _) => losses.add(name, LossKind::NestedRecord)?,
            (Node::Map(_), _) => losses.add(name, LossKind::Map)?,
            (&Node::Array(items), Value::Array(values)) => {
                if let Some(inner) = array_of(&self.schema, items) {
                    if let Err(kind) = single(&self.schema, inner).and_then(empty_list) {
                        return losses.add(name, kind);
                    }
                    let steps = values.iter();
                    let steps = steps.map(|step| self.step(name, (items, inner), step, losses));
                    let steps = steps.collect::<Result<_, _>>()?;
                    if let Some(lists) = &mut example.feature_lists {
                        lists.push((name.to_owned(), steps));
                    }
                } else if let Some(values) = self.list(name, items, values, losses)? {
                    example.features.push((name.to_owned(), values));
                }
            }
            _ => {
                let values = std::slice::from_ref(value);
                if let Some(values) = self.list(name, ty, values, losses)? {
                    example.features.push((name.to_owned(), values));
                }
            }
        }
        Ok(())
    }

    /// A step of a feature list, whose items are of type `inner`. A null is a step without a kind.
    fn step(
        &self,
        name: &str,
        (ty, inner): (NodeId, NodeId),
        value: &Value,
        losses: &mut Losses,
    ) -> Result<Option<FeatureValues>, Error> {
        match branch(&self.schema, ty, value) {
            Branch::Value(_, Value::Array(values)) => self.list(name, inner, values, losses),
            _ => Ok(None),
        }
    }

    /// The values of a list whose items are of type `ty`. `None` if they have no place.
    fn list(
        &self,
        name: &str,
        ty: NodeId,
        values: &[Value],
        losses: &mut Losses,
    ) -> Result<Option<FeatureValues>, Error> {
        let mut found = match single(&self.schema, ty) {
            Ok(node) => match empty_list(node) {
                Ok(list) => list,
                Err(kind) => return losses.add(name, kind).map(|()| None),
            },
            Err(kind) => return losses.add(name, kind).map(|()| None),
        };
        for value in values {
            let (ty, value) = match branch(&self.schema, ty, value) {
                Branch::Value(ty, value) => (ty, value),
                _ => {
                    losses.add(name, LossKind::Null)?;
                    continue;
                }
            };
            match (&mut found, value) {
                (FeatureValues::Int64(list), &Value::Boolean(value)) => list.push(value.into()),
                (FeatureValues::Int64(list), &Value::Int(value)) => list.push(value.into()),
                (FeatureValues::Int64(list), &Value::Long(value)) => list.push(value),
                (FeatureValues::Float(list), &Value::Float(value)) => list.push(value),
                (FeatureValues::Float(list), &Value::Double(value)) => {
                    let rounded = value as f32;
                    if f64::from(rounded) != value && !value.is_nan() {
                        let kind = match rounded.is_infinite() {
                            true => LossKind::Infinite,
                            false => LossKind::Rounded,
                        };
                        losses.add_number(name, kind, value)?;
                    }
                    list.push(rounded);
                }
                (FeatureValues::Bytes(list), Value::Bytes(bytes) | Value::Fixed(bytes)) => {
                    list.push(bytes.clone());
                }
                (FeatureValues::Bytes(list), Value::String(text)) => {
                    list.push(text.clone().into_bytes());
                }
                (FeatureValues::Bytes(list), &Value::Enum(index)) => {
                    if let Node::Enum(symbols) = self.schema.node(ty) {
                        list.push(symbols.symbols[index as usize].clone().into_bytes());
                    }
                }
                _ => unreachable!("the value is of the schema"),
            }
        }
        Ok(Some(found))
    }
}

/// A key that a message has twice, of which readers see the last one alone.
fn twice(example: &Example) -> Option<String> {
    let keys = example.features.iter().map(|(key, _)| (key, false));
    let lists = example.feature_lists.iter().flatten();
    let lists = lists.map(|(key, _)| (key, true));
    let mut seen = HashSet::new();
    let mut all = keys.chain(lists);
    all.find(|key| !seen.insert(*key))
        .map(|(key, _)| key.clone())
}

/// A list without values of the kind that a type has.
fn empty_list(node: &Node) -> Result<FeatureValues, LossKind> {
    Ok(match node {
        Node::Boolean | Node::Int | Node::Long => FeatureValues::Int64(Vec::new()),
        Node::Float | Node::Double => FeatureValues::Float(Vec::new()),
        Node::Bytes | Node::String | Node::Enum(_) | Node::Fixed(_) => {
            FeatureValues::Bytes(Vec::new())
        }
        Node::Null => return Err(LossKind::Null),
        Node::Array(_) => return Err(LossKind::Array),
        Node::Map(_) => return Err(LossKind::Map),
        Node::Record(_) => return Err(LossKind::NestedRecord),
        Node::Union(_) => return Err(LossKind::Union),
    })
}

/// The items of an array that may be null.
fn array_of(schema: &Schema, ty: NodeId) -> Option<NodeId> {
    match single(schema, ty) {
        Ok(&Node::Array(items)) => Some(items),
        _ => None,
    }
}

/// Adds the keys that the values of a field may have, and whether each is that of a feature list.
fn add_keys(
    schema: &Schema,
    (name, ty): (&str, NodeId),
    flattened: &mut Option<Flattened>,
    inside: &mut Vec<NodeId>,
    keys: &mut Vec<(String, bool)>,
) -> Result<(), ConvertError> {
    match single(schema, ty) {
        Ok(&Node::Array(items)) => {
            let inner = array_of(schema, items);
            let is_kind = |inner| single(schema, inner).and_then(empty_list).is_ok();
            keys.push((name.to_owned(), inner.is_some_and(is_kind)));
        }
        Ok(Node::Record(record)) => match flattened {
            Some(all) if !inside.contains(&ty) && inside.len() < DEEPEST => {
                all.add(name, record)?;
                inside.push(ty);
                for field in &record.fields {
                    let name = format!("{name}.{}", field.name);
                    add_keys(schema, (&name, field.ty), flattened, inside, keys)?;
                }
                inside.pop();
            }
            stops => {
                if let Some(all) = stops {
                    all.is_recursive = true;
                }
                keys.push((name.to_owned(), false));
            }
        },
        _ => keys.push((name.to_owned(), false)),
    }
    Ok(())
}
