#![allow(clippy::unwrap_used)]

use serde_json::json;

use super::*;

fn printed(schema: &str, value: &Value) -> Result<Json, ValueError> {
    let schema = Schema::parse(schema).unwrap();
    to_json(&schema, schema.root(), value)
}

#[test]
fn every_type() {
    let schema = r#"{"type": "record", "name": "R", "fields": [
        {"name": "null", "type": "null"},
        {"name": "boolean", "type": "boolean"},
        {"name": "int", "type": "int"},
        {"name": "long", "type": "long"},
        {"name": "float", "type": "float"},
        {"name": "double", "type": "double"},
        {"name": "bytes", "type": "bytes"},
        {"name": "string", "type": "string"},
        {"name": "array", "type": {"type": "array", "items": "int"}},
        {"name": "map", "type": {"type": "map", "values": "int"}},
        {"name": "union", "type": ["null", "int"]},
        {"name": "enum", "type": {"type": "enum", "name": "E", "symbols": ["A", "B"]}},
        {"name": "fixed", "type": {"type": "fixed", "name": "F", "size": 2}}
    ]}"#;
    let value = Value::Record(vec![
        Value::Null,
        Value::Boolean(true),
        Value::Int(-1),
        Value::Long(i64::MIN),
        Value::Float(0.1),
        Value::Double(0.1),
        Value::Bytes(vec![0, b'a', 0xff]),
        Value::String("é".into()),
        Value::Array(vec![Value::Int(1), Value::Int(2)]),
        Value::Map(vec![("k".into(), Value::Int(1))]),
        Value::Union(1, Box::new(Value::Int(5))),
        Value::Enum(1),
        Value::Fixed(vec![0x80, b'z']),
    ]);
    let json = printed(schema, &value).unwrap();
    let text = concat!(
        r#"{"null":null,"boolean":true,"int":-1,"long":-9223372036854775808,"#,
        r#""float":0.1,"double":0.1,"bytes":"\u0000a"#,
        "\u{ff}",
        r#"","string":"é","array":[1,2],"map":{"k":1},"union":5,"enum":"B","fixed":""#,
        "\u{80}",
        r#"z"}"#
    );
    assert_eq!(json.to_string(), text);
}

#[test]
fn numbers_that_json_does_not_have() {
    for (value, text) in [
        (f32::NAN, "NaN"),
        (f32::INFINITY, "Infinity"),
        (f32::NEG_INFINITY, "-Infinity"),
    ] {
        let float = printed(r#""float""#, &Value::Float(value));
        assert_eq!(float.unwrap(), json!(text));
        let double = printed(r#""double""#, &Value::Double(value.into()));
        assert_eq!(double.unwrap(), json!(text));
    }
}

#[test]
fn floats_are_as_short_as_can_be() {
    for (value, text) in [
        (f32::MAX, "3.4028235e38"),
        (f32::MIN_POSITIVE, "1.1754944e-38"),
        (16777216.0, "16777216.0"),
        (-0.0, "-0.0"),
        (1.0 / 3.0, "0.33333334"),
    ] {
        let json = printed(r#""float""#, &Value::Float(value)).unwrap();
        let number: f64 = text.parse().unwrap();
        assert_eq!(json.to_string(), json!(number).to_string());
        assert_eq!(json.as_f64().unwrap() as f32, value);
    }
}

#[test]
fn values_that_do_not_fit() {
    let error = printed(r#"["null"]"#, &Value::Union(3, Box::new(Value::Null)));
    let kind = ValueErrorKind::BadUnionBranch {
        branch: 3,
        branches: 1,
    };
    assert_eq!(error.unwrap_err().kind, kind);
    let record = r#"{"type": "record", "name": "R", "fields": [{"name": "a", "type": "int"}]}"#;
    let error = printed(record, &Value::Record(vec![Value::Null])).unwrap_err();
    assert_eq!(
        error.to_string(),
        "a: the schema has int, but the value is null"
    );
    assert_eq!(
        printed(record, &Value::Record(vec![])).unwrap_err().kind,
        ValueErrorKind::FieldCount {
            expected: 1,
            found: 0
        }
    );
    let symbols = r#"{"type": "enum", "name": "E", "symbols": ["A"]}"#;
    assert_eq!(
        printed(symbols, &Value::Enum(1)).unwrap_err().kind,
        ValueErrorKind::BadEnumIndex {
            index: 1,
            symbols: 1
        }
    );
}
