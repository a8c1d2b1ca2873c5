//! Slices in expressions.

use avro_decode::{Feature, Fill};
use tensor_batch::{DType, Layout, Scalar};

use crate::harness::{refused, tensors};

const SCHEMA: &str = r#"{"type": "record", "name": "R", "fields": [
    {"name": "d", "type": {"type": "array", "items": "long"}},
    {"name": "items", "type": ["null", {"type": "array", "items":
        {"type": "record", "name": "Item", "fields": [
            {"name": "id", "type": "string"},
            {"name": "price", "type": ["null", "double"]},
            {"name": "tags", "type": {"type": "array", "items": "string"}}]}}]}
]}"#;

const RECORDS: &str = r#"[
    {"d": [0, 1, 2, 3, 4, 5], "items": [
        {"id": "a", "price": 1.0, "tags": ["x", "y", "z"]},
        {"id": "b", "price": null, "tags": []},
        {"id": "c", "price": 3.0, "tags": ["w"]}]},
    {"d": [9], "items": null},
    {"d": [], "items": []}
]"#;

fn ragged(expression: &str) -> String {
    let feature = Feature::var_len_of_rank("x", DType::Int64, 1).at(expression);
    tensors(SCHEMA, RECORDS, feature.with_layout(Layout::Ragged))
}

#[test]
fn bounds_are_those_of_python() {
    for (expression, expected) in [
        ("d[0:4]", "x: [0, 1, 2, 3, 9] split [[0, 4, 5, 5]]"),
        ("d[2:]", "x: [2, 3, 4, 5] split [[0, 4, 4, 4]]"),
        ("d[:3]", "x: [0, 1, 2, 9] split [[0, 3, 4, 4]]"),
        ("d[-3:]", "x: [3, 4, 5, 9] split [[0, 3, 4, 4]]"),
        ("d[:-1]", "x: [0, 1, 2, 3, 4] split [[0, 5, 5, 5]]"),
        ("d[-3:-1]", "x: [3, 4] split [[0, 2, 2, 2]]"),
        ("d[1:-1]", "x: [1, 2, 3, 4] split [[0, 4, 4, 4]]"),
        ("d[:]", "x: [0, 1, 2, 3, 4, 5, 9] split [[0, 6, 7, 7]]"),
        ("d[4:2]", "x: [] split [[0, 0, 0, 0]]"),
        ("d[7:]", "x: [] split [[0, 0, 0, 0]]"),
    ] {
        assert_eq!(ragged(expression), expected, "{expression}");
    }
}

#[test]
fn dense_features_have_the_length_of_the_slice() {
    let four = Feature::dense("x", &[4], DType::Int64).at("d[0:4]");
    assert_eq!(
        tensors(SCHEMA, RECORDS, four.clone()),
        "record 1, field 'd[0:4]', byte 49: an array of 1 value, where the shape says 4; a \
         dense feature with a `default` or a `mask` fills the rest"
    );
    let filled = four.with_default(Fill::Scalar(Scalar::Int64(-1)));
    assert_eq!(
        tensors(SCHEMA, RECORDS, filled),
        "x: [0, 1, 2, 3, 9, -1, -1, -1, -1, -1, -1, -1] [3, 4]"
    );
    // A longer slice must be truncated, like any list.
    let two = Feature::dense("x", &[2], DType::Int64)
        .at("d[1:]")
        .with_mask("m");
    assert_eq!(
        tensors(SCHEMA, RECORDS, two.clone()),
        "record 0, field 'd[1:]', byte 0: an array of 5 values, where the shape says 2; \
         `truncate` drops the rest"
    );
    assert_eq!(
        tensors(SCHEMA, RECORDS, two.with_truncate()),
        "m: [1, 1, 0, 0, 0, 0] [3, 2]\nx: [1, 2, 0, 0, 0, 0] [3, 2]"
    );
}

#[test]
fn slices_stand_anywhere_on_a_way() {
    let prices = Feature::var_len("x", DType::Float64).at("items[1:].price");
    assert_eq!(
        tensors(SCHEMA, RECORDS, prices.with_mask("m")),
        "m: [0, 1] [2]\nx: [0.0, 3.0] at [[0, 0], [0, 1]] of [3, 2]"
    );
    let tags = |expression: &str| {
        let feature = Feature::var_len_of_rank("x", DType::String, 2).at(expression);
        let feature = feature.with_layout(Layout::Ragged).with_row_mask("m");
        tensors(SCHEMA, RECORDS, feature)
    };
    assert_eq!(
        tags("items[-2:].tags[:1]"),
        "m: [1, 0, 1] [3]\nx: [\"w\"] split [[0, 2, 2, 2], [0, 0, 1]]"
    );
    // After a filter, and before one.
    assert_eq!(
        tags("items[id='a'].tags[1:]"),
        "m: [1, 0, 1] [3]\nx: [\"y\", \"z\"] split [[0, 1, 1, 1], [0, 2]]"
    );
}

#[test]
fn a_slice_of_what_a_filter_keeps_is_refused() {
    let prices = Feature::var_len("x", DType::Float64).at("items[id='a'][0:4].price");
    assert_eq!(
        refused(SCHEMA, prices),
        "feature 'x': 'items[*]' is record 'Item', but a slice such as '[0:4]' needs an array; the \
         steps after a '[*]' or a filter apply to each element: for the first elements, write a \
         slice in place of the '[*]', or use `truncate`"
    );
}

#[test]
fn entries_of_a_slice() {
    let schema = r#"{"type": "record", "name": "R", "fields": [
        {"name": "e", "type": {"type": "array", "items":
            {"type": "record", "name": "E", "fields": [
                {"name": "i", "type": "long"}, {"name": "v", "type": "float"}]}}}]}"#;
    let records = r#"[{"e": [{"i": 4, "v": 1}, {"i": 2, "v": 2}, {"i": 0, "v": 3}]}]"#;
    let sparse = Feature::sparse_keys("x", &["i"], "v", &[5], DType::Float32).at("e[1:]");
    assert_eq!(
        tensors(schema, records, sparse),
        "x: [2.0, 3.0] at [[0, 0, 2], [0, 1, 0]] of [1, 2, 5]"
    );
    let sparse = Feature::sparse_keys("x", &["@e[:2].i"], "@e[-2:].v", &[5], DType::Float32);
    assert_eq!(
        tensors(schema, records, sparse),
        "x: [3.0, 2.0] at [[0, 2], [0, 4]] of [1, 5]"
    );
}
