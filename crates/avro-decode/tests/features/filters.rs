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
            "feature 'x': the enum has no symbol 'gren' (did you mean 'green'?), but 'red', \
             'green'"
        );
    }
    assert_eq!(
        refused(CARS, ages("colour='purple'")),
        "feature 'x': the enum has no symbol 'purple', but 'red', 'green'"
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
