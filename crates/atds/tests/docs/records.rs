//! Encodes records that are written as JSON.

use avro_decode::encode::{EncodeOptions, encode};
use avro_decode::schema::{Node, NodeId};
use avro_decode::{Schema, Value};
use serde_json::Value as Json;

/// Appends a record to `out`.
pub(crate) fn write(schema: &Schema, record: &Json, out: &mut Vec<u8>) {
    let value = value(schema, schema.root(), record);
    encode(
        schema,
        schema.root(),
        &value,
        out,
        &EncodeOptions::default(),
    )
    .unwrap();
}

/// The value of a type that `json` stands for. A value of a union with several types besides null
/// is `{"type": value}`; any other value stands alone.
fn value(schema: &Schema, node: NodeId, json: &Json) -> Value {
    let integer = || json.as_i64().unwrap_or_else(|| panic!("{json}"));
    let float = || json.as_f64().unwrap_or_else(|| panic!("{json}"));
    let text = || json.as_str().unwrap_or_else(|| panic!("{json}"));
    let object = || json.as_object().unwrap_or_else(|| panic!("{json}"));
    let bytes = || text().chars().map(|c| u8::try_from(c).unwrap()).collect();
    match schema.node(node) {
        Node::Null => Value::Null,
        Node::Boolean => Value::Boolean(json.as_bool().unwrap()),
        Node::Int => Value::Int(integer().try_into().unwrap()),
        Node::Long => Value::Long(integer()),
        Node::Float => Value::Float(float() as f32),
        Node::Double => Value::Double(float()),
        Node::Bytes => Value::Bytes(bytes()),
        Node::Fixed(_) => Value::Fixed(bytes()),
        Node::String => Value::String(text().to_owned()),
        Node::Enum(symbols) => {
            let index = symbols.symbols.iter().position(|symbol| symbol == text());
            Value::Enum(index.unwrap() as u32)
        }
        Node::Array(item) => {
            let items = json.as_array().unwrap().iter();
            Value::Array(items.map(|json| value(schema, *item, json)).collect())
        }
        Node::Map(item) => {
            let entries = object().iter();
            let entries = entries.map(|(key, json)| (key.clone(), value(schema, *item, json)));
            Value::Map(entries.collect())
        }
        Node::Record(record) => {
            assert_eq!(object().len(), record.fields.len(), "{json}");
            let fields = record.fields.iter();
            let fields = fields.map(|field| value(schema, field.ty, &json[&field.name]));
            Value::Record(fields.collect())
        }
        Node::Union(branches) => {
            let is = |branch: NodeId, name: &str| match schema.node(branch).name() {
                Some(full) => full.to_string() == name,
                None => schema.node(branch).type_name() == name,
            };
            let types = branches.iter().filter(|&&branch| !is(branch, "null"));
            let (name, json) = match types.count() {
                _ if json.is_null() => ("null", json),
                1 => ("", json),
                _ => object()
                    .iter()
                    .map(|(name, json)| (&**name, json))
                    .next()
                    .unwrap(),
            };
            let is_meant = |branch: NodeId| match name {
                "" => !is(branch, "null"),
                name => is(branch, name),
            };
            let position = branches
                .iter()
                .position(|&branch| is_meant(branch))
                .unwrap();
            Value::Union(position, Box::new(value(schema, branches[position], json)))
        }
    }
}
