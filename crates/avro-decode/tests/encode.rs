//! The reference decoder reads encoded values back, for all options. Values that do not fit the
//! schema are refused.

#![allow(clippy::unwrap_used)]

mod common;

use std::num::NonZeroUsize;

use avro_decode::encode::{EncodeOptions, encode};
use avro_decode::limits::MAX_DECODE_DEPTH;
use avro_decode::schema::{Node, NodeId};
use avro_decode::{Schema, Value, ValueErrorKind, reference};
use common::{arb_case, assert_same};
use proptest::prelude::*;

fn options(block_items: usize, byte_sizes: bool) -> EncodeOptions {
    let mut options = EncodeOptions::default();
    options.block_items = NonZeroUsize::new(block_items);
    options.byte_sizes = byte_sizes;
    options
}

fn encoded(schema: &Schema, value: &Value, options: &EncodeOptions) -> Vec<u8> {
    let mut out = Vec::new();
    encode(schema, schema.root(), value, &mut out, options).unwrap();
    out
}

fn refused(schema: &str, value: Value) -> (ValueErrorKind, Option<String>) {
    let schema = Schema::parse(schema).unwrap();
    let mut out = vec![7];
    let options = EncodeOptions::default();
    let error = encode(&schema, schema.root(), &value, &mut out, &options).unwrap_err();
    assert_eq!(out, [7], "what was there stays, and nothing is added");
    (error.kind, error.field)
}

proptest! {
    #[test]
    fn round_trip(case in arb_case(), block_items in 0usize..4, byte_sizes: bool) {
        let bytes = encoded(&case.schema, &case.value, &options(block_items, byte_sizes));
        let mut position = 0;
        let back = reference::decode(&case.schema, case.schema.root(), &bytes, &mut position);
        assert_same(&back.unwrap(), &case.value);
        prop_assert_eq!(position, bytes.len());
        prop_assert!(bytes.len() as u64 >= case.schema.min_encoded_len(case.schema.root()));
    }

    #[test]
    fn values_one_after_another(case in arb_case(), before in prop::collection::vec(any::<u8>(), 0..9)) {
        let (schema, root) = (&case.schema, case.schema.root());
        let mut bytes = before.clone();
        for _ in 0..2 {
            encode(schema, root, &case.value, &mut bytes, &EncodeOptions::default()).unwrap();
        }
        let mut position = before.len();
        for _ in 0..2 {
            let back = reference::decode(schema, root, &bytes, &mut position).unwrap();
            assert_same(&back, &case.value);
        }
        prop_assert_eq!(position, bytes.len());
    }

    #[test]
    fn every_truncation_is_an_error(case in arb_case(), block_items in 0usize..4, byte_sizes: bool) {
        let bytes = encoded(&case.schema, &case.value, &options(block_items, byte_sizes));
        for cut in 0..bytes.len() {
            let mut position = 0;
            let result = reference::decode(&case.schema, case.schema.root(), &bytes[..cut], &mut position);
            let error = result.unwrap_err();
            prop_assert!(error.offset <= cut);
            prop_assert_eq!(position, 0);
        }
    }

    #[test]
    fn no_bytes_are_too_bad(
        schema in common::arb_schema_json(),
        bytes in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let schema = Schema::parse(&schema.to_string()).unwrap();
        let mut position = 0;
        match reference::decode(&schema, schema.root(), &bytes, &mut position) {
            // A value that was read can be written and read again.
            Ok(value) => {
                let written = encoded(&schema, &value, &EncodeOptions::default());
                let again = reference::decode(&schema, schema.root(), &written, &mut 0).unwrap();
                assert_same(&again, &value);
            }
            Err(error) => prop_assert!(error.offset <= bytes.len()),
        }
    }
}

#[test]
fn the_record_of_the_specification() {
    let schema = Schema::parse(
        r#"{"type": "record", "name": "test", "fields": [
            {"name": "a", "type": "long"}, {"name": "b", "type": "string"}]}"#,
    )
    .unwrap();
    let value = Value::Record(vec![Value::Long(27), Value::String("foo".into())]);
    let bytes = encoded(&schema, &value, &EncodeOptions::default());
    assert_eq!(bytes, [0x36, 0x06, 0x66, 0x6f, 0x6f]);
}

