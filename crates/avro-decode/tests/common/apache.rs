//! Converts values of the `apache-avro` crate. Sorts the entries of maps, since that crate does not
//! keep their order.

use apache_avro::types::Value as Apache;
use avro_decode::Value;

/// Converts a value of the `apache-avro` crate, and sorts the entries of maps.
pub(crate) fn from_apache(value: Apache) -> Value {
    match value {
        Apache::Null => Value::Null,
        Apache::Boolean(value) => Value::Boolean(value),
        Apache::Int(value) => Value::Int(value),
        Apache::Long(value) => Value::Long(value),
        Apache::Float(value) => Value::Float(value),
        Apache::Double(value) => Value::Double(value),
        Apache::Bytes(bytes) => Value::Bytes(bytes),
        Apache::String(text) => Value::String(text),
        Apache::Fixed(_, bytes) => Value::Fixed(bytes),
        Apache::Enum(index, _) => Value::Enum(index),
        Apache::Array(values) => Value::Array(values.into_iter().map(from_apache).collect()),
        Apache::Map(entries) => {
            let entries = entries.into_iter();
            sorted(entries.map(|(k, v)| (k, from_apache(v))).collect())
        }
        Apache::Union(branch, value) => {
            Value::Union(branch as usize, Box::new(from_apache(*value)))
        }
        Apache::Record(fields) => {
            Value::Record(fields.into_iter().map(|(_, v)| from_apache(v)).collect())
        }
        other => panic!("a value of a logical type: {other:?}"),
    }
}

fn sorted(mut entries: Vec<(String, Value)>) -> Value {
    entries.sort_by(|(left, _), (right, _)| left.cmp(right));
    Value::Map(entries)
}

/// The value with sorted entries of maps.
pub(crate) fn with_sorted_maps(value: Value) -> Value {
    match value {
        Value::Array(values) => Value::Array(values.into_iter().map(with_sorted_maps).collect()),
        Value::Record(values) => Value::Record(values.into_iter().map(with_sorted_maps).collect()),
        Value::Union(branch, value) => Value::Union(branch, Box::new(with_sorted_maps(*value))),
        Value::Map(entries) => {
            let entries = entries.into_iter();
            sorted(entries.map(|(k, v)| (k, with_sorted_maps(v))).collect())
        }
        other => other,
    }
}
