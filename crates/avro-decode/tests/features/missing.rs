//! Missing values in every kind of feature, at every level: with a default, with masks, and with
//! neither.

use avro_decode::{Feature, Fill};
use tensor_batch::{DType, Layout, Scalar, UNKNOWN};

use crate::harness::tensors;

/// Lists of lists of int. Every value and every list may be null.
const LISTS: &str = r#"{"type": "record", "name": "R", "fields": [{"name": "x", "type":
    ["null", {"type": "array", "items":
        ["null", {"type": "array", "items": ["null", "int"]}]}]}]}"#;

/// A list with a value and a null; a null list and an empty one; a null field.
const ROWS: &str = r#"[{"x": [[1, null]]}, {"x": [null, []]}, {"x": null}]"#;

/// The feature with a default and both masks.
fn filled(feature: Feature) -> Feature {
    let feature = feature.with_default(Fill::Scalar(Scalar::Int32(9)));
    feature.with_mask("mask").with_row_mask("rows")
}

#[test]
fn dense() {
    let feature = filled(Feature::dense("x", &[2, 2], DType::Int32));
    assert_eq!(
        tensors(LISTS, ROWS, feature),
        "mask: [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0] [3, 2, 2]\n\
         rows: [1, 1, 0] [3]\n\
         x: [1, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9] [3, 2, 2]"
    );
}

#[test]
fn dense_with_a_default_for_each_place() {
    let places = (10..14).map(Scalar::Int32).collect();
    let feature = Feature::dense("x", &[2, 2], DType::Int32).with_default(Fill::Tensor(places));
    assert_eq!(
        tensors(LISTS, ROWS, feature),
        "x: [1, 11, 12, 13, 10, 11, 12, 13, 10, 11, 12, 13] [3, 2, 2]"
    );
}

#[test]
fn padded() {
    let feature = filled(Feature::fixed_len("x", &[None, None], DType::Int32).at("x[*][*]"));
    assert_eq!(
        tensors(LISTS, ROWS, feature),
        "mask: [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0] [3, 2, 2]\n\
         rows: [1, 1, 0] [3]\n\
         x: [1, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9] [3, 2, 2]"
    );
}

#[test]
fn coordinates() {
    let by_values = filled(Feature::varlen("x", &[UNKNOWN; 2], DType::Int32));
    assert_eq!(
        tensors(LISTS, ROWS, by_values),
        "mask: [1, 0] [2]\n\
         rows: [1, 1, 0] [3]\n\
         x: [1, 9] at [[0, 0, 0], [0, 0, 1]] of [3, 1, 2]"
    );
    let by_lengths = filled(Feature::var_len("x", DType::Int32).at("x[*][*]"));
    assert_eq!(
        tensors(LISTS, ROWS, by_lengths),
        "mask: [1, 0] [2]\n\
         rows: [1, 1, 0] [3]\n\
         x: [1, 9] at [[0, 0, 0], [0, 0, 1]] of [3, 2, 2]"
    );
}

#[test]
fn coordinates_of_one_value() {
    let schema = r#"{"type": "record", "name": "R", "fields": [
        {"name": "x", "type": ["int", "null"]}]}"#;
    let feature = filled(Feature::var_len("x", DType::Int32));
    assert_eq!(
        tensors(schema, r#"[{"x": 5}, {"x": null}]"#, feature),
        "mask: [1, 0] [2]\n\
         rows: [1, 0] [2]\n\
         x: [5, 9] at [[0], [1]] of [2]"
    );
}

#[test]
fn ragged() {
    let feature = filled(Feature::varlen("x", &[UNKNOWN; 2], DType::Int32));
    assert_eq!(
        tensors(LISTS, ROWS, feature.with_layout(Layout::Ragged)),
        "mask: [1, 0] [2]\n\
         rows: [1, 1, 0] [3]\n\
         x: [1, 9] split [[0, 1, 3, 3], [0, 2, 2, 2]]"
    );
}

#[test]
fn sparse_records() {
    let schema = r#"{"type": "record", "name": "R", "fields": [{"name": "s", "type":
        ["null", {"type": "record", "name": "S", "fields": [
            {"name": "indices0", "type": ["null", {"type": "array", "items": "long"}]},
            {"name": "values", "type": ["null", {"type": "array", "items": ["null", "int"]}]}
        ]}]}]}"#;
    let rows = r#"[{"s": {"indices0": [4, 2], "values": [null, 7]}},
        {"s": {"indices0": null, "values": []}}, {"s": null}]"#;
    let feature = filled(Feature::sparse("s", &[UNKNOWN], DType::Int32));
    assert_eq!(
        tensors(schema, rows, feature.clone()),
        "mask: [0, 1] [2]\n\
         rows: [1, 1, 0] [3]\n\
         s: [9, 7] at [[0, 4], [0, 2]] of [3, 5]"
    );
    assert_eq!(
        tensors(schema, rows, feature.with_layout(Layout::Ragged)),
        "mask: [0, 1] [2]\n\
         rows: [1, 1, 0] [3]\n\
         s: [9, 7] at [4, 2] split [0, 2, 2, 2]"
    );
}

