//! Encodes defaults of the reader's fields from JSON (Avro 1.12, "Complex Types", the table "field
//! default values").

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value as Json;

use crate::Value;
use crate::encode::{EncodeOptions, encode};
use crate::limits::{MAX_DECODE_DEPTH, MAX_DEFAULT_PARTS};
use crate::schema::defaults::Matcher;
use crate::schema::{Field, Node, NodeId, Schema};

/// A default in Avro's binary encoding.
#[derive(Clone, Debug)]
pub(super) struct Default {
    pub(super) encoded: Arc<[u8]>,
    /// Number of values in the default, and bytes of their strings.
    pub(super) parts: usize,
    /// Nesting of records, arrays, maps and unions in the default.
    pub(super) depth: usize,
}

/// Why a default has no value.
#[derive(Clone, Copy, Debug)]
pub(super) enum BadDefault {
    /// It does not match its type.
    Mismatch,
    /// It is too large or too deep, by itself or with the defaults that it fills in.
    TooLarge,
}

/// The default of a field, as a value of the field's type in `schema`. `None` if the field has no default,
/// or one that does not match its type.
pub fn default_value(schema: &Schema, field: &Field) -> Option<Value> {
    let json = field.default.as_ref()?;
    Defaults::new(schema).value(field.ty, json, 0, &mut 0).ok()
}

/// The defaults of a schema, each encoded once.
pub(super) struct Defaults<'s> {
    schema: &'s Schema,
    matcher: Matcher<'s>,
    known: HashMap<(NodeId, usize), Result<Default, BadDefault>>,
    /// Number of parts of all defaults together.
    parts: usize,
}

impl<'s> Defaults<'s> {
    pub(super) fn new(schema: &'s Schema) -> Self {
        Defaults {
            schema,
            matcher: Matcher::new(schema),
            known: HashMap::new(),
            parts: 0,
        }
    }

    /// The default of a record's field; `None` if it has none.
    pub(super) fn of(
        &mut self,
        record: NodeId,
        index: usize,
        field: &'s Field,
    ) -> Option<Result<Default, BadDefault>> {
        let json = field.default.as_ref()?;
        if let Some(known) = self.known.get(&(record, index)) {
            return Some(known.clone());
        }
        let made = self.make(field.ty, json);
        self.known.insert((record, index), made.clone());
        Some(made)
    }

    fn make(&mut self, ty: NodeId, json: &'s Json) -> Result<Default, BadDefault> {
        let before = self.parts;
        let mut depth = 0;
        let value = self.value(ty, json, 0, &mut depth)?;
        let mut encoded = Vec::new();
        let options = EncodeOptions::default();
        encode(self.schema, ty, &value, &mut encoded, &options)
            .map_err(|_| BadDefault::Mismatch)?;
        Ok(Default {
            encoded: encoded.into(),
            parts: self.parts - before,
            depth,
        })
    }

    /// Encodes a value with `depth` records, arrays, maps and unions around it. Raises `deepest` to
    /// the largest depth.
    fn value(
        &mut self,
        id: NodeId,
        json: &'s Json,
        depth: usize,
        deepest: &mut usize,
    ) -> Result<Value, BadDefault> {
        self.count(1)?;
        *deepest = depth.max(*deepest);
        let nested = |deepest: &mut usize| {
            if depth == MAX_DECODE_DEPTH {
                return Err(BadDefault::TooLarge);
            }
            *deepest = (depth + 1).max(*deepest);
            Ok(depth + 1)
        };
        Ok(match (self.schema.node(id), json) {
            (Node::Null, Json::Null) => Value::Null,
            (Node::Boolean, &Json::Bool(value)) => Value::Boolean(value),
            (Node::Int, Json::Number(n)) => {
                let n = n.as_i64().and_then(|n| i32::try_from(n).ok());
                Value::Int(n.ok_or(BadDefault::Mismatch)?)
            }
            (Node::Long, Json::Number(n)) => Value::Long(n.as_i64().ok_or(BadDefault::Mismatch)?),
            (Node::Float, Json::Number(n)) => {
                Value::Float(n.as_f64().ok_or(BadDefault::Mismatch)? as f32)
            }
            (Node::Double, Json::Number(n)) => {
                Value::Double(n.as_f64().ok_or(BadDefault::Mismatch)?)
            }
            (Node::Bytes, Json::String(text)) => Value::Bytes(self.bytes(text)?),
            (Node::Fixed(_), Json::String(text)) => Value::Fixed(self.bytes(text)?),
            (Node::String, Json::String(text)) => {
                self.count(text.len())?;
                Value::String(text.clone())
            }
            (Node::Enum(symbols), Json::String(text)) => {
                let symbol = self.matcher.symbol(id, symbols, text);
                Value::Enum(symbol.ok_or(BadDefault::Mismatch)?)
            }
            (&Node::Array(items), Json::Array(json)) => {
                let depth = nested(deepest)?;
                let items = json
                    .iter()
                    .map(|json| self.value(items, json, depth, deepest));
                Value::Array(items.collect::<Result<_, _>>()?)
            }
            (&Node::Map(values), Json::Object(json)) => {
                let depth = nested(deepest)?;
                let entries = json.iter().map(|(key, json)| {
                    self.count(key.len())?;
                    Ok((key.clone(), self.value(values, json, depth, deepest)?))
                });
                Value::Map(entries.collect::<Result<_, _>>()?)
            }
            (Node::Union(branches), json) => {
                let depth = nested(deepest)?;
                let mut branches = branches.iter().enumerate();
                let branch = branches.find(|(_, branch)| self.matcher.matches(**branch, json));
                let (branch, &id) = branch.ok_or(BadDefault::Mismatch)?;
                let value = self.value(id, json, depth, deepest)?;
                Value::Union(branch, Box::new(value))
            }
            (Node::Record(record), Json::Object(json)) => {
                let depth = nested(deepest)?;
                let fields = record.fields.iter().map(|field| {
                    let json = json.get(&field.name).or(field.default.as_ref());
                    let json = json.ok_or(BadDefault::Mismatch)?;
                    self.value(field.ty, json, depth, deepest)
                });
                Value::Record(fields.collect::<Result<_, _>>()?)
            }
            _ => return Err(BadDefault::Mismatch),
        })
    }

    /// The bytes of a text whose characters are bytes: U+0000 to U+00FF.
    fn bytes(&mut self, text: &str) -> Result<Vec<u8>, BadDefault> {
        self.count(text.len())?;
        let bytes = text.chars().map(|c| u8::try_from(c).ok());
        bytes.collect::<Option<_>>().ok_or(BadDefault::Mismatch)
    }

    fn count(&mut self, parts: usize) -> Result<(), BadDefault> {
        self.parts += parts;
        if self.parts > MAX_DEFAULT_PARTS {
            return Err(BadDefault::TooLarge);
        }
        Ok(())
    }
}
