//! Schemas that cannot be resolved for any data, and the messages. Errors that depend on the data
//! are in `rules` and `unions`.

use avro_decode::resolve::ResolveErrorKind as Kind;
use avro_decode::{DecodeErrorKind, Transcoder, Value, ValueErrorKind, reference};

use super::harness::{record, refused, resolution};

#[test]
fn a_field_that_the_writer_lacks() {
    let writer = record(r#"{"name": "address", "type": "int"}, {"name": "b", "type": "int"}"#);
    let reader = record(r#"{"name": "adress", "type": "int"}"#);
    let error = refused(&writer, &reader);
    assert_eq!(
        error.to_string(),
        "field 'adress': the writer's record 'R' has no such field, and the reader's field has no default; did \
         you mean 'address'?"
    );
    assert_eq!(
        (error.writer.as_str(), error.reader.as_str()),
        ("record 'R'", "int")
    );
    assert_eq!(
        error.kind,
        Kind::MissingField {
            nearest: Some("address".into())
        }
    );
    let error = refused(&writer, &record(r#"{"name": "zip", "type": "int"}"#));
    assert_eq!(
        error.to_string(),
        "field 'zip': the writer's record 'R' has no such field, and the reader's field has no default"
    );
}

#[test]
fn the_field_is_named_through_everything_around_it() {
    let nested = |innermost: &str| {
        record(&format!(
            r#"{{"name": "a", "type": ["null", {{"type": "array", "items":
                {{"type": "map", "values": {{"type": "record", "name": "I", "fields": [
                    {{"name": "b", "type": {innermost}}}
                ]}}}}
            }}]}}"#
        ))
    };
    // The null branch can be read.
    resolution(&nested(r#""int""#), &nested(r#""string""#));
    let bare = |innermost: &str| {
        nested(innermost)
            .replace(r#"["null", "#, "")
            .replace("}]}", "}}")
    };
    let error = refused(&bare(r#""int""#), &bare(r#""string""#));
    assert_eq!(
        error.to_string(),
        "field 'a.b': int cannot be read as string"
    );
    assert_eq!(error.kind, Kind::Types);
}

#[test]
fn a_field_of_another_type() {
    let field = |ty: &str| record(&format!(r#"{{"name": "f", "type": {ty}}}"#));
    let error = refused(
        &field(r#"["null", "int"]"#),
        &field(r#"{"type": "map", "values": "int"}"#),
    );
    assert_eq!(
        error.to_string(),
        r#"field 'f': ["null", "int"] cannot be read as map of int"#
    );
}

#[test]
fn values_that_are_not_the_writers() {
    let resolution = resolution(
        r#"{"type": "array", "items": ["int", {"type": "fixed", "name": "F", "size": 1},
            {"type": "enum", "name": "E", "symbols": ["A"]}, {"type": "record", "name": "R", "fields": []}]}"#,
        r#"{"type": "array", "items": ["int", {"type": "fixed", "name": "F", "size": 1},
            {"type": "enum", "name": "E", "symbols": ["A"]}, {"type": "record", "name": "R", "fields": []}]}"#,
    );
    let refused = |branch, value| {
        let value = Value::Array(vec![Value::Union(branch, Box::new(value))]);
        reference::resolve(&resolution, &value)
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        refused(0, Value::Null),
        "the schema has int, but the value is null"
    );
    assert_eq!(
        refused(1, Value::Fixed(vec![])),
        "the schema has a fixed of 1 byte, but the value has 0"
    );
    assert_eq!(
        refused(2, Value::Enum(1)),
        "enum index 1 where there is 1 symbol"
    );
    assert_eq!(
        refused(3, Value::Record(vec![Value::Null])),
        "the schema has 0 fields, but the value has 1"
    );
    assert_eq!(
        refused(3, Value::Int(1)),
        "the schema has record, but the value is int"
    );
    assert_eq!(refused(4, Value::Null), "union branch 4 where there are 4");
    let error = reference::resolve(&resolution, &Value::Int(1)).unwrap_err();
    assert_eq!(
        error.kind,
        ValueErrorKind::WrongType {
            expected: "array",
            found: "int"
        }
    );
}

#[test]
fn damaged_data() {
    let writer = record(
        r#"{"name": "flag", "type": "boolean"}, {"name": "u", "type": ["null", "int"]},
           {"name": "e", "type": {"type": "enum", "name": "E", "symbols": ["A"]}},
           {"name": "a", "type": {"type": "array", "items": "int"}}"#,
    );
    let transcoder = Transcoder::new(&resolution(&writer, &writer));
    let failed = |data: &[u8]| {
        let mut out = vec![1, 2, 3];
        let error = transcoder.transcode(data, &mut out).unwrap_err();
        assert_eq!(out, [1, 2, 3], "as before");
        error
    };
    assert_eq!(
        failed(&[2]).to_string(),
        "field 'flag', byte 0: a boolean is 2, neither 0 nor 1"
    );
    assert_eq!(
        failed(&[1, 6]).to_string(),
        "field 'u', byte 1: union branch 3 where there are 2"
    );
    assert_eq!(
        failed(&[1, 0, 2]).to_string(),
        "field 'e', byte 2: enum index 1 where there is 1 symbol"
    );
    assert_eq!(
        failed(&[1, 0, 0, 1, 4, 2, 0]).to_string(),
        "field 'a', byte 6: a block of items has 1 byte, but its header says 2"
    );
    assert_eq!(
        failed(&[1, 0, 0, 9, 0]).to_string(),
        "field 'a', byte 3: a block of 5 items where at most 0 are possible"
    );
    assert_eq!(
        failed(&[1, 0, 0, 2]).kind,
        DecodeErrorKind::TooManyItems { count: 1, most: 0 }
    );
    assert_eq!(
        failed(&[1, 0, 0]).to_string(),
        "field 'a', byte 3: the input ends inside a value"
    );
    // The reader has the fields in another order, and skips one.
    let reader =
        record(r#"{"name": "u", "type": ["null", "int"]}, {"name": "flag", "type": "boolean"}"#);
    let transcoder = Transcoder::new(&resolution(&writer, &reader));
    let error = transcoder.transcode(&[1, 0], &mut Vec::new()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "field 'e', byte 2: the input ends inside a value"
    );
}
