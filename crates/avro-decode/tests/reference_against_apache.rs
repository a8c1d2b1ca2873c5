//! Compares the reference decoder and the encoder with the `apache-avro` crate, on arbitrary
//! schemas and values.

#![allow(clippy::unwrap_used)]

#[path = "common/apache.rs"]
mod apache;
mod common;

use apache::{from_apache, with_sorted_maps};
use apache_avro::reader::datum::GenericDatumReader;
use apache_avro::types::Value as Apache;
use apache_avro::writer::datum::GenericDatumWriter;
use avro_decode::encode::{EncodeOptions, encode};
use avro_decode::schema::{Node, NodeId};
use avro_decode::{Schema, Value, reference};
use common::{Case, arb_case, assert_same};
use proptest::prelude::*;

/// The value in the other crate's type.
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
