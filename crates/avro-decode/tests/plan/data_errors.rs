//! Data that features cannot read, each with its whole message.

use std::sync::Arc;

use avro_decode::limits::MAX_DECODE_DEPTH;
use avro_decode::{PlanOptions, Schema, reference};
use tensor_batch::{ColumnSpec, DType, UNKNOWN};

use crate::harness::{field_of, plan_of, record_of, run};

fn message(schema: &Arc<Schema>, column: ColumnSpec, data: &[u8]) -> String {
    let plan = plan_of(schema, column, &PlanOptions::default());
    let error = run(&plan, data, &[9], 2).expect_err("the data is bad");
    error.to_string()
}

/// The message for a dense scalar that reads a field `x` of this type.
fn scalar(ty: &str, dtype: DType, data: &[u8]) -> String {
    message(&field_of(ty), ColumnSpec::dense("x", &[], dtype), data)
}

/// The message for a dense feature of length three that reads an array of int.
fn triple(data: &[u8]) -> String {
    let schema = field_of(r#"{"type": "array", "items": "int"}"#);
    message(&schema, ColumnSpec::dense("x", &[3], DType::Int32), data)
}

fn sparse(shape: &[i64], data: &[u8]) -> String {
    let schema = field_of(
        r#"{"type": "record", "name": "Sparse", "fields": [
            {"name": "indices0", "type": {"type": "array", "items": "long"}},
            {"name": "values", "type": {"type": "array", "items": "int"}}]}"#,
    );
    message(&schema, ColumnSpec::sparse("x", shape, DType::Int32), data)
}

#[test]
fn null() {
    let nullable = r#"["null", "int"]"#;
    assert_eq!(
        scalar(nullable, DType::Int32, &[2, 14, 0]),
        "record 1, field 'x', byte 2: a null, where the feature has neither a `default` nor a `mask`"
    );
}

#[test]
fn a_null_record_around_the_feature() {
    let schema = field_of(
        r#"[{"type": "record", "name": "Inner", "fields": [{"name": "y", "type": "int"}]}, "null"]"#,
    );
    let column = ColumnSpec::dense("x.y", &[], DType::Int32);
    assert_eq!(
        message(&schema, column, &[0, 2, 0, 2, 0, 2, 2]),
        "record 3, field 'x.y', byte 6: a null, where the feature has neither a `default` nor a `mask`"
    );
}

#[test]
fn array_length() {
    assert_eq!(
        triple(&[4, 2, 2, 0]),
        "record 0, field 'x', byte 0: an array of 2 values, where the shape says 3\
         ; a dense feature with a `default` or a `mask` fills the rest"
    );
    assert_eq!(
        triple(&[4, 2, 2, 4, 2, 2, 0]),
        "record 0, field 'x', byte 0: an array of 4 values, where the shape says 3\
         ; `truncate` drops the rest"
    );
}

