//! Sparse features.

use avro_decode::Feature;
use tensor_batch::{DType, Layout};

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
            "feature 's': a row is one sparse record, but a '[*]', a slice or a filter leads to many"
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

const READER: &str = r#"{"type": "record", "name": "R", "fields": [
    {"name": "s", "type": {"type": "record", "name": "S", "fields": [
        {"name": "indices0", "type": {"type": "array", "items": "long"}},
        {"name": "values", "type": {"type": "array", "items": "float"}, "default": []}
    ]}}
]}"#;

/// A sparse record whose writer's schema differs from the reader's.
fn evolved(written: [&str; 2], records: &str, layout: Layout) -> String {
    let mut writer = READER.to_owned();
    let [before, after] = written;
    assert!(writer.contains(before));
    writer = writer.replace(before, after);
    let sparse = Feature::sparse("s", &[9], DType::Float32).with_layout(layout);
    tensors_with(&writer, records, vec![sparse], &read_as(READER))
}

#[test]
fn a_sparse_record_that_the_writer_has_more_in() {
    let last = r#""default": []}"#;
    let more = format!(r#"{last}, {{"name": "note", "type": "string"}}"#);
    let records = r#"[{"s": {"indices0": [7, 1], "values": [0.5, 1.5], "note": "x"}},
        {"s": {"indices0": [], "values": [], "note": ""}},
        {"s": {"indices0": [8], "values": [2.5], "note": "y"}}]"#;
    assert_eq!(
        evolved([last, &more], records, Layout::Coo),
        "s: [0.5, 1.5, 2.5] at [[0, 7], [0, 1], [2, 8]] of [3, 9]"
    );
    assert_eq!(
        evolved([last, &more], records, Layout::Ragged),
        "s: [0.5, 1.5, 2.5] at [7, 1, 8] split [0, 2, 2, 3]"
    );
}

#[test]
fn a_sparse_record_that_the_writer_has_less_in() {
    let values = r#",
        {"name": "values", "type": {"type": "array", "items": "float"}, "default": []}"#;
    assert_eq!(
        evolved([values, ""], r#"[{"s": {"indices0": []}}]"#, Layout::Coo),
        "s: [] at [] of [1, 9]"
    );
    assert_eq!(
        evolved([values, ""], r#"[{"s": {"indices0": [1]}}]"#, Layout::Coo),
        "record 0, field 's', byte 3: the arrays of the sparse record have different lengths: 1 \
         and 0"
    );
}

#[test]
fn a_sparse_record_that_the_writer_has_nulls_in() {
    let (items, nullable) = (r#""items": "float""#, r#""items": ["null", "float"]"#);
    let records = r#"[{"s": {"indices0": [7, 1], "values": [0.5, 1.5]}}]"#;
    assert_eq!(
        evolved([items, nullable], records, Layout::Coo),
        "s: [0.5, 1.5] at [[0, 7], [0, 1]] of [1, 9]"
    );
    let records = r#"[{"s": {"indices0": [7], "values": [null]}}]"#;
    assert_eq!(
        evolved([items, nullable], records, Layout::Coo),
        "record 0, field 's.values[*]', byte 5: the value is null, which cannot be read as float"
    );
}

#[test]
fn a_list_of_indices_that_is_missing_is_empty() {
    let schema = r#"{"type": "record", "name": "R", "fields": [
        {"name": "i", "type": ["null", {"type": "array", "items": "long"}]},
        {"name": "v", "type": ["null", {"type": "array", "items": "float"}]}
    ]}"#;
    let records = r#"[{"i": null, "v": null}, {"i": [3], "v": [0.5]}]"#;
    let keyed = Feature::sparse_keys("s", &["@i[*]"], "@v[*]", &[9], DType::Float32);
    assert_eq!(
        tensors(schema, records, keyed.clone().with_mask("m")),
        "m: [1] [1]\ns: [0.5] at [[1, 3]] of [2, 9]"
    );
    assert_eq!(
        tensors(schema, records, keyed),
        "record 0, field 's', byte 0: a null, where the feature has neither a `default` nor a `mask`"
    );
}
