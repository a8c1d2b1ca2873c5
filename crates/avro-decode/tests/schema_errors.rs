//! Texts that are not schemas, with the error and its position. Defaults that do not match their
//! types.

#![allow(clippy::unwrap_used)]

use avro_decode::limits::{MAX_NAME_BYTES, MAX_SCHEMA_BYTES, MAX_SCHEMA_DEPTH};
use avro_decode::schema::SchemaErrorKind as Kind;
use avro_decode::{Schema, SchemaError};
use proptest::prelude::*;

fn refused(text: &str) -> SchemaError {
    Schema::parse(text).map(|s| s.to_json()).unwrap_err()
}

#[track_caller]
fn assert_refused(text: &str, path: &str, kind: Kind) {
    let error = refused(text);
    assert_eq!((error.path.as_str(), error.kind), (path, kind));
}

/// A record with these fields.
fn record(fields: &str) -> String {
    format!(r#"{{"type": "record", "name": "R", "fields": [{fields}]}}"#)
}

fn bad(attribute: &'static str, expected: &'static str) -> Kind {
    Kind::BadAttribute {
        attribute,
        expected,
    }
}

#[test]
fn not_json() {
    let Kind::Json { line, column, .. } = refused("{\n  \"type\": }").kind else {
        panic!("another kind is not expected");
    };
    assert_eq!((line, column), (2, 11));
    let error = refused("[1,");
    assert_eq!(
        error.to_string(),
        "schema: not JSON, line 1 column 3: EOF while parsing a value"
    );
    assert!(matches!(refused("").kind, Kind::Json { .. }));
    assert_eq!(refused(&"[".repeat(9999)).kind, Kind::TooDeep);
    assert!(matches!(refused("\"int\" x").kind, Kind::Json { .. }));
}

#[test]
fn not_a_type() {
    assert_refused("1", "", Kind::NotAType);
    assert_refused("null", "", Kind::NotAType);
    assert_refused(r#"["null", true]"#, "/1", Kind::NotAType);
    assert_refused(r#"{"type": 5}"#, "/type", Kind::NotAType);
    assert_refused("{}", "", Kind::Missing("type"));
    assert_refused(r#""strnig""#, "", Kind::UnknownType("strnig".into()));
    assert_refused(
        &record(r#"{"name": "a", "type": {"type": "array", "items": "Foo"}}"#),
        "/fields/0/type/items",
        Kind::UnknownType("Foo".into()),
    );
    assert_refused(
        r#"{"type": "map", "values": {"type": "Foo"}}"#,
        "/values/type",
        Kind::UnknownType("Foo".into()),
    );
    let error = refused(&record(r#"{"name": "a", "type": "Foo"}"#));
    assert_eq!(
        error.to_string(),
        r#"schema, at /fields/0/type: unknown type "Foo""#
    );
}

#[test]
fn attributes_that_are_missing_or_wrong() {
    assert_refused(r#"{"type": "array"}"#, "", Kind::Missing("items"));
    assert_refused(r#"{"type": "map"}"#, "", Kind::Missing("values"));
    assert_refused(
        r#"{"type": "record", "fields": []}"#,
        "",
        Kind::Missing("name"),
    );
    assert_refused(
        r#"{"type": "record", "name": "R"}"#,
        "",
        Kind::Missing("fields"),
    );
    assert_refused(
        r#"{"type": "record", "name": "R", "fields": {}}"#,
        "",
        bad("fields", "an array"),
    );
    assert_refused(
        &record("5"),
        "/fields/0",
        bad("fields", "an array of objects"),
    );
    assert_refused(
        &record(r#"{"name": "a", "type": "int"}, {"type": "int"}"#),
        "/fields/1",
        Kind::Missing("name"),
    );
    assert_refused(
        &record(r#"{"name": "a"}"#),
        "/fields/0",
        Kind::Missing("type"),
    );
    assert_refused(
        &record(r#"{"name": 1, "type": "int"}"#),
        "/fields/0",
        bad("name", "a string"),
    );
    assert_refused(
        &record(r#"{"name": "a", "type": "int", "order": "up"}"#),
        "/fields/0",
        bad("order", r#""ascending", "descending" or "ignore""#),
    );
    assert_refused(
        &record(r#"{"name": "a", "type": "int", "aliases": "b"}"#),
        "/fields/0",
        bad("aliases", "an array of strings"),
    );
    assert_refused(
        r#"{"type": "enum", "name": "E"}"#,
        "",
        Kind::Missing("symbols"),
    );
    assert_refused(
        r#"{"type": "enum", "name": "E", "symbols": "A"}"#,
        "",
        bad("symbols", "an array of strings"),
    );
    assert_refused(
        r#"{"type": "enum", "name": "E", "symbols": ["A", 1]}"#,
        "/symbols/1",
        bad("symbols", "an array of strings"),
    );
    assert_refused(
        r#"{"type": "fixed", "name": "F"}"#,
        "",
        Kind::Missing("size"),
    );
    for size in ["-1", "1.5", "\"4\"", "1e30"] {
        assert_refused(
            &format!(r#"{{"type": "fixed", "name": "F", "size": {size}}}"#),
            "",
            bad("size", "a number of bytes"),
        );
    }
}

#[test]
fn names_that_are_not() {
    for name in ["", "1a", "a-b", "a.", "a..b", "é", "a b", "a.1"] {
        assert_refused(
            &format!(r#"{{"type": "fixed", "name": "{name}", "size": 1}}"#),
            "/name",
            Kind::BadName(name.into()),
        );
    }
    assert_refused(
        r#"{"type": "fixed", "name": "F", "namespace": "a-b", "size": 1}"#,
        "/name",
        Kind::BadName("a-b.F".into()),
    );
    assert_refused(
        r#"{"type": "fixed", "name": "F", "aliases": ["G", "?"], "size": 1}"#,
        "/aliases",
        Kind::BadName("?".into()),
    );
    assert_refused(
        &record(r#"{"name": "a.b", "type": "int"}"#),
        "/fields/0/name",
        Kind::BadName("a.b".into()),
    );
    assert_refused(
        r#"{"type": "enum", "name": "E", "symbols": ["A", "2"]}"#,
        "/symbols/1",
        Kind::BadName("2".into()),
    );
    assert_refused(
        r#"{"type": "fixed", "name": "a.int", "size": 1}"#,
        "/name",
        Kind::ReservedName("int".into()),
    );
    let long = "a".repeat(MAX_NAME_BYTES);
    assert_refused(
        &format!(r#"{{"type": "fixed", "name": "{long}", "size": 1}}"#),
        "/name",
        Kind::NameTooLong,
    );
}

#[test]
fn what_is_there_twice() {
    assert_refused(
        &record(
            r#"{"name": "a", "type": {"type": "fixed", "name": "F", "size": 1}},
               {"name": "b", "type": {"type": "fixed", "name": "F", "size": 1}}"#,
        ),
        "/fields/1/type",
        Kind::DuplicateName("F".into()),
    );
    assert_refused(
        &record(r#"{"name": "a", "type": {"type": "enum", "name": "R", "symbols": []}}"#),
        "/fields/0/type",
        Kind::DuplicateName("R".into()),
    );
    assert_refused(
        &record(r#"{"name": "a", "type": "int"}, {"name": "a", "type": "int"}"#),
        "/fields/1",
        Kind::DuplicateField("a".into()),
    );
    assert_refused(
        r#"{"type": "enum", "name": "E", "symbols": ["A", "B", "A"]}"#,
        "/symbols/2",
        Kind::DuplicateSymbol("A".into()),
    );
}

#[test]
fn unions_that_are_not() {
    assert_refused(
        r#"["int", "null", {"type": "int", "logicalType": "date"}]"#,
        "/2",
        Kind::DuplicateBranch("int".into()),
    );
    assert_refused(
        r#"[{"type": "map", "values": "int"}, {"type": "map", "values": "long"}]"#,
        "/1",
        Kind::DuplicateBranch("map".into()),
    );
    assert_refused(
        r#"[{"type": "fixed", "name": "a.F", "size": 1}, "a.F"]"#,
        "/1",
        Kind::DuplicateBranch("a.F".into()),
    );
    assert_refused(r#"["null", ["int"]]"#, "/1", Kind::NestedUnion);
    assert_refused(r#"[{"type": ["int"]}]"#, "/0", Kind::NestedUnion);
    // A union may have several named types of one kind.
    let fixed = r#"[{"type": "fixed", "name": "F", "size": 1},
        {"type": "fixed", "name": "G", "size": 1}]"#;
    assert!(Schema::parse(fixed).is_ok());
}

#[test]
fn types_defined_later_are_unknown() {
    assert_refused(
        &record(
            r#"{"name": "a", "type": "F"},
               {"name": "b", "type": {"type": "fixed", "name": "F", "size": 1}}"#,
        ),
        "/fields/0/type",
        Kind::UnknownType("F".into()),
    );
    // A reference without a namespace is unknown if the type has a namespace.
    assert_refused(
        r#"[{"type": "fixed", "name": "a.F", "size": 1}, {"type": "array", "items": "F"}]"#,
        "/1/items",
        Kind::UnknownType("F".into()),
    );
}

#[test]
fn limits() {
    let arrays = |n: usize| {
        let opening = r#"{"type":"array","items":"#.repeat(n);
        format!("{opening}\"int\"{}", "}".repeat(n))
    };
    assert!(Schema::parse(&arrays(MAX_SCHEMA_DEPTH - 1)).is_ok());
    assert_eq!(refused(&arrays(MAX_SCHEMA_DEPTH)).kind, Kind::TooDeep);
    let bytes = MAX_SCHEMA_BYTES + 1;
    let text = format!("\"int\"{}", " ".repeat(bytes - 5));
    assert_refused(&text, "", Kind::TooLong { bytes });
    assert!(Schema::parse(&text[..MAX_SCHEMA_BYTES]).is_ok());
}

/// The positions of the defaults that do not match.
fn bad_defaults(text: &str) -> Vec<String> {
    match Schema::parse(text).unwrap().check_defaults() {
        Ok(()) => Vec::new(),
        Err(errors) => errors
            .into_iter()
            .map(|error| {
                assert_eq!(error.kind, Kind::BadDefault);
                error.path
            })
            .collect(),
    }
}

#[test]
fn defaults_that_match_and_that_do_not() {
    let fixed = r#"{"type": "fixed", "name": "F", "size": 2}"#;
    let symbols = r#"{"type": "enum", "name": "E", "symbols": ["A"]}"#;
    let ints = r#"{"type": "array", "items": "int"}"#;
    let map = r#"{"type": "map", "values": "int"}"#;
    let nested = r#"{"type": "record", "name": "N", "fields": [
        {"name": "a", "type": "int"}, {"name": "b", "type": "int", "default": 1}]}"#;
    for (ty, good, not) in [
        (r#""null""#, "null", "0"),
        (r#""boolean""#, "true", "1"),
        (r#""int""#, "-2147483648", "2147483648"),
        (r#""int""#, "0", "0.5"),
        (r#""long""#, "9223372036854775807", "9223372036854775808"),
        (r#""float""#, "1", r#""1""#),
        (r#""double""#, "1.5", "null"),
        (r#""bytes""#, r#""\u00ff""#, r#""\u0100""#),
        (r#""string""#, r#""\u0100""#, "1"),
        (fixed, r#""\u0000\u00ff""#, r#""a""#),
        (symbols, r#""A""#, r#""B""#),
        (ints, "[1, 2]", "[1, null]"),
        (ints, "[]", "{}"),
        (map, r#"{"a": 1}"#, r#"{"a": "b"}"#),
        (map, "{}", "[]"),
        (nested, r#"{"a": 1}"#, r#"{"b": 1}"#),
        (nested, r#"{"a": 1, "b": 2}"#, r#"{"a": 1, "b": "2"}"#),
        (r#"["null", "int"]"#, "null", r#""a""#),
        (r#"["string", "null"]"#, "null", "1"),
        ("[]", "null", "null"),
    ] {
        let field = |default| {
            record(&format!(
                r#"{{"name": "x", "type": {ty}, "default": {default}}}"#
            ))
        };
        if ty != "[]" {
            assert!(bad_defaults(&field(good)).is_empty(), "{ty}: {good}");
        }
        assert_eq!(bad_defaults(&field(not)), ["/fields/0/default"]);
    }
}

#[test]
fn every_bad_default_is_listed() {
    let text = record(
        r#"{"name": "a", "type": "int", "default": "x"},
           {"name": "b", "type": {"type": "enum", "name": "E", "symbols": ["A"], "default": "B"}},
           {"name": "c", "type": ["null", "R"], "default": {"a": 1, "b": "A", "c": null}},
           {"name": "d", "type": {"type": "array", "items": {"type": "record", "name": "S",
               "fields": [{"name": "e", "type": "null", "default": 0}]}}},
           {"name": "f", "type": {"type": "enum", "name": "G", "symbols": ["A"], "default": 1}}"#,
    );
    assert_eq!(
        bad_defaults(&text),
        [
            "/fields/0/default",
            "/fields/1/type/default",
            "/fields/2/default",
            "/fields/3/type/items/fields/0/default",
            "/fields/4/type/default",
        ]
    );
}

#[test]
fn a_default_of_nested_unions_is_checked_in_bounded_time() {
    // Each level can be one of two records. Only the innermost value does not match, so trying all
    // combinations would take 2^35 steps.
    let depth = 35;
    let default = format!("{}1{}", r#"{"f": "#.repeat(depth), "}".repeat(depth));
    let text = record(&format!(
        r#"{{"name": "a", "type": {{"type": "record", "name": "A", "fields": [
              {{"name": "f", "type": ["null", "A", {{"type": "record", "name": "B", "fields": [
                  {{"name": "f", "type": ["null", "A", "B"]}}]}}]}}]}}}},
           {{"name": "b", "type": ["A", "B"], "default": {default}}}"#
    ));
    assert_eq!(bad_defaults(&text), ["/fields/1/default"]);
}

proptest! {
    #[test]
    fn no_text_is_too_bad(text in any::<String>()) {
        let _: Result<Schema, SchemaError> = Schema::parse(&text);
    }

    #[test]
    fn no_words_of_schemas_are_too_bad(words in prop::collection::vec(0usize..24, 0..60)) {
        const WORDS: [&str; 24] = [
            "{", "}", "[", "]", ",", ":", "\"type\"", "\"name\"", "\"fields\"", "\"items\"",
            "\"values\"", "\"symbols\"", "\"size\"", "\"record\"", "\"array\"", "\"map\"",
            "\"enum\"", "\"fixed\"", "\"int\"", "\"R\"", "\"default\"", "null", "1", "\"\"",
        ];
        let text: String = words.iter().map(|&word| WORDS[word]).collect();
        if let Ok(schema) = Schema::parse(&text) {
            prop_assert_eq!(Schema::parse(&schema.to_string()).unwrap().to_json(), schema.to_json());
        }
    }
}
