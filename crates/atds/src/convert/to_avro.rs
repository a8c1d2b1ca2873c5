//! Messages of TFRecord as records of a schema.
//!
//! This is the way back of [`to_tfrecord`](super::to_tfrecord): a missing key is a null or an empty array, a list
//! of one a single value, a feature list an array of arrays.

use std::collections::HashMap;

use atds_tfrecord::{Example, FeatureValues, Kind};
use avro_decode::Value;
use avro_decode::schema::{Node, NodeId, Schema};
use serde_json::{Value as Json, json};

use super::ConvertError;
use super::losses::{LossKind, Losses};
use super::names::Table;
use crate::Error;

/// Maximum number of keys that a schema is made for: more are the values of a key that is data.
const MAX_KEYS: usize = 1 << 16;

/// What the records of a file have of each key.
#[derive(Default)]
pub(super) struct Keys {
    records: u64,
    /// The numbers of the keys: of the context or an `Example`, and of feature lists.
    numbers: [HashMap<String, usize>; 2],
    /// In the order of their first records.
    seen: Vec<Seen>,
}

struct Seen {
    name: String,
    is_list: bool,
    kind: Option<Kind>,
    has_several: bool,
    /// Number of records that have it, and of those that have one value.
    records: u64,
    single: u64,
}

impl Keys {
    /// Adds a message.
    ///
    /// # Errors
    /// There are too many keys.
    pub(super) fn add(&mut self, example: &Example) -> Result<(), ConvertError> {
        self.records += 1;
        for (key, values) in &example.features {
            let seen = self.seen(key, false)?;
            seen.records += 1;
            seen.single += u64::from(values.len() == 1);
            seen.add(values.kind());
        }
        for (key, steps) in example.feature_lists.iter().flatten() {
            let seen = self.seen(key, true)?;
            seen.records += 1;
            steps
                .iter()
                .flatten()
                .for_each(|step| seen.add(step.kind()));
        }
        Ok(())
    }

    fn seen(&mut self, key: &str, is_list: bool) -> Result<&mut Seen, ConvertError> {
        let numbers = &mut self.numbers[usize::from(is_list)];
        let number = match numbers.get(key) {
            Some(&number) => number,
            None if self.seen.len() == MAX_KEYS => {
                return Err(ConvertError::TooManyKeys { limit: MAX_KEYS });
            }
            None => {
                let number = self.seen.len();
                numbers.insert(key.to_owned(), number);
                self.seen.push(Seen {
                    name: key.to_owned(),
                    is_list,
                    kind: None,
                    has_several: false,
                    records: 0,
                    single: 0,
                });
                number
            }
        };
        Ok(&mut self.seen[number])
    }

    /// A schema with a field for each key whose values have one kind.
    ///
    /// # Errors
    /// No schema has so many fields.
    pub(super) fn table(&self) -> Result<Table, Error> {
        let is_sequence = self.seen.iter().any(|seen| seen.is_list);
        let fields = self.seen.iter().filter(|seen| !seen.has_several);
        let fields = fields.map(|seen| {
            // A feature list without values has no kind: any fits.
            let items = json!(match seen.kind {
                Some(Kind::Int64) => "long",
                Some(Kind::Float) => "float",
                Some(Kind::Bytes) | None => "bytes",
            });
            let array = |items: Json| json!({"type": "array", "items": items});
            let ty = match (seen.is_list, seen.single == seen.records) {
                (true, _) => array(array(items)),
                (false, true) => items,
                (false, false) => array(items),
            };
            (seen.name.clone(), ty, seen.records < self.records)
        });
        let name = if is_sequence {
            "SequenceExample"
        } else {
            "Example"
        };
        Table::of_fields(name, &fields.collect::<Vec<_>>())
    }
}

impl Seen {
    fn add(&mut self, kind: Kind) {
        let before = *self.kind.get_or_insert(kind);
        self.has_several |= before != kind;
    }
}

/// Makes records of messages.
pub(super) struct FromExample {
    /// For each field, its number among those of its name: a key may also be that of a feature list.
    fields: Vec<(String, bool)>,
    /// Keys of several kinds are not in the schema, and no unknown ones.
    several: Vec<(String, bool)>,
}

