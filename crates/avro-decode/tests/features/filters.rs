//! Filters.

use avro_decode::Feature;
use tensor_batch::DType;

use crate::harness::{refused, tensors};

const CARS: &str = r#"{"type": "record", "name": "R", "fields": [
    {"name": "paint", "type": {"type": "enum", "name": "C", "symbols": ["red", "green"]}},
    {"name": "cars", "type": {"type": "array", "items":
        {"type": "record", "name": "Car", "fields": [
            {"name": "colour", "type": ["null", "C"]},
            {"name": "age", "type": "int"}
        ]}}}
]}"#;

fn ages(filter: &str) -> Feature {
    Feature::var_len("x", DType::Int32).at(format!("cars[{filter}].age"))
}

#[test]
fn constants_are_symbols_of_the_enum() {
    for filter in ["colour='gren'", "'gren'=colour", "@paint='gren'"] {
        assert_eq!(
            refused(CARS, ages(filter)),
            "feature 'x': the enum has no symbol 'gren' (did you mean 'green'?), only 'red', \
             'green'; if other files have the symbol, read all files with a `reader_schema` whose enum has \
             it"
        );
    }
    assert_eq!(
        refused(CARS, ages("colour='purple'")),
        "feature 'x': the enum has no symbol 'purple', only 'red', 'green'; if other files have the \
         symbol, read all files with a `reader_schema` whose enum has it"
    );
    let records = r#"[{"paint": "red", "cars": [
        {"colour": "green", "age": 1}, {"colour": null, "age": 2}, {"colour": "red", "age": 3}
    ]}]"#;
    assert_eq!(
        tensors(CARS, records, ages("colour='green'")),
        "x: [1] at [[0, 0]] of [1, 1]"
    );
    assert_eq!(
        tensors(CARS, records, ages("colour=@paint")),
        "x: [3] at [[0, 0]] of [1, 1]"
    );
}

/// Lists whose items may be null, and a number and a text outside the lists.
const BESIDE: &str = r#"{"type": "record", "name": "R", "fields": [
    {"name": "items", "type": {"type": "array", "items":
        ["null", {"type": "record", "name": "I", "fields": [{"name": "v", "type": "int"}]}]}},
    {"name": "n", "type": ["null", "int"]}
]}"#;

#[test]
fn nulls_equal_nothing() {
    let records = r#"[{"items": [{"v": 1}, null, {"v": 2}], "n": 2}, {"items": [{"v": 3}, null], "n": null}]"#;
    let filtered = |filter: &str| {
        let feature = Feature::var_len("x", DType::Int32).at(format!("items[{filter}].v"));
        tensors(BESIDE, records, feature.with_mask("mask"))
    };
    let first = "mask: [1, 1] [2]\nx: [1, 2] at [[0, 0], [0, 1]] of [2, 2]";
    // A null item is never kept, whatever the operands are.
    assert_eq!(filtered("@n=2"), first);
    assert_eq!(filtered("@n=@n"), first);
    assert_eq!(
        filtered("v=@n"),
        "mask: [1] [1]\nx: [2] at [[0, 0]] of [2, 1]"
    );
    assert_eq!(
        filtered("v=v"),
        "mask: [1, 1, 1] [3]\nx: [1, 2, 3] at [[0, 0], [0, 1], [1, 0]] of [2, 2]"
    );
    assert_eq!(filtered("@n=9"), "mask: [] [0]\nx: [] at [] of [2, 0]");
}

const NUMBERS: &str = r#"{"type": "record", "name": "R", "fields": [
    {"name": "x", "type": {"type": "array", "items":
        {"type": "record", "name": "N", "fields": [
            {"name": "l", "type": "long"}, {"name": "f", "type": "float"},
            {"name": "d", "type": "double"}]}}}
]}"#;

#[test]
fn numbers_are_compared_by_value() {
    let records = r#"[{"x": [
        {"l": 16777217, "f": 16777216.0, "d": 16777217.0},
        {"l": 0, "f": 0.1, "d": 0.1},
        {"l": 0, "f": -0.0, "d": 0.0}]}]"#;
    let kept = |filter: &str| {
        let feature = Feature::var_len("k", DType::Float64).at(format!("x[{filter}].d"));
        tensors(NUMBERS, records, feature)
    };
    let of = |values: &str| {
        let count = values.split(", ").count();
        let at: Vec<_> = (0..count).map(|i| [0, i]).collect();
        format!("k: [{values}] at {at:?} of [1, {count}]")
    };
    // A constant becomes a float if the field is one.
    assert_eq!(kept("f=0.1"), of("0.1"));
    assert_eq!(kept("d=0.1"), of("0.1"));
    assert_eq!(kept("f=16777217.0"), of("16777217.0"));
    assert_eq!(kept("f=16777216"), of("16777217.0"));
    let none = "k: [] at [] of [1, 0]";
    // Integers are compared exactly.
    assert_eq!(kept("f=16777217"), none);
    assert_eq!(kept("l=f"), of("0.0"));
    assert_eq!(kept("l=d"), of("16777217.0, 0.0"));
    assert_eq!(kept("f=d"), of("0.0"));
    assert_eq!(kept("l=1e30"), none);
}

#[test]
fn from_the_root_before_and_behind_the_list() {
    let schema = r#"{"type": "record", "name": "R", "fields": [
        {"name": "before", "type": "string"},
        {"name": "x", "type": {"type": "array", "items":
            {"type": "record", "name": "N", "fields": [{"name": "t", "type": "bytes"}]}}},
        {"name": "behind", "type": {"type": "map", "values": "string"}}
    ]}"#;
    let records = r#"[{"before": "a", "x": [{"t": "b"}, {"t": "a"}], "behind": {"k": "b"}},
        {"before": "a", "x": [{"t": "b"}], "behind": {}}]"#;
    let kept = |filter: &str| {
        let feature = Feature::var_len("t", DType::String).at(format!("x[{filter}].t"));
        tensors(schema, records, feature)
    };
    assert_eq!(kept("t=@before"), r#"t: ["a"] at [[0, 0]] of [2, 1]"#);
    assert_eq!(kept("t=@behind['k']"), r#"t: ["b"] at [[0, 0]] of [2, 1]"#);
}
