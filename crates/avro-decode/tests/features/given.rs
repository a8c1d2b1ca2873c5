//! The examples in the documentation of AvroRecordDataset's expressions.

use avro_decode::{Feature, Fill};
use tensor_batch::{DType, Scalar};

use crate::harness::{tensors, tensors_with};

fn record(fields: &str) -> String {
    format!(r#"{{"type": "record", "name": "row", "fields": [{fields}]}}"#)
}

/// A field that is an array of records.
fn array_of(name: &str, item: &str, fields: &str) -> String {
    record(&format!(
        r#"{{"name": "{name}", "type": {{"type": "array", "items":
            {{"type": "record", "name": "{item}", "fields": [{fields}]}}}}}}"#
    ))
}

fn ints(values: &[i32]) -> Fill {
    Fill::Tensor(values.iter().map(|&value| Scalar::Int32(value)).collect())
}

#[test]
fn a_default_for_each_place() {
    let schema = array_of("x", "item", r#"{"name": "x", "type": "int"}"#);
    let feature = Feature::fixed_len("y", &[Some(2)], DType::Int32)
        .at("x[*].x")
        .with_default(ints(&[0, 1]));
    assert_eq!(
        tensors(
            &schema,
            r#"[{"x": [{"x": 0}]}, {"x": [{"x": 1}]}]"#,
            feature
        ),
        "y: [0, 1, 1, 1] [2, 2]"
    );
    let schema = record(r#"{"name": "x", "type": {"type": "array", "items": "int"}}"#);
    let feature = Feature::fixed_len("x[*]", &[Some(2)], DType::Int32).with_default(ints(&[0, 1]));
    assert_eq!(
        tensors(&schema, r#"[{"x": [0]}, {"x": [1]}]"#, feature),
        "x[*]: [0, 1, 1, 1] [2, 2]"
    );
}

#[test]
fn the_longest_in_the_batch() {
    let schema = record(r#"{"name": "x", "type": {"type": "array", "items": "int"}}"#);
    let feature = Feature::fixed_len("x[*]", &[None], DType::Int32);
    let feature = feature.with_default(Fill::Scalar(Scalar::Int32(0)));
    let records = r#"[{"x": [0, 1, 2]}, {"x": [3]}, {"x": [6, 7]}]"#;
    assert_eq!(
        tensors(&schema, records, feature),
        "x[*]: [0, 1, 2, 3, 0, 0, 6, 7, 0] [3, 3]"
    );
}

const GUESTS: &str = r#"
    {"name": "name", "type": "string"},
    {"name": "gender", "type": {"type": "enum", "name": "gender", "symbols": ["male", "female"]}},
    {"name": "address", "type": {"type": "array", "items": {"type": "record", "name": "address",
        "fields": [{"name": "zip", "type": "long"}, {"name": "street_no", "type": "int"}]}}}"#;

const GUEST_RECORDS: &str = r#"[
    {"guests": [
        {"name": "Hans", "gender": "male", "address": [{"zip": 29040, "street_no": 1}]},
        {"name": "Mary", "gender": "female", "address": [{"zip": 29040, "street_no": 3}]},
        {"name": "July", "gender": "female", "address": []}]},
    {"guests": [
        {"name": "Joel", "gender": "male", "address": []},
        {"name": "JoAn", "gender": "female", "address": []},
        {"name": "Marc", "gender": "male", "address": []}]}]"#;

#[test]
fn elements_that_a_filter_keeps() {
    let schema = array_of("guests", "guest", GUESTS);
    let names = |filter: &str| {
        let expression = format!("guests[{filter}].name");
        Feature::var_len("names", DType::String).at(expression)
    };
    assert_eq!(
        tensors(&schema, GUEST_RECORDS, names("gender='male'")),
        r#"names: ["Hans", "Joel", "Marc"] at [[0, 0], [1, 0], [1, 1]] of [2, 2]"#
    );
    assert_eq!(
        tensors(&schema, GUEST_RECORDS, names("name='nobody'")),
        "names: [] at [] of [2, 0]"
    );
}

#[test]
fn entries_after_a_filter() {
    let schema = array_of("guests", "guest", GUESTS);
    let address = Feature::sparse_keys("address", &["zip"], "street_no", &[94040], DType::Int32)
        .at("guests[gender='female'].address");
    let one = r#"[{"guests": [
        {"name": "Hans", "gender": "male", "address": [{"zip": 29040, "street_no": 1}]},
        {"name": "Mary", "gender": "female", "address": [{"zip": 29040, "street_no": 3}]}]}]"#;
    assert_eq!(
        tensors(&schema, one, address),
        "address: [3] at [[0, 0, 29040]] of [1, 1, 94040]"
    );
}

#[test]
fn an_entry_of_a_map() {
    let schema = record(
        r#"{"name": "map_of_records", "type": {"type": "map", "values":
            {"type": "record", "name": "person", "fields": [{"name": "age", "type": "int"}]}}}"#,
    );
    let age = Feature::fixed_len("map_of_records['second'].age", &[], DType::Int32);
    let records = r#"[
        {"map_of_records": {"first": {"age": 1}, "second": {"age": 2}}},
        {"map_of_records": {"second": {"age": 4}, "third": {"age": 3}}}]"#;
    assert_eq!(
        tensors(&schema, records, age),
        "map_of_records['second'].age: [2, 4] [2]"
    );
}

#[test]
fn three_index_keys() {
    let schema = record(
        r#"{"name": "engine", "type": {"type": "record", "name": "engine", "fields": [
            {"name": "id", "type": "int"}, {"name": "power", "type": "float"},
            {"name": "cylinders", "type": "int"}, {"name": "sparkplugs", "type": "int"}]}}"#,
    );
    let keys = ["cylinders", "sparkplugs", "id"];
    let engine = Feature::sparse_keys("engine", &keys, "power", &[12, 24, 10000], DType::Float32);
    let records = r#"[{"engine": {"id": 10, "power": 0.5, "cylinders": 4, "sparkplugs": 8}}]"#;
    assert_eq!(
        tensors(&schema, records, engine),
        "engine: [0.5] at [[0, 4, 8, 10]] of [1, 12, 24, 10000]"
    );
}

#[test]
fn a_branch_of_many() {
    let schema = record(
        r#"{"name": "multi", "type":
            ["null", "boolean", "int", "long", "float", "double", "string"]}"#,
    );
    let of = |branch: &str, dtype, default| {
        let expression = format!("multi:{branch}");
        Feature::fixed_len(expression, &[], dtype).with_default(Fill::Scalar(default))
    };
    let features = vec![
        of("double", DType::Float64, Scalar::Float64(0.0)),
        of("int", DType::Int32, Scalar::Int32(-1)),
        of("string", DType::String, Scalar::String(b"none".to_vec())),
    ];
    let records = r#"[{"multi": {"double": 1.5}}, {"multi": null}, {"multi": {"int": 7}},
        {"multi": {"string": "x"}}, {"multi": {"boolean": true}}, {"multi": {"double": -2.5}}]"#;
    let made = tensors_with(&schema, records, features, &Default::default());
    assert_eq!(
        made,
        "multi:double: [1.5, 0.0, 0.0, 0.0, 0.0, -2.5] [6]\n\
         multi:int: [-1, -1, 7, -1, -1, -1] [6]\n\
         multi:string: [\"none\", \"none\", \"none\", \"x\", \"none\", \"none\"] [6]"
    );
}