impl FromExample {
    pub(super) fn new(table: &Table, keys: Option<&Keys>) -> Self {
        let fields = table.record().fields.iter().zip(&table.names);
        let fields = fields.map(|(field, name)| (name.clone(), is_list(&table.schema, field.ty)));
        let several = keys.iter().flat_map(|keys| &keys.seen);
        let several = several.filter(|seen| seen.has_several);
        let several = several.map(|seen| (seen.name.clone(), seen.is_list));
        FromExample {
            fields: fields.collect(),
            several: several.collect(),
        }
    }

    /// The record of a message.
    ///
    /// # Errors
    /// A value does not fit the schema; a key is not in it, and losses are not allowed.
    pub(super) fn record(
        &self,
        table: &Table,
        example: Example,
        losses: &mut Losses,
    ) -> Result<Value, Error> {
        let mut features: HashMap<String, FeatureValues> = example.features.into_iter().collect();
        let lists = example.feature_lists.unwrap_or_default();
        let mut lists: HashMap<String, Vec<Option<FeatureValues>>> = lists.into_iter().collect();
        let mut record = Vec::with_capacity(self.fields.len());
        for (field, (name, is_list)) in table.record().fields.iter().zip(&self.fields) {
            let (schema, ty) = (&table.schema, field.ty);
            let value = match is_list {
                true => feature_list(schema, ty, lists.remove(name), name, losses)?,
                false => {
                    let found = features.remove(name);
                    feature(schema, ty, found).map_err(|error| losses.error(name, error))?
                }
            };
            record.push(value);
        }
        let left = features.into_keys().map(|key| (key, false));
        let mut left: Vec<_> = left
            .chain(lists.into_keys().map(|key| (key, true)))
            .collect();
        left.sort();
        for key in left {
            let kind = match self.several.contains(&key) {
                true => LossKind::SeveralKinds,
                false => LossKind::UnknownKey,
            };
            losses.add(&key.0, kind)?;
        }
        Ok(Value::Record(record))
    }
}

/// The branch of a type for values that are there, and the one for a null.
fn branches(schema: &Schema, ty: NodeId) -> (Option<usize>, NodeId, Option<usize>) {
    let Node::Union(branches) = schema.node(ty) else {
        return (None, ty, None);
    };
    let is_null = |ty: &NodeId| *schema.node(*ty) == Node::Null;
    let other = branches.iter().position(|ty| !is_null(ty));
    let null = branches.iter().position(is_null);
    (other, other.map_or(ty, |other| branches[other]), null)
}

/// Whether a field is a feature list: an array of arrays.
fn is_list(schema: &Schema, ty: NodeId) -> bool {
    let inner = |ty| match schema.node(branches(schema, ty).1) {
        Node::Array(items) => Some(*items),
        _ => None,
    };
    inner(ty).and_then(inner).is_some()
}

fn in_branch(branch: Option<usize>, value: Value) -> Value {
    match branch {
        Some(branch) => Value::Union(branch, Box::new(value)),
        None => value,
    }
}

fn missing(schema: &Schema, ty: NodeId, null: Option<usize>) -> Result<Value, ConvertError> {
    match (null, schema.node(ty)) {
        (Some(null), _) => Ok(Value::Union(null, Box::new(Value::Null))),
        (None, Node::Null) => Ok(Value::Null),
        (None, Node::Array(_)) => Ok(Value::Array(Vec::new())),
        _ => Err(no_fit(schema, ty, "no such key")),
    }
}

fn feature(
    schema: &Schema,
    field: NodeId,
    found: Option<FeatureValues>,
) -> Result<Value, ConvertError> {
    let (branch, ty, null) = branches(schema, field);
    let Some(values) = found else {
        return missing(schema, ty, null);
    };
    let value = match *schema.node(ty) {
        Node::Array(items) => array(schema, items, values)?,
        _ if values.len() == 1 => match array(schema, ty, values)? {
            Value::Array(mut values) => values.remove(0),
            value => value,
        },
        _ => {
            let found = format!("a list of {} values", values.len());
            return Err(no_fit(schema, ty, found));
        }
    };
    Ok(in_branch(branch, value))
}