#[test]
fn the_array_of_the_specification_in_every_way() {
    let schema = Schema::parse(r#"{"type": "array", "items": "long"}"#).unwrap();
    let value = Value::Array(vec![Value::Long(3), Value::Long(27)]);
    for (block_items, byte_sizes, bytes) in [
        (0, false, &[0x04, 0x06, 0x36, 0x00][..]),
        (0, true, &[0x03, 0x04, 0x06, 0x36, 0x00]),
        (1, false, &[0x02, 0x06, 0x02, 0x36, 0x00]),
        (1, true, &[0x01, 0x02, 0x06, 0x01, 0x02, 0x36, 0x00]),
    ] {
        let written = encoded(&schema, &value, &options(block_items, byte_sizes));
        assert_eq!(written, bytes);
    }
}

#[test]
fn the_union_of_the_specification() {
    let schema = Schema::parse(r#"["null", "string"]"#).unwrap();
    let null = Value::Union(0, Box::new(Value::Null));
    let a = Value::Union(1, Box::new(Value::String("a".into())));
    let options = EncodeOptions::default();
    assert_eq!(encoded(&schema, &null, &options), [0x00]);
    assert_eq!(encoded(&schema, &a, &options), [0x02, 0x02, 0x61]);
}

#[test]
fn nested_types_by_id() {
    let schema = Schema::parse(r#"{"type": "map", "values": "float"}"#).unwrap();
    let Node::Map(values) = *schema.node(schema.root()) else {
        panic!("not a map");
    };
    let write = |id: NodeId, value| {
        let mut out = Vec::new();
        encode(&schema, id, &value, &mut out, &EncodeOptions::default()).map(|()| out)
    };
    assert_eq!(
        write(values, Value::Float(1.0)).unwrap(),
        [0, 0, 0x80, 0x3f]
    );
    assert!(write(schema.root(), Value::Float(1.0)).is_err());
}

#[test]
fn values_that_do_not_fit() {
    let wrong = |expected, found| ValueErrorKind::WrongType { expected, found };
    assert_eq!(
        refused(r#""int""#, Value::Long(1)),
        (wrong("int", "long"), None)
    );
    assert_eq!(
        refused(r#"["null", "int"]"#, Value::Null),
        (wrong("union", "null"), None)
    );
    assert_eq!(
        refused(r#"["null"]"#, Value::Union(1, Box::new(Value::Null))).0,
        ValueErrorKind::BadUnionBranch {
            branch: 1,
            branches: 1
        }
    );
    assert_eq!(
        refused(
            r#"{"type": "enum", "name": "E", "symbols": ["A"]}"#,
            Value::Enum(1)
        )
        .0,
        ValueErrorKind::BadEnumIndex {
            index: 1,
            symbols: 1
        }
    );
    assert_eq!(
        refused(
            r#"{"type": "fixed", "name": "F", "size": 2}"#,
            Value::Fixed(vec![1])
        )
        .0,
        ValueErrorKind::FixedSize {
            expected: 2,
            found: 1
        }
    );
    let record = r#"{"type": "record", "name": "R", "fields": [{"name": "a", "type":
        {"type": "array", "items": {"type": "record", "name": "S", "fields": [
            {"name": "b", "type": "int"}]}}}]}"#;
    assert_eq!(
        refused(record, Value::Record(vec![])).0,
        ValueErrorKind::FieldCount {
            expected: 1,
            found: 0
        }
    );
    let fits = Value::Record(vec![Value::Int(1)]);
    let does_not = Value::Record(vec![Value::Null]);
    let array = Value::Array(vec![fits, does_not]);
    assert_eq!(
        refused(record, Value::Record(vec![array])),
        (wrong("int", "null"), Some("a.b".into()))
    );
}

#[test]
fn values_too_deep() {
    let text = r#"{"type": "record", "name": "R", "fields": [
        {"name": "next", "type": ["null", "R"]}]}"#;
    let schema = Schema::parse(text).unwrap();
    let mut value = Value::Record(vec![Value::Union(0, Box::new(Value::Null))]);
    for _ in 1..MAX_DECODE_DEPTH / 2 {
        value = Value::Record(vec![Value::Union(1, Box::new(value))]);
    }
    let bytes = encoded(&schema, &value, &EncodeOptions::default());
    let back = reference::decode(&schema, schema.root(), &bytes, &mut 0).unwrap();
    assert_same(&back, &value);
    let value = Value::Record(vec![Value::Union(1, Box::new(value))]);
    assert_eq!(refused(text, value).0, ValueErrorKind::TooDeep);
}