/// Lists of lists of entries; each has an index and a value.
const ENTRIES: &str = r#"{"type": "record", "name": "R", "fields": [{"name": "x", "type":
    ["null", {"type": "array", "items": ["null", {"type": "array", "items":
        ["null", {"type": "record", "name": "E", "fields": [
            {"name": "i", "type": ["null", "int"]}, {"name": "v", "type": ["null", "int"]}
        ]}]}]}]}]}"#;

#[test]
fn entries_by_keys() {
    let rows = r#"[{"x": [[{"i": 3, "v": null}, null, {"i": 1, "v": 5}], null]},
        {"x": []}, {"x": null}]"#;
    let feature = || filled(Feature::sparse_keys("s", &["i"], "v", &[9], DType::Int32));
    // The innermost list has the entries, or its positions are indices too.
    assert_eq!(
        tensors(ENTRIES, rows, feature().at("x[*]")),
        "mask: [1, 0] [2]\n\
         rows: [1, 1, 0] [3]\n\
         s: [5, 9] at [[0, 0, 1], [0, 0, 3]] of [3, 2, 9]"
    );
    assert_eq!(
        tensors(ENTRIES, rows, feature().at("x[*][*]")),
        "mask: [0, 1] [2]\n\
         rows: [1, 1, 0] [3]\n\
         s: [9, 5] at [[0, 0, 0, 3], [0, 0, 2, 1]] of [3, 2, 3, 9]"
    );
}

#[test]
fn an_index_is_never_missing() {
    let rows = r#"[{"x": [[{"i": null, "v": 1}]]}]"#;
    let feature = filled(Feature::sparse_keys("s", &["i"], "v", &[9], DType::Int32));
    assert_eq!(
        tensors(ENTRIES, rows, feature.at("x[*]")),
        "record 0, field 'x[*]', byte 5: the index of a sparse entry is null, and indices have no default"
    );
}

#[test]
fn with_nothing_for_it() {
    let dense = |expression: &str| Feature::dense("y", &[], DType::Int32).at(expression);
    let null = "a null, where the feature has neither a `default` nor a `mask`";
    assert_eq!(
        tensors(LISTS, r#"[{"x": [[1]]}, {"x": null}]"#, dense("x[0][0]")),
        format!("record 1, field 'x', byte 8: {null}")
    );
    assert_eq!(
        tensors(LISTS, r#"[{"x": []}]"#, dense("x[2][0]")),
        "record 0, field 'x[2][0]', byte 2: an array has no element [2]"
    );
    let lists = Feature::var_len("y", DType::Int32).at("x[*][*]");
    assert_eq!(
        tensors(LISTS, r#"[{"x": [null]}]"#, lists),
        format!("record 0, field 'x[*]', byte 2: {null}")
    );
}

/// A record inside a union, with a field that is a union. The record has no operation of its own.
#[test]
fn unions_around_one_value() {
    const SCHEMA: &str = r#"{"type": "record", "name": "R", "fields": [{"name": "r", "type":
        ["null", {"type": "record", "name": "S", "fields": [{"name": "x", "type":
            [{"type": "array", "items": "int"}, "null"]}]}]}]}"#;
    const ROWS: &str = r#"[{"r": {"x": [1, 2]}}, {"r": null}, {"r": {"x": null}}]"#;
    let feature = filled(Feature::dense("x", &[2], DType::Int32).at("r.x"));
    assert_eq!(
        tensors(SCHEMA, ROWS, feature),
        "mask: [1, 1, 0, 0, 0, 0] [3, 2]\n\
         rows: [1, 0, 0] [3]\n\
         x: [1, 2, 9, 9, 9, 9] [3, 2]"
    );
    let feature = Feature::varlen("x", &[UNKNOWN], DType::Int32).at("r.x");
    let feature = feature
        .with_default(Fill::Scalar(Scalar::Int32(9)))
        .with_layout(Layout::Ragged);
    assert_eq!(
        tensors(SCHEMA, ROWS, feature),
        "x: [1, 2] split [[0, 2, 2, 2]]"
    );
}
