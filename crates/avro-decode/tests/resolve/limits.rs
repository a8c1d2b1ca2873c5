//! Sizes and depths that no input and no schema can exceed.

use std::fmt::Write;
use std::sync::Arc;

use avro_decode::limits::MAX_DECODE_DEPTH;
use avro_decode::resolve::ResolveErrorKind;
use avro_decode::{DecodeErrorKind, Resolution, Transcoder, Value, ValueErrorKind, reference};

use super::agreement::agree;
use super::harness::{encoded, fails, record, refused, resolution, schema};

/// A list of `depth` nested records and unions.
fn list(depth: usize) -> Value {
    let mut value = Value::Union(0, Box::new(Value::Null));
    for i in 1..depth {
        value = match i % 2 {
            1 => Value::Record(vec![value]),
            _ => Value::Union(1, Box::new(value)),
        };
    }
    value
}

const LIST: &str =
    r#"{"type": "record", "name": "L", "fields": [{"name": "next", "type": ["null", "L"]}]}"#;

#[test]
fn values_are_as_deep_as_decoders_read_them() {
    let identity = Resolution::identity(schema(LIST));
    let deepest = list(MAX_DECODE_DEPTH);
    let data = encoded(&identity.writer, &deepest);
    assert_eq!(agree(&identity, &data), Some(deepest));
    // One more level is an error.
    let mut data = vec![2; MAX_DECODE_DEPTH / 2];
    data.push(0);
    let error = Transcoder::new(&identity)
        .transcode(&data, &mut Vec::new())
        .unwrap_err();
    assert_eq!(error.kind, DecodeErrorKind::TooDeep { limit: 100 });
    let error = reference::resolve(&identity, &list(MAX_DECODE_DEPTH + 2)).unwrap_err();
    assert_eq!(error.kind, ValueErrorKind::TooDeep);
}

#[test]
fn nor_are_the_readers_values_deeper() {
    // In the reader's schema, every record is inside another union.
    let reader = r#"["null", {"type": "record", "name": "L", "fields": [{"name": "next", "type": ["null", "L"]}]}]"#;
    let (slow, fast) = fails(LIST, reader, &list(MAX_DECODE_DEPTH));
    assert_eq!(slow.kind, ValueErrorKind::TooDeep);
    assert_eq!(fast.kind, DecodeErrorKind::TooDeep { limit: 100 });

    // The deepest record has a field with a default.
    let reader = r#"{"type": "record", "name": "L", "fields": [
        {"name": "next", "type": ["null", "L"]},
        {"name": "more", "type": {"type": "array", "items": {"type": "array", "items": "int"}}, "default": [[]]}
    ]}"#;
    let (slow, fast) = fails(LIST, reader, &list(MAX_DECODE_DEPTH));
    assert_eq!(slow.kind, ValueErrorKind::TooDeep);
    assert_eq!(fast.kind, DecodeErrorKind::TooDeep { limit: 100 });
    let data = encoded(&schema(LIST), &list(MAX_DECODE_DEPTH - 2));
    assert!(agree(&resolution(LIST, reader), &data).is_some());
}

#[test]
fn defaults_in_many_records() {
    // Records without bytes become records with defaults.
    let items = |fields: &str| format!(r#"{{"type": "array", "items": {}}}"#, record(fields));
    let long = "x".repeat(100);
    let reader = items(&format!(
        r#"{{"name": "f", "type": "string", "default": "{long}"}}"#
    ));
    let resolution = resolution(&items(""), &reader);
    let mut data = Vec::new();
    avro_decode::encode::write_long(&mut data, 1 << 20);
    data.push(0);
    let error = Transcoder::new(&resolution)
        .transcode(&data, &mut Vec::new())
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "field 'f', byte 4: defaults would add more than 4194304 values and bytes"
    );
    let value =
        reference::decode(&resolution.writer, resolution.writer.root(), &data, &mut 0).unwrap();
    let error = reference::resolve(&resolution, &value).unwrap_err();
    assert_eq!(
        error.to_string(),
        "f: defaults would add more than 4194304 values and bytes"
    );
}