#[test]
fn a_fixed_dimension_of_varlen() {
    let schema = field_of(r#"{"type": "array", "items": {"type": "array", "items": "int"}}"#);
    let column = ColumnSpec::varlen("x", &[UNKNOWN, 2], DType::Int32);
    assert_eq!(
        message(&schema, column, &[4, 4, 2, 2, 0, 2, 2, 0, 0]),
        "record 0, field 'x', byte 5: an array of 1 value, where the shape says 2\
         ; a dense feature with a `default` or a `mask` fills the rest"
    );
}

#[test]
fn sparse_lengths() {
    assert_eq!(
        sparse(&[9], &[2, 0, 0, 0]),
        "record 0, field 'x', byte 3: \
         the arrays of the sparse record have different lengths: 1 and 0"
    );
}

#[test]
fn index_out_of_bounds() {
    assert_eq!(
        sparse(&[3], &[4, 4, 6, 0, 4, 0, 0, 0]),
        "record 0, field 'x', byte 2: index 3 is outside dimension 0 of size 3"
    );
    assert_eq!(
        sparse(&[3], &[2, 1, 0, 2, 0, 0]),
        "record 0, field 'x', byte 1: index -1 is outside dimension 0 of size 3"
    );
    assert_eq!(
        sparse(&[UNKNOWN], &[2, 3, 0, 2, 0, 0]),
        "record 0, field 'x', byte 1: index -2 is outside dimension 0 of unknown size"
    );
}

#[test]
fn unexpected_end() {
    assert_eq!(
        scalar(r#""double""#, DType::Float64, &[0; 15]),
        "record 1, field 'x', byte 8: the input ends inside a value"
    );
}

#[test]
fn bad_varints() {
    assert_eq!(
        scalar(
            r#""int""#,
            DType::Int32,
            &[2, 0x80, 0x80, 0x80, 0x80, 0x80, 0]
        ),
        "record 1, field 'x', byte 1: a varint is longer than its type allows"
    );
    assert_eq!(
        scalar(r#""long""#, DType::Int64, &[0x80; 11]),
        "record 0, field 'x', byte 0: a varint is longer than its type allows"
    );
    let mut overflow = [0xff; 10];
    overflow[9] = 2;
    assert_eq!(
        scalar(r#""long""#, DType::Int64, &overflow),
        "record 0, field 'x', byte 0: a varint has more than 64 bits"
    );
    assert_eq!(
        scalar(r#""int""#, DType::Int32, &[0x80, 0x80, 0x80, 0x80, 0x10]),
        "record 0, field 'x', byte 0: 2147483648 is not in the range of int"
    );
}

#[test]
fn bad_strings() {
    let string = |data| scalar(r#""string""#, DType::String, data);
    assert_eq!(
        string(&[0, 1]),
        "record 1, field 'x', byte 1: a length is negative: -1"
    );
    assert_eq!(
        string(&[6, b'a']),
        "record 0, field 'x', byte 0: a length of 3 bytes where 1 is left"
    );
    assert_eq!(
        string(&[2, b'a', 2, 0xff]),
        "record 1, field 'x', byte 2: a string is not UTF-8: ask for `dtype` 'bytes', or replace invalid bytes with `tolerate` 'utf8'"
    );
}

#[test]
fn bad_boolean() {
    assert_eq!(
        scalar(r#""boolean""#, DType::Bool, &[1, 0, 2]),
        "record 2, field 'x', byte 2: a boolean is 2, neither 0 nor 1"
    );
    let schema = field_of(r#"{"type": "array", "items": "boolean"}"#);
    let column = ColumnSpec::dense("x", &[3], DType::Bool);
    assert_eq!(
        message(&schema, column, &[6, 1, 0, 9, 0]),
        "record 0, field 'x', byte 3: a boolean is 9, neither 0 nor 1"
    );
}

#[test]
fn bad_union_branch() {
    assert_eq!(
        scalar(r#"["int", "null"]"#, DType::Int32, &[4, 0]),
        "record 0, field 'x', byte 0: union branch 2 where there are 2"
    );
}

#[test]
fn bad_blocks() {
    assert_eq!(
        triple(&[1, 4, 2, 0, 0]),
        "record 0, field 'x', byte 3: a block of items has 1 byte, but its header says 2"
    );
    assert_eq!(
        triple(&[6, 2]),
        "record 0, field 'x', byte 0: a block of 3 items where at most 1 is possible"
    );
}

#[test]
fn skipped_fields() {
    let skipped = |ty: &str, data: &[u8]| {
        let schema = record_of(&format!(
            r#"{{"name": "skipped", "type": {ty}}}, {{"name": "x", "type": "int"}}"#
        ));
        let column = ColumnSpec::dense("x", &[], DType::Int32);
        let message = message(&schema, column, data);
        let rest = message.strip_prefix("record 0, field 'skipped', byte ");
        rest.expect("in the skipped field").to_owned()
    };
    let union = r#"["null", "int"]"#;
    assert_eq!(
        skipped(union, &[1, 0]),
        "0: union branch -1 where there are 2"
    );
    assert_eq!(
        skipped(union, &[4, 0]),
        "0: union branch 2 where there are 2"
    );
    let string = r#""string""#;
    assert_eq!(skipped(string, &[3, 0]), "0: a length is negative: -2");
    assert_eq!(
        skipped(string, &[4, 0]),
        "0: a length of 2 bytes where 1 is left"
    );
    let map = r#"{"type": "map", "values": "int"}"#;
    assert_eq!(
        skipped(map, &[1, 8, 0, 0]),
        "1: a length of 4 bytes where 2 are left"
    );
    assert_eq!(
        skipped(map, &[4, 0, 0, 0]),
        "0: a block of 2 items where at most 1 is possible"
    );
    let fixed = r#"{"type": "fixed", "name": "F", "size": 3}"#;
    assert_eq!(skipped(fixed, &[0, 0]), "0: the input ends inside a value");
    assert_eq!(
        skipped(r#""long""#, &[0x80, 0x80]),
        "0: the input ends inside a value"
    );
}

/// A chain of records that no feature reads. Each has two levels of arrays of the previous record.
fn chain(links: usize) -> (Arc<Schema>, Vec<u8>) {
    let schema = record_of(
        r#"{"name": "x", "type": "int"},
           {"name": "chain", "type": {"type": "record", "name": "Link", "fields": [
               {"name": "next", "type": {"type": "array", "items":
                   {"type": "array", "items": "Link"}}}]}}"#,
    );
    let mut data = vec![0];
    data.extend([2, 2].repeat(links));
    data.push(0);
    data.extend([0, 0].repeat(links));
    (schema, data)
}

#[test]
fn skipping_is_bounded_in_depth() {
    let column = || ColumnSpec::dense("x", &[], DType::Int32);
    let (schema, data) = chain(100_000);
    let message = message(&schema, column(), &data);
    assert!(
        message.starts_with("record 0, field 'chain', byte "),
        "{message}"
    );
    assert!(
        message.ends_with(": values are nested deeper than 100: raise `max_depth`, to 300 at most"),
        "{message}"
    );

    // Skipping has the same limit as the reference. Each link takes three levels. The root and the
    // array of the last link take three more.
    let links = (MAX_DECODE_DEPTH - 3) / 3;
    let (schema, data) = chain(links);
    reference::decode(&schema, schema.root(), &data, &mut 0).expect("not too deep");
    let plan = plan_of(&schema, column(), &PlanOptions::default());
    let ran = run(&plan, &data, &[1], 1).expect("not too deep");
    assert_eq!(ran.position, data.len());
    let (schema, data) = chain(links + 1);
    reference::decode(&schema, schema.root(), &data, &mut 0).expect_err("too deep");
}

#[test]
fn items_without_bytes_are_bounded_in_a_block() {
    let schema = record_of(
        r#"{"name": "nulls", "type": {"type": "array", "items": "null"}},
           {"name": "x", "type": "int"}"#,
    );
    let column = ColumnSpec::dense("x", &[], DType::Int32);
    assert_eq!(
        message(&schema, column, &[0x82, 0x80, 0x80, 0x01, 0, 0]),
        "record 0, field 'nulls', byte 0: a block of 1048577 items where at most 1048576 are possible"
    );
}

#[test]
fn bytes_as_uint8_of_another_length() {
    let pair = |ty: &str, data: &[u8]| {
        let column = ColumnSpec::dense("x", &[2], DType::UInt8);
        message(&field_of(ty), column, data)
    };
    let start = "record 1, field 'x', byte 3: ";
    for (data, found) in [
        (&[4, 1, 2, 2, 9][..], "1 value"),
        (&[4, 1, 2, 6, 7, 8, 9], "3 values"),
    ] {
        let expected = format!("{start}an array of {found}, where the shape says 2");
        let message = pair("\"bytes\"", data);
        assert!(message.starts_with(&expected), "{message}");
    }
    assert_eq!(
        pair("\"bytes\"", &[4, 1, 2, 4, 7]),
        format!("{start}a length of 2 bytes where 1 is left")
    );
    let fixed = r#"{"type": "fixed", "name": "F", "size": 2}"#;
    let message = pair(fixed, &[1, 2, 3]);
    assert!(
        message.starts_with("record 1, field 'x', byte 2: "),
        "{message}"
    );
}
