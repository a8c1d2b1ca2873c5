//! Sparse features.

use avro_decode::Feature;
use tensor_batch::DType;

use crate::harness::{read_as, refused, tensors, tensors_with};

const RECORDS: &str = r#"{"type": "record", "name": "R", "fields": [
    {"name": "all", "type": {"type": "array", "items":
        {"type": "record", "name": "S", "fields": [
            {"name": "indices0", "type": {"type": "array", "items": "long"}},
            {"name": "values", "type": {"type": "array", "items": "float"}}
        ]}}}
]}"#;

#[test]
fn a_row_is_one_sparse_record() {
    let sparse = |expression| Feature::sparse("s", &[9], DType::Float32).at(expression);
    for expression in ["all[*]", "all[indices0[0]=1]"] {
        assert_eq!(
            refused(RECORDS, sparse(expression)),
            "feature 's': a row is one sparse record, but a '[*]' or a filter leads to many"
        );
    }
    let rows = r#"[{"all": [{"indices0": [4], "values": [0.5]}]}, {"all": []}]"#;
    assert_eq!(
        tensors(RECORDS, rows, sparse("all[0]").with_row_mask("has")),
        "has: [1, 0] [2]\n\
         s: [0.5] at [[0, 4]] of [2, 9]"
    );
}

#[test]
fn counts_of_keys_from_the_root_that_differ() {
    let schema = r#"{"type": "record", "name": "R", "fields": [
        {"name": "i", "type": {"type": "array", "items": "long"}},
        {"name": "v", "type": {"type": "array", "items": "float"}}
    ]}"#;
    let records = r#"[{"i": [1, 2], "v": [0.5]}]"#;
    let rooted = Feature::sparse_keys("s", &["@i[*]"], "@v[*]", &[9], DType::Float32);
    assert_eq!(
        tensors(schema, records, rooted),
        "record 0, field 's', byte 10: the arrays of the sparse record have different lengths: 2 \
         and 1"
    );
}

#[test]
fn counts_of_keys_that_differ_from_those_of_entries() {
    let schema = r#"{"type": "record", "name": "R", "fields": [
        {"name": "e", "type": {"type": "array", "items":
            {"type": "record", "name": "E", "fields": [{"name": "i", "type": "long"}]}}},
        {"name": "v", "type": "float"}
    ]}"#;
    let records = r#"[{"e": [{"i": 1}, {"i": 2}], "v": 0.5}]"#;
    let mixed = Feature::sparse_keys("s", &["i"], "@v", &[9], DType::Float32).at("e");
    assert_eq!(
        tensors(schema, records, mixed),
        "record 0, field 'e', byte 8: the arrays of the sparse record have different lengths: 2 \
         and 1"
    );
}

#[test]
fn a_sparse_record_that_the_writer_has_more_in() {
    let reader = r#"{"type": "record", "name": "R", "fields": [
        {"name": "s", "type": {"type": "record", "name": "S", "fields": [
            {"name": "indices0", "type": {"type": "array", "items": "long"}},
            {"name": "values", "type": {"type": "array", "items": "float"}}
        ]}}
    ]}"#;
    let last = r#"{"type": "array", "items": "float"}}"#;
    let writer = reader.replace(
        last,
        &format!(r#"{last}, {{"name": "note", "type": "int"}}"#),
    );
    let sparse = Feature::sparse("s", &[9], DType::Float32);
    assert_eq!(
        tensors_with(&writer, "[]", vec![sparse], &read_as(reader)),
        "feature 's': the sparse record has the field 'note', which is neither values nor indicesN"
    );
}
