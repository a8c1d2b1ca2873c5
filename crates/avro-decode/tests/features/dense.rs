//! Dense features: a list that fills several dimensions, and durations.

use avro_decode::{Feature, Fill};
use tensor_batch::{DType, Layout, Scalar};

use crate::harness::{refused, tensors};

const LISTS: &str = r#"{"type": "record", "name": "R", "fields": [
    {"name": "plain", "type": {"type": "array", "items": "long"}},
    {"name": "items", "type": {"type": "array", "items": ["null",
        {"type": "record", "name": "Item", "fields": [{"name": "v", "type": "long"}]}]}}
]}"#;

const RECORDS: &str = r#"[
    {"plain": [1, 2, 3, 4], "items": [{"v": 1}, null, {"v": 3}]},
    {"plain": [5, 6, 7, 8], "items": []}
]"#;

fn two_by_two(expression: &str) -> Feature {
    Feature::fixed_len("x", &[Some(2), Some(2)], DType::Int64).at(expression)
}

fn from(first: i64) -> Fill {
    Fill::Tensor((first..first + 4).map(Scalar::Int64).collect())
}

#[test]
fn a_list_fills_several_dimensions() {
    let both = "x: [1, 2, 3, 4, 5, 6, 7, 8] [2, 2, 2]";
    assert_eq!(tensors(LISTS, RECORDS, two_by_two("plain")), both);
    assert_eq!(tensors(LISTS, RECORDS, two_by_two("plain[*]")), both);
    // A null on the way to the value counts as an item of the list too.
    let items = two_by_two("items[*].v")
        .with_default(from(10))
        .with_mask("m");
    assert_eq!(
        tensors(LISTS, RECORDS, items),
        "m: [1, 0, 1, 0, 0, 0, 0, 0] [2, 2, 2]\n\
         x: [1, 11, 3, 13, 10, 11, 12, 13] [2, 2, 2]"
    );
}

#[test]
fn a_list_is_no_scalar() {
    for expression in ["plain", "plain[*]"] {
        assert_eq!(
            refused(
                LISTS,
                Feature::fixed_len("x", &[], DType::Int64).at(expression)
            ),
            "feature 'x': the shape has rank 0, but the schema has rank 1"
        );
    }
}

#[test]
fn a_shape_too_large_for_its_default() {
    let shape = [Some(1 << 40), Some(1 << 40)];
    let feature = Feature::fixed_len("plain", &shape, DType::Int64).with_default(from(0));
    assert_eq!(
        refused(LISTS, feature),
        "feature 'plain': the shape is too large to address"
    );
}

const DURATIONS: &str = r#"{"type": "record", "name": "R", "fields": [
    {"name": "d", "type": {"type": "array", "items": ["null",
        {"type": "fixed", "name": "D", "size": 12, "logicalType": "duration"}]}}
]}"#;

const SPANS: &str = r#"[
    {"d": ["\u0001\u0000\u0000\u0000\u0002\u0000\u0000\u0000\u0003\u0000\u0000\u0000", null]},
    {"d": []}
]"#;

#[test]
fn durations_are_three_numbers() {
    for length in [2, 4] {
        let message = format!("feature 'd': a duration is 3 numbers, but the shape says {length}");
        let dense = Feature::dense("d", &[2, length], DType::Int64).with_mask("m");
        assert_eq!(refused(DURATIONS, dense), message);
        let padded = Feature::fixed_len("d", &[None, Some(length)], DType::Int64).with_mask("m");
        assert_eq!(refused(DURATIONS, padded), message);
        let varlen = Feature::varlen("d", &[-1, length as i64], DType::Int64);
        assert_eq!(refused(DURATIONS, varlen), message);
    }
}

#[test]
fn durations_of_every_kind() {
    let dense = Feature::dense("d", &[2, 3], DType::Int64).with_mask("m");
    assert_eq!(
        tensors(DURATIONS, SPANS, dense),
        "d: [1, 2, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0] [2, 2, 3]\n\
         m: [1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0] [2, 2, 3]"
    );
    let padded = Feature::fixed_len("d", &[None, None], DType::Int64)
        .with_default(Fill::Scalar(Scalar::Int64(-1)));
    assert_eq!(
        tensors(DURATIONS, SPANS, padded),
        "d: [1, 2, 3, -1, -1, -1, -1, -1, -1, -1, -1, -1] [2, 2, 3]"
    );
    let varlen = Feature::varlen("d", &[-1, 3], DType::Int64).with_mask("m");
    assert_eq!(
        tensors(DURATIONS, SPANS, varlen.clone()),
        "d: [1, 2, 3] at [[0, 0, 0], [0, 0, 1], [0, 0, 2]] of [2, 1, 3]\n\
         m: [1, 1, 1] [3]"
    );
    assert_eq!(
        tensors(DURATIONS, SPANS, varlen.with_layout(Layout::Ragged)),
        "d: [1, 2, 3] split [[0, 2, 2], [0, 3, 3]]\n\
         m: [1, 1, 1] [3]"
    );
}
