//! Inspection of files with nulls, which no feature can have yet.

use atds::{Codec, ColumnSpec, DType, inspect};

use crate::common::{Folder, container};

const SCHEMA: &str = r#"{"type": "record", "name": "R", "fields": [
    {"name": "a", "type": ["null", "int"]},
    {"name": "b", "type": ["int", "null"]},
    {"name": "ab", "type": "int"},
    {"name": "r", "type": ["null", {"type": "record", "name": "S", "fields": [
        {"name": "x", "type": "int"},
        {"name": "y", "type": {"type": "array", "items": ["null", "float"]}}]}]}]}"#;

/// The columns and the left out fields of a file of these records.
fn inspected(records: &[&[u8]]) -> (Vec<ColumnSpec>, Vec<String>) {
    let folder = Folder::new();
    let block = (records.len() as u64, records.concat());
    let path = folder.write("x.avro", &container(SCHEMA, Codec::Deflate, [block]));
    let found = inspect(path).unwrap();
    assert_eq!(found.records, records.len() as u64);
    assert_eq!(found.inflated_bytes, records.concat().len() as u64);
    let left_out = found.left_out.into_iter();
    let left_out = left_out.map(|left| format!("{}: {}", left.field, left.schema_type));
    (found.features, left_out.collect())
}

#[test]
fn nullable_fields_without_nulls_are_features() {
    let record = [2, 0, 0, 0, 0, 2, 0, 2, 2, 0, 0, 0, 0, 0];
    let (features, left_out) = inspected(&[&record, &record]);
    let expected = [
        ColumnSpec::dense("a", &[], DType::Int32),
        ColumnSpec::dense("b", &[], DType::Int32),
        ColumnSpec::dense("ab", &[], DType::Int32),
        ColumnSpec::dense("r.x", &[], DType::Int32),
        ColumnSpec::dense("r.y", &[1], DType::Float32),
    ];
    assert_eq!(features, expected);
    assert_eq!(left_out, Vec::<String>::new());
}

#[test]
fn fields_with_nulls_are_left_out_with_all_inside_them() {
    let good = [2, 0, 0, 0, 0, 2, 0, 2, 2, 0, 0, 0, 0, 0];
    let (features, left_out) = inspected(&[&good, &[0, 0, 0, 0, 0]]);
    let expected = [
        ColumnSpec::dense("b", &[], DType::Int32),
        ColumnSpec::dense("ab", &[], DType::Int32),
    ];
    assert_eq!(features, expected);
    let expected = ["a", "r.x", "r.y"].map(|field| {
        let dtype = if field == "r.y" { "float32" } else { "int32" };
        format!("{field}: nullable {dtype}, with nulls")
    });
    assert_eq!(left_out, expected);
}

#[test]
fn a_null_within_an_array_leaves_out_the_array() {
    let (features, left_out) = inspected(&[&[2, 0, 0, 0, 0, 2, 0, 2, 0, 0]]);
    let names: Vec<&str> = features.iter().map(|f| f.name.as_str()).collect();
    assert_eq!(names, ["a", "b", "ab", "r.x"]);
    assert_eq!(left_out, ["r.y: nullable float32, with nulls"]);
}
