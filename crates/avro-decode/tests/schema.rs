//! Valid schemas and their parsed types.

#![allow(clippy::unwrap_used)]

mod common;

use avro_decode::Schema;
use avro_decode::schema::{Enum, Field, Fixed, LogicalType, Node, NodeId, Order, Record};
use proptest::prelude::*;
use serde_json::json;

fn parse(text: &str) -> Schema {
    Schema::parse(text).unwrap()
}

fn root(schema: &Schema) -> &Node {
    schema.node(schema.root())
}

fn record(schema: &Schema, id: NodeId) -> &Record {
    match schema.node(id) {
        Node::Record(record) => record,
        other => panic!("a record is expected, not {other:?}"),
    }
}

fn root_field<'s>(schema: &'s Schema, name: &str) -> &'s Field {
    let (_, field) = record(schema, schema.root()).field(name).unwrap();
    field
}

fn names(schema: &Schema) -> Vec<String> {
    let mut names = Vec::new();
    collect_names(schema, schema.root(), &mut names);
    names
}

/// The full names of the types, in the order of the text.
fn collect_names(schema: &Schema, id: NodeId, names: &mut Vec<String>) {
    let node = schema.node(id);
    if let Some(name) = node.name() {
        if names.contains(&name.to_string()) {
            return;
        }
        names.push(name.to_string());
    }
    match node {
        Node::Record(record) => {
            for field in &record.fields {
                collect_names(schema, field.ty, names);
            }
        }
        Node::Union(branches) => {
            for &branch in branches {
                collect_names(schema, branch, names);
            }
        }
        Node::Array(inner) | Node::Map(inner) => collect_names(schema, *inner, names),
        _ => {}
    }
}

#[test]
fn primitives_in_every_form() {
    for (name, node) in [
        ("null", Node::Null),
        ("boolean", Node::Boolean),
        ("int", Node::Int),
        ("long", Node::Long),
        ("float", Node::Float),
        ("double", Node::Double),
        ("bytes", Node::Bytes),
        ("string", Node::String),
    ] {
        for text in [
            format!(r#""{name}""#),
            format!(r#"{{"type": "{name}"}}"#),
            format!(r#"{{"type": {{"type": "{name}"}}}}"#),
            format!(r#"{{"type": "{name}", "avro.java.string": "String", "x": [1]}}"#),
        ] {
            let schema = parse(&text);
            assert_eq!(root(&schema), &node, "{text}");
            assert_eq!(root(&schema).type_name(), name);
            assert_eq!(schema.logical(schema.root()), None);
        }
    }
}

#[test]
fn a_record_with_everything() {
    let schema = parse(
        r#"{"type": "record", "name": "LongList", "namespace": "org.x",
            "aliases": ["LinkedLongs", "old.Longs"], "doc": "a list",
            "fields": [
                {"name": "value", "type": "long", "doc": "here", "default": 7,
                 "aliases": ["v"], "order": "descending"},
                {"name": "next", "type": ["null", "LongList"], "order": "ignore"}]}"#,
    );
    let list = record(&schema, schema.root());
    assert_eq!(list.name.to_string(), "org.x.LongList");
    assert_eq!(list.name.simple(), "LongList");
    assert_eq!(list.name.namespace(), Some("org.x"));
    assert_eq!(list.doc.as_deref(), Some("a list"));
    let aliases: Vec<_> = list.aliases.iter().map(|name| name.to_string()).collect();
    assert_eq!(aliases, ["org.x.LinkedLongs", "old.Longs"]);
    let value = &list.fields[0];
    assert_eq!(schema.node(value.ty), &Node::Long);
    assert_eq!(value.default, Some(json!(7)));
    assert_eq!(value.aliases, ["v"]);
    assert_eq!(value.order, Order::Descending);
    assert_eq!(value.doc.as_deref(), Some("here"));
    let (position, next) = list.field("next").unwrap();
    assert_eq!((position, next.order), (1, Order::Ignore));
    assert_eq!(next.default, None);
    let Node::Union(branches) = schema.node(next.ty) else {
        panic!("a union is expected");
    };
    assert_eq!(schema.node(branches[0]), &Node::Null);
    assert_eq!(branches[1], schema.root(), "recursion is the same id");
    assert!(list.field("nothing").is_none());
}

#[test]
fn an_error_is_a_record() {
    let schema = parse(r#"{"type": "error", "name": "E", "fields": []}"#);
    assert_eq!(record(&schema, schema.root()).name.to_string(), "E");
}

#[test]
fn enums_and_fixed() {
    let schema = parse(
        r#"{"type": "enum", "name": "Suit", "doc": "of cards", "aliases": ["S"],
            "symbols": ["SPADES", "HEARTS"], "default": "HEARTS"}"#,
    );
    let Node::Enum(Enum {
        symbols, default, ..
    }) = root(&schema)
    else {
        panic!("an enum is expected");
    };
    assert_eq!(symbols, &["SPADES", "HEARTS"]);
    assert_eq!(default.as_deref(), Some("HEARTS"));

    let schema = parse(r#"{"type": "fixed", "name": "md5", "size": 16}"#);
    assert!(matches!(root(&schema), Node::Fixed(Fixed { size: 16, .. })));
}

#[test]
fn arrays_maps_and_unions() {
    let schema = parse(
        r#"{"type": "array", "items": {"type": "map", "values": ["null", "string",
            {"type": "array", "items": "int"}, {"type": "map", "values": "int"}]}}"#,
    );
    let Node::Array(items) = root(&schema) else {
        panic!("an array is expected");
    };
    let Node::Map(values) = schema.node(*items) else {
        panic!("a map is expected");
    };
    let Node::Union(branches) = schema.node(*values) else {
        panic!("a union is expected");
    };
    let types = branches.iter().map(|&id| schema.node(id).type_name());
    assert!(types.eq(["null", "string", "array", "map"]));
}

#[test]
fn namespaces_by_the_specification() {
    // The example of the section "Names", and an empty namespace.
    let schema = parse(
        r#"{"type": "record", "name": "Example", "namespace": "com.x", "fields": [
            {"name": "inherit", "type": {"type": "enum", "name": "inherited", "symbols": ["d"]}},
            {"name": "explicit", "type": {"type": "fixed", "name": "explicit",
                "namespace": "explicit", "size": 12}},
            {"name": "full", "type": {"type": "fixed", "name": "a.full.Name",
                "namespace": "ignored", "size": 12}},
            {"name": "none", "type": {"type": "record", "name": "None", "namespace": "",
                "fields": [{"name": "inner", "type":
                    {"type": "fixed", "name": "Inner", "size": 1}}]}}]}"#,
    );
    assert_eq!(
        names(&schema),
        [
            "com.x.Example",
            "com.x.inherited",
            "explicit.explicit",
            "a.full.Name",
            "None",
            "Inner"
        ]
    );
    assert_eq!(schema.find("com.x.Example"), Some(schema.root()));
    assert!(schema.find("Inner").is_some());
    assert!(schema.find("com.x.Inner").is_none());
    assert!(schema.find("Example").is_none());
}

