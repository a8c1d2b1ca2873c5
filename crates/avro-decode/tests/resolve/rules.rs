//! Each rule of the specification's "Schema Resolution".

use avro_decode::Value;
use avro_decode::resolve::Resolved;
use proptest::prelude::*;

use super::common::assert_same;
use super::harness::{fails, read, record, refused, resolution};

const PRIMITIVES: [&str; 8] = [
    "null", "boolean", "int", "long", "float", "double", "bytes", "string",
];

fn quoted(name: &str) -> String {
    format!("\"{name}\"")
}

#[test]
fn primitives_match_themselves_and_their_promotions_alone() {
    let promotions = [
        ("int", "long"),
        ("int", "float"),
        ("int", "double"),
        ("long", "float"),
        ("long", "double"),
        ("float", "double"),
        ("string", "bytes"),
        ("bytes", "string"),
    ];
    for writer in PRIMITIVES {
        for reader in PRIMITIVES {
            if writer == reader || promotions.contains(&(writer, reader)) {
                let resolution = resolution(&quoted(writer), &quoted(reader));
                let root = resolution.node(resolution.root);
                assert!(matches!(root, Resolved::Leaf { .. }));
            } else {
                let error = refused(&quoted(writer), &quoted(reader));
                assert_eq!(
                    error.to_string(),
                    format!("{writer} cannot be read as {reader}")
                );
            }
        }
    }
}

