//! The reference decoder and the encoder against the `apache-avro` crate, on
//! arbitrary schemas and values.

#![allow(clippy::unwrap_used)]

mod common;

use apache_avro::reader::datum::GenericDatumReader;
use apache_avro::types::Value as Apache;
use apache_avro::writer::datum::GenericDatumWriter;
use avro_decode::encode::{EncodeOptions, encode};
use avro_decode::schema::{Node, NodeId};
use avro_decode::{Schema, Value, reference};
use common::{Case, arb_case, assert_same};
use proptest::prelude::*;

/// The value as the other crate has it.
fn to_apache(schema: &Schema, id: NodeId, value: &Value) -> Apache {
    match (schema.node(id), value) {
        (Node::Null, Value::Null) => Apache::Null,
        (Node::Boolean, &Value::Boolean(value)) => Apache::Boolean(value),
        (Node::Int, &Value::Int(value)) => Apache::Int(value),
        (Node::Long, &Value::Long(value)) => Apache::Long(value),
        (Node::Float, &Value::Float(value)) => Apache::Float(value),
        (Node::Double, &Value::Double(value)) => Apache::Double(value),
        (Node::Bytes, Value::Bytes(bytes)) => Apache::Bytes(bytes.clone()),
        (Node::String, Value::String(text)) => Apache::String(text.clone()),
        (Node::Fixed(fixed), Value::Fixed(bytes)) => Apache::Fixed(fixed.size, bytes.clone()),
        (Node::Enum(symbols), &Value::Enum(index)) => {
            Apache::Enum(index, symbols.symbols[index as usize].clone())
        }
        (Node::Array(items), Value::Array(values)) => {
            let values = values.iter().map(|value| to_apache(schema, *items, value));
            Apache::Array(values.collect())
        }
        (Node::Map(values), Value::Map(entries)) => {
            let entries = entries.iter();
            let entries = entries.map(|(k, value)| (k.clone(), to_apache(schema, *values, value)));
            Apache::Map(entries.collect())
        }
        (Node::Union(branches), Value::Union(branch, value)) => {
            let value = to_apache(schema, branches[*branch], value);
            Apache::Union(*branch as u32, Box::new(value))
        }
        (Node::Record(record), Value::Record(values)) => {
            let fields = record.fields.iter().zip(values);
            let fields = fields
                .map(|(field, value)| (field.name.clone(), to_apache(schema, field.ty, value)));
            Apache::Record(fields.collect())
        }
        (node, value) => panic!("{} is not {}", value.type_name(), node.type_name()),
    }
}

/// The value of the other crate as ours, with the entries of maps in order.
fn from_apache(value: Apache) -> Value {
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

/// The value with the entries of maps in order.
fn with_sorted_maps(value: Value) -> Value {
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

fn check(case: &Case) {
    let Case {
        text,
        schema,
        value,
    } = case;
    let theirs = apache_avro::Schema::parse_str(text).unwrap();
    let expected = with_sorted_maps(value.clone());

    let mut ours = Vec::new();
    encode(
        schema,
        schema.root(),
        value,
        &mut ours,
        &EncodeOptions::default(),
    )
    .unwrap();
    let reader = GenericDatumReader::builder(&theirs).build().unwrap();
    let read = reader.read_value(&mut ours.as_slice()).unwrap();
    assert_same(&from_apache(read), &expected);

    let written = to_apache(schema, schema.root(), value);
    let writer = GenericDatumWriter::builder(&theirs).build().unwrap();
    let bytes = writer.write_value_to_vec(written).unwrap();
    let mut position = 0;
    let read = reference::decode(schema, schema.root(), &bytes, &mut position).unwrap();
    assert_same(&with_sorted_maps(read), &expected);
    assert_eq!(position, bytes.len());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn either_reads_what_the_other_writes(case in arb_case()) {
        check(&case);
    }
}