#[test]
fn references() {
    let schema = parse(
        r#"{"type": "record", "name": "a.R", "fields": [
            {"name": "outside", "type": {"type": "fixed", "name": "F", "namespace": "", "size": 1}},
            {"name": "other", "type": {"type": "fixed", "name": "F", "namespace": "b", "size": 2}},
            {"name": "falls_back", "type": "F"},
            {"name": "own", "type": {"type": "fixed", "name": "F", "size": 3}},
            {"name": "simple", "type": "F"},
            {"name": "full", "type": "b.F"},
            {"name": "object", "type": {"type": "b.F"}},
            {"name": "list", "type": {"type": "array", "items": "R"}}]}"#,
    );
    let ty = |name| root_field(&schema, name).ty;
    assert_eq!(ty("falls_back"), ty("outside"));
    assert_eq!(ty("simple"), ty("own"));
    assert_eq!(ty("full"), ty("other"));
    assert_eq!(ty("object"), ty("other"));
    assert_eq!(schema.node(ty("list")), &Node::Array(schema.root()));
}

#[test]
fn null_for_what_may_be_left_out() {
    let schema = parse(
        r#"{"type": "record", "name": "R", "namespace": null, "doc": null, "aliases": null,
            "fields": [{"name": "a", "type": ["null", "int"], "default": null,
                "aliases": null, "order": null}]}"#,
    );
    let field = root_field(&schema, "a");
    assert_eq!(field.default, Some(json!(null)), "this is a default");
}

