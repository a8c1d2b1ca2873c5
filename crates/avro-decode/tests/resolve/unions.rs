//! Unions of the writer, of the reader, and of both.

use avro_decode::Value;
use avro_decode::resolve::Resolved;

use super::common::assert_same;
use super::harness::{fails, read, record, refused, resolution};

fn branch(branch: usize, value: Value) -> Value {
    Value::Union(branch, Box::new(value))
}

#[test]
fn a_value_becomes_the_first_branch_of_its_type() {
    let (int, long) = (Value::Int(5), Value::Long(5));
    let as_int = |reader| read(r#""int""#, reader, &int);
    assert_same(&as_int(r#"["null", "int"]"#), &branch(1, int.clone()));
    // A branch of the value's own type has priority over promotions, in any order.
    assert_same(
        &as_int(r#"["long", "double", "int"]"#),
        &branch(2, int.clone()),
    );
    // The first possible promotion is chosen.
    assert_same(
        &as_int(r#"["string", "double", "long"]"#),
        &branch(1, Value::Double(5.0)),
    );
    assert_same(&as_int(r#"["string", "long", "double"]"#), &branch(1, long));
    let error = refused(r#""int""#, r#"["null", "string"]"#);
    assert_eq!(
        error.to_string(),
        r#"int cannot be read as ["null", "string"]"#
    );
}

#[test]
fn a_named_type_becomes_the_branch_of_its_name() {
    let fixed = |name: &str| format!(r#"{{"type": "fixed", "size": 1, {name}}}"#);
    let value = Value::Fixed(vec![7]);
    let check = |branches: &[&str], expected: usize| {
        let reader = format!(
            "[{}]",
            branches
                .iter()
                .map(|name| fixed(name))
                .collect::<Vec<_>>()
                .join(",")
        );
        let read = read(&fixed(r#""name": "x.T""#), &reader, &value);
        assert_same(&read, &branch(expected, value.clone()));
    };
    let (full, elsewhere) = (r#""name": "x.T""#, r#""name": "y.T""#);
    let (alias, simple_alias) = (
        r#""name": "y.A", "aliases": ["x.T"]"#,
        r#""name": "y.B", "aliases": ["T"]"#,
    );
    let other = r#""name": "x.O""#;
    check(&[other, simple_alias, elsewhere, alias, full], 4);
    check(&[other, simple_alias, elsewhere, alias], 3);
    check(&[other, simple_alias, elsewhere], 2);
    check(&[other, simple_alias], 1);

    // The branch with the name has another type or size.
    let writer = fixed(full);
    let error = refused(
        &writer,
        r#"[{"type": "enum", "name": "x.T", "symbols": ["A"]}]"#,
    );
    assert_eq!(
        error.to_string(),
        r#"fixed 'x.T' cannot be read as ["enum 'x.T'"]"#
    );
    let reader = r#"[{"type": "fixed", "name": "y.T", "size": 2}, {"type": "fixed", "name": "z.T", "size": 1}]"#;
    assert_same(&read(&writer, reader, &value), &branch(1, value.clone()));
}

#[test]
fn each_branch_of_the_writers_is_on_its_own() {
    let writer = r#"["null", "int", "string"]"#;
    let string = || Value::String("s".into());
    let reader = r#"["bytes", "long", "null"]"#;
    assert_same(
        &read(writer, reader, &branch(0, Value::Null)),
        &branch(2, Value::Null),
    );
    assert_same(
        &read(writer, reader, &branch(1, Value::Int(1))),
        &branch(1, Value::Long(1)),
    );
    assert_same(
        &read(writer, reader, &branch(2, string())),
        &branch(0, Value::Bytes(vec![b's'])),
    );

    // The reader's type is not a union.
    assert_same(
        &read(writer, r#""double""#, &branch(1, Value::Int(1))),
        &Value::Double(1.0),
    );
    for (value, ty) in [
        (branch(0, Value::Null), "null"),
        (branch(2, string()), "string"),
    ] {
        let (slow, fast) = fails(writer, r#""double""#, &value);
        let expected = format!("the value is {ty}, which cannot be read as double");
        assert_eq!(slow.to_string(), expected);
        assert_eq!(fast.to_string(), format!("byte 1: {expected}"));
    }
    let error = refused(writer, r#""boolean""#);
    assert_eq!(
        error.to_string(),
        r#"["null", "int", "string"] cannot be read as boolean"#
    );
    let resolution = resolution(writer, r#"["string"]"#);
    let Resolved::Union { branches, .. } = resolution.node(resolution.root) else {
        panic!("not a union");
    };
    let reasons = branches
        .iter()
        .map(|&branch| resolution.why_never(branch).map(|e| e.to_string()));
    let reasons: Vec<_> = reasons.collect();
    let never = |ty: &str| Some(format!(r#"{ty} cannot be read as ["string"]"#));
    assert_eq!(reasons, [never("null"), never("int"), None]);
}

#[test]
fn what_cannot_be_read_in_a_branch_is_an_error_where_data_has_it() {
    let inner =
        |fields: &str| format!(r#"{{"type": "record", "name": "I", "fields": [{fields}]}}"#);
    let optional = |inner: String| {
        record(&format!(
            r#"{{"name": "n", "type": "int"}}, {{"name": "i", "type": ["null", {inner}]}}"#
        ))
    };
    let writer = optional(inner(r#"{"name": "a", "type": "int"}"#));
    let reader = optional(inner(r#"{"name": "b", "type": "int"}"#));
    let absent = Value::Record(vec![Value::Int(1), branch(0, Value::Null)]);
    assert_same(&read(&writer, &reader, &absent), &absent);
    let value = branch(1, Value::Record(vec![Value::Int(2)]));
    let (slow, fast) = fails(&writer, &reader, &Value::Record(vec![Value::Int(1), value]));
    let expected = r#"the value is record 'I', which cannot be read as ["null", "record 'I'"]"#;
    assert_eq!(slow.to_string(), format!("i: {expected}"));
    assert_eq!(fast.to_string(), format!("field 'i', byte 2: {expected}"));

    // The error gives the reason for the branch with the reader's type.
    let error = refused(
        &format!(r#"["null", {}]"#, inner("")),
        &inner(r#"{"name": "b", "type": "int"}"#),
    );
    assert_eq!(
        error.to_string(),
        "field 'b': the writer's record 'I' has no such field, and the reader's field has no default"
    );
}

#[test]
fn an_empty_union_has_no_values_to_be_read() {
    let resolution = resolution("[]", r#""int""#);
    assert!(matches!(
        resolution.node(resolution.root),
        Resolved::Union { .. }
    ));
    refused(r#""int""#, "[]");
}
