//! Defaults of fields that the writer lacks.

use avro_decode::Value;

use super::common::assert_same;
use super::harness::{read, record, refused};

/// The value of a field with this type and default.
fn filled(ty: &str, default: &str) -> Value {
    let reader = record(&format!(
        r#"{{"name": "f", "type": {ty}, "default": {default}}}"#
    ));
    match read(&record(""), &reader, &Value::Record(vec![])) {
        Value::Record(mut fields) => fields.remove(0),
        other => panic!("{other:?} is not a record"),
    }
}

fn refused_default(ty: &str, default: &str) -> String {
    let reader = record(&format!(
        r#"{{"name": "f", "type": {ty}, "default": {default}}}"#
    ));
    refused(&record(""), &reader).to_string()
}

#[test]
fn of_each_type() {
    let check = |ty: &str, default: &str, expected: Value| {
        assert_same(&filled(ty, default), &expected);
    };
    check(r#""null""#, "null", Value::Null);
    check(r#""boolean""#, "true", Value::Boolean(true));
    check(r#""int""#, "-3", Value::Int(-3));
    check(r#""long""#, "9223372036854775807", Value::Long(i64::MAX));
    check(r#""float""#, "1", Value::Float(1.0));
    check(r#""float""#, "0.1", Value::Float(0.1));
    check(r#""double""#, "1e300", Value::Double(1e300));
    check(r#""string""#, r#""é🜄""#, Value::String("é🜄".into()));
    check(
        r#""bytes""#,
        r#""\u00ff\u0000a""#,
        Value::Bytes(vec![255, 0, 97]),
    );
    let fixed = r#"{"type": "fixed", "name": "F", "size": 2}"#;
    check(fixed, r#""\u00ffa""#, Value::Fixed(vec![255, 97]));
    let symbols = r#"{"type": "enum", "name": "E", "symbols": ["A", "B"]}"#;
    check(symbols, r#""B""#, Value::Enum(1));
    let array = r#"{"type": "array", "items": "int"}"#;
    check(array, "[1, 2]", Value::Array([1, 2].map(Value::Int).into()));
    check(array, "[]", Value::Array(vec![]));
    let map = r#"{"type": "map", "values": "int"}"#;
    check(
        map,
        r#"{"b": 1, "a": 2}"#,
        Value::Map(vec![
            ("b".into(), Value::Int(1)),
            ("a".into(), Value::Int(2)),
        ]),
    );
}

#[test]
fn of_unions_any_branch() {
    let check = |default: &str, branch: usize, expected: Value| {
        let ty = r#"["null", "long", "double", "string", {"type": "array", "items": "int"}]"#;
        assert_same(
            &filled(ty, default),
            &Value::Union(branch, Box::new(expected)),
        );
    };
    check("null", 0, Value::Null);
    check("1", 1, Value::Long(1));
    check("1.5", 2, Value::Double(1.5));
    check(r#""s""#, 3, Value::String("s".into()));
    check("[5]", 4, Value::Array(vec![Value::Int(5)]));
}

#[test]
fn of_records_with_defaults_of_their_own() {
    let ty = r#"{"type": "record", "name": "I", "fields": [
        {"name": "a", "type": "int", "default": 1},
        {"name": "b", "type": ["string", "null"], "default": "b"},
        {"name": "c", "type": {"type": "record", "name": "J", "fields": [
            {"name": "d", "type": "int", "default": 4}
        ]}, "default": {}}
    ]}"#;
    let value = |a| {
        let b = Value::Union(0, Box::new(Value::String("b".into())));
        Value::Record(vec![Value::Int(a), b, Value::Record(vec![Value::Int(4)])])
    };
    assert_same(&filled(ty, "{}"), &value(1));
    assert_same(&filled(ty, r#"{"a": 2, "unknown": 3}"#), &value(2));
}

#[test]
fn that_do_not_match_are_errors_that_name_the_field() {
    let check = |ty: &str, default: &str, described: &str| {
        let expected = format!(
            "field 'f': the writer's record 'R' has no such field, and the default does not match {described}"
        );
        assert_eq!(refused_default(ty, default), expected);
    };
    check(r#""int""#, "2147483648", "int");
    check(r#""int""#, "1.0", "int");
    check(r#""long""#, "9223372036854775808", "long");
    check(r#""string""#, "null", "string");
    check(r#""bytes""#, r#""Ā""#, "bytes");
    check(
        r#"{"type": "fixed", "name": "F", "size": 2}"#,
        r#""a""#,
        "fixed 'F'",
    );
    check(
        r#"{"type": "enum", "name": "E", "symbols": ["A"]}"#,
        r#""B""#,
        "enum 'E'",
    );
    check(
        r#"{"type": "array", "items": "int"}"#,
        r#"[1, "x"]"#,
        "array of int",
    );
    check(r#"{"type": "map", "values": "int"}"#, "[]", "map of int");
    check(r#"["null", "int"]"#, r#""x""#, r#"["null", "int"]"#);
    let inner = r#"{"type": "record", "name": "I", "fields": [{"name": "a", "type": "int"}]}"#;
    check(inner, "{}", "record 'I'");
}

#[test]
fn are_not_looked_at_where_the_writer_has_the_field() {
    let writer = record(r#"{"name": "f", "type": "int"}"#);
    let reader = record(r#"{"name": "f", "type": "int", "default": "no number"}"#);
    let value = Value::Record(vec![Value::Int(1)]);
    assert_same(&read(&writer, &reader, &value), &value);
}

/// A record whose field has the record itself as its default.
#[test]
fn that_never_end() {
    let ty = r#"{"type": "record", "name": "I", "fields": [
        {"name": "next", "type": ["null", "I"], "default": {}}
    ]}"#;
    assert_eq!(
        refused_default(ty, "{}"),
        "field 'f': the writer's record 'R' has no such field, and the defaults take more than \
         1048576 values and bytes, or are nested too deep"
    );
}

/// Each record has two fields of the previous one, so the last has 2^40 values.
#[test]
fn that_grow_without_measure() {
    let mut ty = r#""int""#.to_owned();
    let mut default = "1".to_owned();
    for i in 0..40 {
        let first = format!(r#"{{"name": "a", "type": {ty}, "default": {default}}}"#);
        let again = if i == 0 {
            r#""int""#.to_owned()
        } else {
            format!(r#""R{}""#, i - 1)
        };
        let second = format!(r#"{{"name": "b", "type": {again}, "default": {default}}}"#);
        ty = format!(r#"{{"type": "record", "name": "R{i}", "fields": [{first}, {second}]}}"#);
        default = "{}".to_owned();
    }
    let error = refused_default(&ty, "{}");
    assert!(
        error.contains("more than 1048576 values and bytes"),
        "{error}"
    );
}
