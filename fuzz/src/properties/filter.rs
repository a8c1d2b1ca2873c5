//! Filters of any text, on records of a schema with values of every kind.

use std::sync::{Arc, LazyLock};

use avro_decode::encode::{EncodeOptions, encode};
use avro_decode::{Feature, Features, Plan, PlanOptions, Schema, Value, reference};
use tensor_batch::{BatchBuilder, DType};

use super::input::Input;
use super::plan::common::{Entropy, value_of};

/// There are values to compare before the array, in its elements and after it.
const SCHEMA: &str = r#"{"type": "record", "name": "Row", "namespace": "x.y", "fields": [
    {"name": "who", "type": ["null", "string"]},
    {"name": "n", "type": "long"},
    {"name": "a", "type": {"type": "array", "items": ["null", {
        "type": "record", "name": "Item", "fields": [
            {"name": "i", "type": "int"},
            {"name": "s", "type": "string"},
            {"name": "e", "type": {"type": "enum", "name": "E", "symbols": ["f", "m"]}},
            {"name": "w", "type": "float"},
            {"name": "d", "type": ["double", "null"]},
            {"name": "b", "type": "boolean"},
            {"name": "x", "type": "bytes"},
            {"name": "z", "type": {"type": "fixed", "name": "F", "size": 1}},
            {"name": "u", "type": ["int", "string", "null"]},
            {"name": "l", "type": {"type": "array", "items": "int"}},
            {"name": "m", "type": {"type": "map", "values": "string"}},
            {"name": "r", "type": {"type": "record", "name": "In", "fields": [
                {"name": "q", "type": "int"}]}},
            {"name": "v", "type": "int"}]}]}},
    {"name": "k", "type": {"type": "map", "values": "Item"}},
    {"name": "p", "type": "In"},
    {"name": "t", "type": "string"}]}"#;

static PARSED: LazyLock<Arc<Schema>> =
    LazyLock::new(|| Arc::new(Schema::parse(SCHEMA).expect("a schema")));

/// See [`FILTER`](super::FILTER).
pub(super) fn check(data: &[u8]) {
    let mut input = Input::new(data);
    let len = usize::from(input.byte());
    let text = String::from_utf8_lossy(input.take(len)).into_owned();
    let mut entropy = Entropy::new(input.rest().to_vec());
    let schema = &*PARSED;
    let records: Vec<Value> = (0..3)
        .map(|_| value_of(schema, schema.root(), &mut entropy))
        .collect();

    for list in ["a", "k"] {
        let expression = format!("{list}[{text}].v");
        let feature = Feature::var_len("all", DType::Int32).at(&*expression);
        let Ok(features) = Features::new([feature]) else {
            continue;
        };
        let Ok(plan) = Plan::compile(schema, &features, &PlanOptions::default()) else {
            continue;
        };
        compare_with_reference(&plan, &features, &records);
    }
}

fn compare_with_reference(plan: &Plan, features: &Features, records: &[Value]) {
    let schema = &*PARSED;
    let mut data = Vec::new();
    for record in records {
        let options = EncodeOptions::default();
        encode(schema, schema.root(), record, &mut data, &options).expect("values of the schema");
    }
    let mut builder = BatchBuilder::new(features.spec().clone());
    let mut slots = builder.slots(&[records.len()]);
    let executed = plan.execute(&data, 0, records.len(), &mut slots[0]);
    drop(slots);
    let expected = reference::tensors(schema, records, features, &PlanOptions::default());
    match (expected, executed) {
        (Ok(expected), Ok(executed)) => {
            assert_eq!(executed.position, data.len());
            builder.gather().into_iter().for_each(|task| task.run());
            let batch = builder.finish();
            if let Err(difference) = expected.compare(&batch) {
                panic!("{difference}");
            }
        }
        (Err(_), Err(_)) => {}
        (expected, executed) => panic!("{expected:?}, but {executed:?}"),
    }
}