fn feature_list(
    schema: &Schema,
    field: NodeId,
    found: Option<Vec<Option<FeatureValues>>>,
    name: &str,
    losses: &mut Losses,
) -> Result<Value, Error> {
    let (branch, ty, null) = branches(schema, field);
    let at = |losses: &Losses, error| losses.error(name, error);
    let Some(steps) = found else {
        return missing(schema, ty, null).map_err(|error| at(losses, error));
    };
    let &Node::Array(step) = schema.node(ty) else {
        unreachable!("feature lists are arrays of arrays");
    };
    let (step_branch, step_type, step_null) = branches(schema, step);
    let &Node::Array(items) = schema.node(step_type) else {
        unreachable!("feature lists are arrays of arrays");
    };
    let mut values = Vec::with_capacity(steps.len());
    for step in steps {
        values.push(match (step, step_null) {
            (Some(list), _) => {
                let list = array(schema, items, list).map_err(|error| at(losses, error))?;
                in_branch(step_branch, list)
            }
            (None, Some(null)) => Value::Union(null, Box::new(Value::Null)),
            (None, None) => {
                losses.add(name, LossKind::NoKind)?;
                in_branch(step_branch, Value::Array(Vec::new()))
            }
        });
    }
    Ok(in_branch(branch, Value::Array(values)))
}

/// The values of a list as items of type `items`.
fn array(schema: &Schema, items: NodeId, list: FeatureValues) -> Result<Value, ConvertError> {
    let (branch, ty, _) = branches(schema, items);
    let node = schema.node(ty);
    let item = |value: Value| in_branch(branch, value);
    let kind = list.kind();
    let values: Result<Vec<Value>, ConvertError> = match list {
        FeatureValues::Int64(values) => {
            let values = values.into_iter().map(|value| {
                let fit = match node {
                    Node::Long => Some(Value::Long(value)),
                    Node::Int => i32::try_from(value).ok().map(Value::Int),
                    Node::Boolean if value == 0 || value == 1 => Some(Value::Boolean(value == 1)),
                    _ => None,
                };
                let fit = fit.map(item);
                fit.ok_or_else(|| no_fit(schema, ty, format!("the int64 {value}")))
            });
            values.collect()
        }
        FeatureValues::Float(values) => {
            let values = values.into_iter().map(|value| match node {
                Node::Float => Ok(item(Value::Float(value))),
                Node::Double => Ok(item(Value::Double(value.into()))),
                _ => Err(no_fit(schema, ty, format!("the float {value}"))),
            });
            values.collect()
        }
        FeatureValues::Bytes(values) => {
            let values = values.into_iter().map(|bytes| {
                bytes_as(node, bytes)
                    .map(item)
                    .map_err(|found| no_fit(schema, ty, found))
            });
            values.collect()
        }
    };
    let values = values?;
    let takes = match node {
        Node::Boolean | Node::Int | Node::Long => Kind::Int64,
        Node::Float | Node::Double => Kind::Float,
        Node::Bytes | Node::String | Node::Enum(_) | Node::Fixed(_) => Kind::Bytes,
        _ => return Err(no_fit(schema, ty, format!("{kind} values"))),
    };
    // An empty list says its kind, too.
    match takes == kind {
        true => Ok(Value::Array(values)),
        false => Err(no_fit(schema, ty, format!("{kind} values"))),
    }
}

/// Bytes as a value of a type, or what they are.
fn bytes_as(node: &Node, bytes: Vec<u8>) -> Result<Value, String> {
    match node {
        Node::Bytes => Ok(Value::Bytes(bytes)),
        Node::Fixed(fixed) if fixed.size == bytes.len() => Ok(Value::Fixed(bytes)),
        Node::String => match String::from_utf8(bytes) {
            Ok(text) => Ok(Value::String(text)),
            Err(_) => Err("bytes that are no UTF-8".to_owned()),
        },
        Node::Enum(symbols) => {
            let mut all = symbols.symbols.iter();
            match all.position(|symbol| symbol.as_bytes() == bytes) {
                Some(index) => Ok(Value::Enum(index as u32)),
                None => Err(format!("'{}'", bytes.escape_ascii())),
            }
        }
        _ => Err(format!("{} bytes", bytes.len())),
    }
}

#[cold]
fn no_fit(schema: &Schema, ty: NodeId, found: impl Into<String>) -> ConvertError {
    ConvertError::DoesNotFit {
        expected: schema.describe(ty),
        found: found.into(),
    }
}