#[test]
fn logical_types() {
    use LogicalType::*;
    let logical = |ty: &str, name: &str, more: &str| {
        let text =
            format!(r#"{{"type": "{ty}", "name": "F", "logicalType": "{name}", "size": 0{more}}}"#);
        let schema = parse(&text);
        assert_eq!(root(&schema).type_name(), ty);
        schema.logical(schema.root()).cloned()
    };
    for (ty, name, expected) in [
        ("bytes", "big-decimal", BigDecimal),
        ("string", "uuid", Uuid),
        ("int", "date", Date),
        ("int", "time-millis", TimeMillis),
        ("long", "time-micros", TimeMicros),
        ("long", "timestamp-millis", TimestampMillis),
        ("long", "timestamp-micros", TimestampMicros),
        ("long", "timestamp-nanos", TimestampNanos),
        ("long", "local-timestamp-millis", LocalTimestampMillis),
        ("long", "local-timestamp-micros", LocalTimestampMicros),
        ("long", "local-timestamp-nanos", LocalTimestampNanos),
        ("double", "something", Unknown("something".into())),
    ] {
        assert_eq!(expected.name(), name);
        assert_eq!(logical(ty, name, ""), Some(expected));
        if name != "something" {
            assert_eq!(logical("float", name, ""), None, "{name} is not for float");
        }
    }
    let decimal = |precision, scale| Some(Decimal { precision, scale });
    for (more, expected) in [
        (r#", "precision": 4, "scale": 2"#, decimal(4, 2)),
        (r#", "precision": 4"#, decimal(4, 0)),
        (r#", "precision": 4, "scale": 5"#, None),
        (r#", "precision": 0"#, None),
        (r#", "precision": 4, "scale": -1"#, None),
        (r#", "precision": "4""#, None),
        ("", None),
    ] {
        assert_eq!(logical("bytes", "decimal", more), expected, "{more}");
    }
    assert_eq!(logical("int", "decimal", r#", "precision": 4"#), None);
}

#[test]
fn logical_types_of_fixed() {
    let logical = |size: usize, name: &str, precision: u32| {
        let schema = parse(&format!(
            r#"{{"type": "fixed", "name": "F", "size": {size},
                "logicalType": "{name}", "precision": {precision}}}"#
        ));
        schema.logical(schema.root()).is_some()
    };
    assert!(logical(12, "duration", 1));
    assert!(!logical(11, "duration", 1));
    assert!(logical(16, "uuid", 1));
    assert!(!logical(12, "uuid", 1));
    // The maximum of one byte is 127, of two 32767, of eight 9223372036854775807.
    for (size, digits) in [(1, 2), (2, 4), (8, 18), (16, 38)] {
        assert!(logical(size, "decimal", digits));
        assert!(!logical(size, "decimal", digits + 1));
    }
    assert!(!logical(0, "decimal", 1));
}

#[test]
fn printed_and_parsed_again_it_is_the_same() {
    let text = r#"{"type": "record", "name": "a.R", "aliases": ["Old"], "doc": "d", "fields": [
        {"name": "x", "type": {"type": "fixed", "name": "F", "namespace": "", "size": 16,
            "logicalType": "decimal", "precision": 9, "scale": 2}, "doc": "e",
            "default": "\u0000", "aliases": ["y"], "order": "descending"},
        {"name": "again", "type": ["null", "F", "R"], "order": "ignore"},
        {"name": "e", "type": {"type": "enum", "name": "E", "symbols": ["A"], "default": "A"}},
        {"name": "d", "type": {"type": "int", "logicalType": "date"}},
        {"name": "m", "type": {"type": "map", "values": {"type": "array", "items": "E"}}}]}"#;
    let schema = parse(text);
    let printed = schema.to_json();
    assert_eq!(
        printed,
        json!({"type": "record", "name": "a.R", "aliases": ["a.Old"], "doc": "d", "fields": [
            {"name": "x", "doc": "e", "type": {"type": "fixed", "name": "F", "namespace": "",
                "size": 16, "logicalType": "decimal", "precision": 9, "scale": 2},
                "default": "\u{0}", "aliases": ["y"], "order": "descending"},
            {"name": "again", "type": ["null", "F", "a.R"], "order": "ignore"},
            {"name": "e", "type": {"type": "enum", "name": "a.E", "symbols": ["A"],
                "default": "A"}},
            {"name": "d", "type": {"type": "int", "logicalType": "date"}},
            {"name": "m", "type": {"type": "map", "values": {"type": "array", "items": "a.E"}}}
        ]})
    );
    let again = parse(&schema.to_string());
    assert_eq!(again.to_json(), printed);
    assert!(!schema.to_string().contains('\n'));
    assert_eq!(parse(&format!("{schema:#}")).to_json(), printed);
    assert!(format!("{schema:#}").contains('\n'));
}

proptest! {
    #[test]
    fn any_schema_printed_and_parsed_again_is_the_same(json in common::arb_schema_json()) {
        let schema = parse(&json.to_string());
        let printed = schema.to_string();
        let again: Schema = printed.parse().unwrap();
        prop_assert_eq!(&again.to_string(), &printed);
        prop_assert_eq!(names(&again), names(&schema));
        prop_assert_eq!(again.node_count(), schema.node_count());
        prop_assert_eq!(
            again.min_encoded_len(again.root()),
            schema.min_encoded_len(schema.root())
        );
        prop_assert_eq!(schema.check_defaults(), Ok(()));
    }
}
