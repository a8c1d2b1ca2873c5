//! The memory of an executor is kept between calls.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use avro_decode::{DecodeError, Feature, Features, Plan, PlanOptions, Schema, Scratch};
use tensor_batch::{BatchBuilder, DType};

/// Two arrays of numbers in several blocks. If a record ends early, nothing of it may be in the
/// next record.
const RECORD: &[u8] = &[
    4, 2, 2, 2, 4, 0, 4, 6, 8, 0, 2, 4, 10, 12, 0, 0, 2, 14, 4, 16, 18, 0,
];

fn plan() -> Plan {
    let schema = r#"{"type": "record", "name": "R", "fields": [
        {"name": "square", "type": {"type": "array", "items": {"type": "array", "items": "int"}}},
        {"name": "row", "type": {"type": "array", "items": "long"}}]}"#;
    let features = Features::new([
        Feature::dense("square", &[3, 2], DType::Int32),
        Feature::dense("row", &[3], DType::Int64),
    ]);
    let schema = Arc::new(Schema::parse(schema).unwrap());
    Plan::compile(&schema, &features.unwrap(), &PlanOptions::default()).unwrap()
}

/// The values of a record.
fn read(plan: &Plan, scratch: &mut Scratch, data: &[u8]) -> Result<[Vec<i64>; 2], DecodeError> {
    let mut builder = BatchBuilder::new(plan.spec().clone());
    for mut slots in builder.slots(&[1]) {
        plan.execute_with(scratch, data, 0, 1, &mut slots)?;
    }
    let batch = builder.finish();
    let square = batch.dense::<i32>("square").unwrap();
    let row = batch.dense::<i64>("row").unwrap();
    Ok([square.iter().copied().map(i64::from).collect(), row.into()])
}

#[test]
fn what_an_error_left_half_way_is_forgotten() {
    let plan = plan();
    let mut scratch = Scratch::new();
    let expected = read(&plan, &mut scratch, RECORD).unwrap();
    assert_eq!(expected, [vec![1, 2, 3, 4, 5, 6], vec![7, 8, 9]]);
    for len in 0..RECORD.len() {
        read(&plan, &mut scratch, &RECORD[..len]).unwrap_err();
        let again = read(&plan, &mut scratch, RECORD).unwrap();
        assert_eq!(again, expected, "after {len} bytes");
    }
}

/// A plan for the values of `b` in the records of an array whose `a` is 1.
fn filtering_plan() -> Plan {
    let schema = r#"{"type": "record", "name": "R", "fields": [
        {"name": "items", "type": {"type": "array", "items": {"type": "record", "name": "I", "fields": [
            {"name": "a", "type": "int"}, {"name": "b", "type": "int"}]}}}]}"#;
    let feature = Feature::dense("b", &[2], DType::Int32).at("items[a=1].b");
    let schema = Arc::new(Schema::parse(schema).unwrap());
    let features = Features::new([feature]).unwrap();
    Plan::compile(&schema, &features, &PlanOptions::default()).unwrap()
}

#[test]
fn plans_with_operands_and_without_take_turns() {
    const ITEMS: &[u8] = &[6, 2, 14, 4, 16, 2, 18, 0];
    let (filtering, plain) = (filtering_plan(), plan());
    let read_filtered = |scratch: &mut Scratch, data: &[u8]| {
        let mut builder = BatchBuilder::new(filtering.spec().clone());
        for mut slots in builder.slots(&[1]) {
            filtering.execute_with(scratch, data, 0, 1, &mut slots)?;
        }
        let batch = builder.finish();
        Ok::<_, DecodeError>(batch.dense::<i32>("b").unwrap().to_vec())
    };
    let mut scratch = Scratch::new();
    for len in 0..ITEMS.len() {
        assert_eq!(read_filtered(&mut scratch, ITEMS).unwrap(), [7, 9]);
        assert_eq!(read_filtered(&mut scratch, ITEMS).unwrap(), [7, 9]);
        read_filtered(&mut scratch, &ITEMS[..len]).unwrap_err();
        assert_eq!(read_filtered(&mut scratch, ITEMS).unwrap(), [7, 9]);
        read(&plain, &mut scratch, RECORD).unwrap();
        read(&plain, &mut scratch, RECORD).unwrap();
    }
}