#[test]
fn values_without_bytes() {
    let nulls = r#"{"type": "array", "items": "null"}"#;
    let resolution = resolution(nulls, r#"{"type": "array", "items": ["null"]}"#);
    // Two blocks with 2^20 nulls each.
    let mut data = Vec::new();
    for count in [1 << 20, 1 << 20, 0] {
        avro_decode::encode::write_long(&mut data, count);
    }
    let error = Transcoder::new(&resolution)
        .transcode(&data, &mut Vec::new())
        .unwrap_err();
    assert_eq!(error.kind, DecodeErrorKind::TooManyZeroSizeValues);
    assert_eq!(agree(&resolution, &data), None);
}

/// 10,000 records, each a field of the next by its name. The text of the schema nests less.
#[test]
fn types_nested_through_their_names() {
    let mut json = r#"[{"type": "record", "name": "R0", "fields": []}"#.to_owned();
    for i in 1..10_000 {
        let field = format!(r#"{{"name": "f", "type": "R{}"}}"#, i - 1);
        write!(
            json,
            r#", {{"type": "record", "name": "R{i}", "fields": [{field}]}}"#
        )
        .unwrap();
    }
    json.push(']');
    let schema = schema(&json);
    let resolved = Resolution::new(Arc::clone(&schema), Arc::clone(&schema)).unwrap();
    let transcoder = Transcoder::new(&resolved);
    let mut out = Vec::new();
    assert_eq!(transcoder.transcode(&[4], &mut out).unwrap(), 1);
    assert_eq!(out, [4]);
    let mut deep = Vec::new();
    avro_decode::encode::write_long(&mut deep, 9_999);
    let error = transcoder.transcode(&deep, &mut out).unwrap_err();
    assert_eq!(error.kind, DecodeErrorKind::TooDeep { limit: 100 });

    // A skipped field of such a type.
    let skipped = record(&format!(r#"{{"name": "f", "type": {json}}}"#));
    let transcoder = Transcoder::new(&resolution(&skipped, &record("")));
    assert_eq!(transcoder.transcode(&[4], &mut out).unwrap(), 1);

    // If the innermost record cannot be resolved, no record can.
    let other = json.replace(
        r#""name": "R0", "fields": []"#,
        r#""name": "R0", "fields": [{"name": "x", "type": "int"}]"#,
    );
    let error = refused(&json[..], &other);
    assert_eq!(error.kind, ResolveErrorKind::MissingField { nearest: None });
    // They can be resolved if the data lacks the innermost record.
    let (outer, other) = (
        format!(r#"["null", {}"#, &json[1..]),
        format!(r#"["null", {}"#, &other[1..]),
    );
    let resolution = resolution(&outer, &other);
    let never = resolution
        .nodes
        .iter()
        .filter(|node| matches!(node, avro_decode::resolve::Resolved::Never { .. }));
    assert!(never.count() >= 10_000);
    Transcoder::new(&resolution);
}

/// Records with one name in many namespaces. Any two of them can be a pair.
#[test]
fn pairs_of_types() {
    let names = |namespace: &str, count| {
        (0..count)
            .map(move |i| format!("{namespace}{i}.R"))
            .collect::<Vec<_>>()
    };
    let record = |name: &str| {
        let fields = (0..40).map(|i| format!(r#"{{"name": "f{i}", "type": "int"}}"#));
        let fields = fields.collect::<Vec<_>>().join(",");
        format!(r#"{{"type": "record", "name": "{name}", "fields": [{fields}]}}"#)
    };
    let field = |(i, ty): (usize, String)| format!(r#"{{"name": "g{i}", "type": {ty}}}"#);
    let root = |types: Vec<String>| {
        let fields: Vec<_> = types.into_iter().enumerate().map(field).collect();
        format!(
            r#"{{"type": "record", "name": "Root", "fields": [{}]}}"#,
            fields.join(",")
        )
    };
    // Unions of all records. The reader has a field for each record.
    let written = names("a", 400);
    let defined: Vec<_> = written.iter().map(|name| record(name)).collect();
    let union = |types: &[String]| format!("[{}]", types.join(","));
    let again = union(
        &written
            .iter()
            .map(|name| format!("\"{name}\""))
            .collect::<Vec<_>>(),
    );
    let writer = |unions| {
        let mut types = vec![union(&defined)];
        types.resize(unions, again.clone());
        root(types)
    };
    let reader = |unions| root(names("b", unions).iter().map(|name| record(name)).collect());
    assert!(resolution(&writer(10), &reader(10)).nodes.len() > 4000);
    let error = refused(&writer(80), &reader(80));
    assert_eq!(
        error.to_string(),
        "record 'Root' cannot be read as record 'Root': more than 2097152 types, fields, symbols \
         and branches are compared"
    );
    // All unions have one branch with that name.
    let same = format!("[{}]", record("c.R"));
    let one = resolution(&union(&defined), &same);
    assert_eq!(one.nodes.len(), 1 + 2 * 400 + 40 * 400);
}
