//! Namespaces and full names before a field, and names of branches.

use avro_decode::Feature;
use tensor_batch::DType;

use crate::harness::tensors;

fn int(expression: &str) -> Feature {
    Feature::dense("c", &[], DType::Int32).at(expression)
}

#[test]
fn a_namespace_is_passed_over() {
    let schema = r#"{"type": "record", "name": "row", "namespace": "com.test", "fields": [
        {"name": "a", "type": "int"},
        {"name": "r", "type": {"type": "record", "name": "com.other.inner", "fields": [
            {"name": "com", "type": "int"}, {"name": "b", "type": "int"}]}}]}"#;
    let value = |expression: &str| {
        tensors(
            schema,
            r#"[{"a": 1, "r": {"com": 2, "b": 3}}]"#,
            int(expression),
        )
    };
    for expression in ["a", "com.test.a", "com.test.row.a"] {
        assert_eq!(value(expression), "c: [1] [1]", "{expression}");
    }
    assert_eq!(value("com.test.r.b"), "c: [3] [1]");
    // A field named like a namespace is read as a field.
    assert_eq!(value("r.com"), "c: [2] [1]");
    assert_eq!(
        value("r.com.other.b"),
        "feature 'c': 'r.com' is int, not a record, so it has no fields"
    );
}

#[test]
fn a_record_without_a_namespace_has_a_name() {
    let schema = r#"{"type": "record", "name": "row", "fields": [{"name": "a", "type": "int"}]}"#;
    assert_eq!(tensors(schema, r#"[{"a": 7}]"#, int("row.a")), "c: [7] [1]");
}

#[test]
fn a_branch_has_a_simple_and_a_full_name() {
    let schema = r#"{"type": "record", "name": "row", "fields": [{"name": "u", "type": [
        {"type": "record", "name": "x.A", "fields": [{"name": "n", "type": "int"}]}, "int"]}]}"#;
    let records = r#"[{"u": {"n": 4}}]"#;
    for expression in ["u:A.n", "u:'x.A'.n", "u:A:'x.A'.n"] {
        assert_eq!(tensors(schema, records, int(expression)), "c: [4] [1]");
    }
    assert_eq!(
        tensors(schema, records, int("u:int")),
        "record 0, field 'u:int', byte 0: a union holds x.A, not int"
    );
}