#[test]
fn text_is_promoted_as_utf_8() {
    let (bytes, string) = (r#""bytes""#, r#""string""#);
    let text = Value::String("é".into());
    let utf_8 = Value::Bytes(vec![0xc3, 0xa9]);
    assert_same(&read(string, bytes, &text), &utf_8);
    assert_same(&read(bytes, string, &utf_8), &text);
    let (slow, fast) = fails(bytes, string, &Value::Bytes(vec![0xff]));
    assert_eq!(
        slow.to_string(),
        "the bytes to be read as a string are not UTF-8"
    );
    assert_eq!(
        fast.to_string(),
        "byte 0: a string is not UTF-8: ask for `dtype` 'bytes', or replace invalid bytes with `tolerate` 'utf8'"
    );
}

proptest! {
    #[test]
    fn numbers_are_promoted_as_they_convert(int: i32, long: i64, float: f32) {
        let (int_type, long_type, float_type, double_type) =
            (r#""int""#, r#""long""#, r#""float""#, r#""double""#);
        let (i, l, f) = (Value::Int(int), Value::Long(long), Value::Float(float));
        assert_same(&read(int_type, long_type, &i), &Value::Long(int.into()));
        assert_same(&read(int_type, float_type, &i), &Value::Float(int as f32));
        assert_same(&read(int_type, double_type, &i), &Value::Double(int.into()));
        assert_same(&read(long_type, float_type, &l), &Value::Float(long as f32));
        assert_same(&read(long_type, double_type, &l), &Value::Double(long as f64));
        assert_same(&read(float_type, double_type, &f), &Value::Double(float.into()));
    }
}

#[test]
fn fields_are_matched_by_name() {
    let writer = record(
        r#"{"name": "a", "type": "int"}, {"name": "b", "type": "string"}, {"name": "c", "type": "long"}"#,
    );
    let value = Value::Record(vec![
        Value::Int(1),
        Value::String("b".into()),
        Value::Long(3),
    ]);

    let reordered = record(
        r#"{"name": "c", "type": "double"}, {"name": "a", "type": "long"}, {"name": "b", "type": "string"}"#,
    );
    let expected = [
        Value::Double(3.0),
        Value::Long(1),
        Value::String("b".into()),
    ];
    assert_same(
        &read(&writer, &reordered, &value),
        &Value::Record(expected.into()),
    );

    let fewer = record(r#"{"name": "b", "type": "string"}"#);
    let expected = vec![Value::String("b".into())];
    assert_same(&read(&writer, &fewer, &value), &Value::Record(expected));

    let none = record("");
    assert_same(&read(&writer, &none, &value), &Value::Record(vec![]));

    // Additional fields before, after and between the others, and another order.
    let more = record(
        r#"{"name": "x", "type": "int", "default": 7},
           {"name": "c", "type": "long"},
           {"name": "y", "type": "string", "default": "y"},
           {"name": "a", "type": "int"},
           {"name": "z", "type": "null", "default": null}"#,
    );
    let expected = vec![
        Value::Int(7),
        Value::Long(3),
        Value::String("y".into()),
        Value::Int(1),
        Value::Null,
    ];
    assert_same(&read(&writer, &more, &value), &Value::Record(expected));
}

#[test]
fn records_out_of_order_within_one_another() {
    let inner =
        |fields: &str| format!(r#"{{"type": "record", "name": "I", "fields": [{fields}]}}"#);
    let (p, q) = (
        r#"{"name": "p", "type": "int"}"#,
        r#"{"name": "q", "type": "string"}"#,
    );
    let items = |inner: String| {
        record(&format!(
            r#"{{"name": "all", "type": {{"type": "array", "items": {inner}}}}}, {{"name": "n", "type": "int"}}"#
        ))
    };
    let swapped = |inner: String| {
        record(&format!(
            r#"{{"name": "n", "type": "int"}}, {{"name": "all", "type": {{"type": "array", "items": {inner}}}}}"#
        ))
    };
    let writer = items(inner(&format!("{p}, {q}")));
    let reader = swapped(inner(&format!("{q}, {p}")));
    let pair = |p: i32| [Value::Int(p), Value::String(p.to_string())];
    let written = (1..4).map(|i| Value::Record(pair(i).into())).collect();
    let read_as = (1..4)
        .map(|i| Value::Record(pair(i).into_iter().rev().collect()))
        .collect();
    assert_same(
        &read(
            &writer,
            &reader,
            &Value::Record(vec![Value::Array(written), Value::Int(9)]),
        ),
        &Value::Record(vec![Value::Int(9), Value::Array(read_as)]),
    );
}

#[test]
fn fields_are_matched_by_the_readers_aliases() {
    let writer = record(r#"{"name": "old", "type": "int"}, {"name": "b", "type": "int"}"#);
    let value = Value::Record(vec![Value::Int(1), Value::Int(2)]);
    let int = |name: &str, more: &str| format!(r#"{{"name": "{name}", "type": "int"{more}}}"#);
    let check = |fields: &[String], expected: &[i32]| {
        let expected = expected.iter().map(|&n| Value::Int(n)).collect();
        assert_same(
            &read(&writer, &record(&fields.join(",")), &value),
            &Value::Record(expected),
        );
    };
    check(
        &[int("b", ""), int("new", r#", "aliases": ["x", "old"]"#)],
        &[2, 1],
    );
    // A field's own name has priority over another field's alias.
    let aliased = int("new", r#", "aliases": ["old"], "default": 7"#);
    check(&[aliased.clone(), int("old", "")], &[7, 1]);
    // An alias is not used if the field's own name is found.
    check(&[int("b", r#", "aliases": ["old"]"#)], &[2]);
    // If two fields have the alias, the first gets the value.
    let second = int("newer", r#", "aliases": ["old"], "default": 8"#);
    check(&[aliased, second.clone()], &[1, 8]);
    // If another field takes the name of an alias, the next alias is used.
    check(
        &[int("old", ""), int("n", r#", "aliases": ["old", "b"]"#)],
        &[1, 2],
    );

    // Aliases of the writer are ignored.
    let writer = record(r#"{"name": "a", "aliases": ["b"], "type": "int"}"#);
    let error = refused(&writer, &record(r#"{"name": "b", "type": "int"}"#));
    assert_eq!(error.field, "b");
}

#[test]
fn named_types_match_by_simple_name_or_alias() {
    let types = [
        ("record", r#""fields": []"#, Value::Record(vec![])),
        ("enum", r#""symbols": ["A"]"#, Value::Enum(0)),
        ("fixed", r#""size": 1"#, Value::Fixed(vec![5])),
    ];
    for (ty, rest, value) in types {
        let named = |name: &str| format!(r#"{{"type": "{ty}", {name}, {rest}}}"#);
        let writer = named(r#""name": "x.T""#);
        for reader in [
            r#""name": "x.T""#,
            r#""name": "T""#,
            r#""name": "y.T""#,
            r#""name": "y.U", "aliases": ["V", "x.T"]"#,
            r#""name": "y.U", "aliases": ["T"]"#,
        ] {
            assert_same(&read(&writer, &named(reader), &value), &value);
        }
        let error = refused(&writer, &named(r#""name": "x.U", "aliases": ["V"]"#));
        let expected = format!(
            "{ty} 'x.T' cannot be read as {ty} 'x.U': the names differ, and no alias is the writer's name"
        );
        assert_eq!(error.to_string(), expected);
        // Aliases of the writer are ignored.
        refused(
            &named(r#""name": "T", "aliases": ["U"]"#),
            &named(r#""name": "U""#),
        );
    }
}

#[test]
fn fixeds_have_one_size() {
    let fixed = |size| format!(r#"{{"type": "fixed", "name": "F", "size": {size}}}"#);
    let error = refused(&fixed(4), &fixed(8));
    assert_eq!(
        error.to_string(),
        "fixed 'F' cannot be read as fixed 'F': 4 bytes, not 8"
    );
}

#[test]
fn symbols_are_matched_by_name() {
    let symbols = |symbols: &str, more: &str| {
        format!(r#"{{"type": "enum", "name": "E", "symbols": [{symbols}]{more}}}"#)
    };
    let writer = symbols(r#""A", "B", "C""#, "");
    let reordered = symbols(r#""C", "A", "B""#, "");
    for (symbol, expected) in [(0, 1), (1, 2), (2, 0)] {
        assert_same(
            &read(&writer, &reordered, &Value::Enum(symbol)),
            &Value::Enum(expected),
        );
    }
    let with_default = symbols(r#""C", "X", "A""#, r#", "default": "X""#);
    for (symbol, expected) in [(0, 2), (1, 1), (2, 0)] {
        assert_same(
            &read(&writer, &with_default, &Value::Enum(symbol)),
            &Value::Enum(expected),
        );
    }
    // The writer's default is ignored, and so is a default that is not a symbol.
    let writer = symbols(r#""A", "B""#, r#", "default": "A""#);
    for reader in [
        symbols(r#""A""#, ""),
        symbols(r#""A""#, r#", "default": "X""#),
    ] {
        let (slow, fast) = fails(&writer, &reader, &Value::Enum(1));
        let expected = "enum 'E' has neither the symbol 'B' nor a default";
        assert_eq!(slow.to_string(), expected);
        assert_eq!(fast.to_string(), format!("byte 0: {expected}"));
    }
}

#[test]
fn arrays_and_maps_match_if_what_is_in_them_does() {
    let array = |items: &str| format!(r#"{{"type": "array", "items": {items}}}"#);
    let map = |values: &str| format!(r#"{{"type": "map", "values": {values}}}"#);
    let ints = [1, 2].map(Value::Int);
    let longs = [1, 2].map(Value::Long);
    assert_same(
        &read(
            &array(r#""int""#),
            &array(r#""long""#),
            &Value::Array(ints.to_vec()),
        ),
        &Value::Array(longs.to_vec()),
    );
    let entries = |values: [Value; 2]| {
        Value::Map(
            ["k", "é"]
                .map(str::to_owned)
                .into_iter()
                .zip(values)
                .collect(),
        )
    };
    assert_same(
        &read(&map(r#""int""#), &map(r#""long""#), &entries(ints)),
        &entries(longs),
    );
    for wrap in [array, map] {
        let error = refused(&wrap(&wrap(r#""int""#)), &wrap(&wrap(r#""string""#)));
        assert_eq!(error.to_string(), "int cannot be read as string");
    }
    let error = refused(&array(r#""int""#), &map(r#""int""#));
    assert_eq!(
        error.to_string(),
        "array of int cannot be read as map of int"
    );
}

#[test]
fn recursive_types() {
    let writer = r#"{"type": "record", "name": "List", "fields": [
        {"name": "value", "type": "int"},
        {"name": "next", "type": ["null", "List"]}
    ]}"#;
    let reader = r#"{"type": "record", "name": "Chain", "aliases": ["List"], "fields": [
        {"name": "tail", "aliases": ["next"], "type": ["Chain", "null"]},
        {"name": "value", "type": "long"}
    ]}"#;
    let null = |branch| Value::Union(branch, Box::new(Value::Null));
    let last = Value::Record(vec![Value::Int(2), null(0)]);
    let list = Value::Record(vec![Value::Int(1), Value::Union(1, Box::new(last))]);
    let last = Value::Record(vec![null(1), Value::Long(2)]);
    let chain = Value::Record(vec![Value::Union(0, Box::new(last)), Value::Long(1)]);
    assert_same(&read(writer, reader, &list), &chain);
    let resolution = resolution(writer, reader);
    assert_eq!(resolution.nodes.len(), 6, "each pair is there once");
}
