//! Records in slices of their own: `Plan::execute_each`.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use avro_decode::{
    DecodeError, DecodeErrorKind, ExecutedEach, Feature, Features, Plan, PlanOptions, Schema,
};
use tensor_batch::{Batch, BatchBuilder, DType};

fn plan() -> Plan {
    let schema = r#"{"type": "record", "name": "R", "fields": [
        {"name": "n", "type": "int"},
        {"name": "texts", "type": {"type": "array", "items": "string"}}]}"#;
    let features = Features::new([
        Feature::dense("n", &[], DType::Int32),
        Feature::varlen("texts", &[-1], DType::String),
    ]);
    let schema = Arc::new(Schema::parse(schema).unwrap());
    Plan::compile(&schema, &features.unwrap(), &PlanOptions::default()).unwrap()
}

const RECORDS: [&[u8]; 4] = [
    &[2, 2, 2, b'a', 0],
    &[4, 0],
    &[6, 4, 0, 4, b'b', b'c', 0],
    &[8, 2, 2, b'd', 2, 0, 0],
];

/// The rows that `execute_each` makes from `runs` of records, in one batch.
fn each(runs: &[&[&[u8]]]) -> Result<Batch, DecodeError> {
    let plan = plan();
    let mut builder = BatchBuilder::new(plan.spec().clone());
    let rows = runs.iter().map(|run| run.len()).sum();
    for mut slots in builder.slots(&[rows]) {
        for run in runs {
            let done = plan.execute_each(run.iter().copied(), &mut slots)?;
            assert_eq!(done, ExecutedEach::default());
        }
    }
    builder.gather().into_iter().for_each(|task| task.run());
    Ok(builder.finish())
}

fn everything(batch: &Batch) -> String {
    format!("{:?}", batch.columns().collect::<Vec<_>>())
}

#[test]
fn one_by_one_is_end_to_end() {
    let plan = plan();
    let mut builder = BatchBuilder::new(plan.spec().clone());
    let data = RECORDS.concat();
    for mut slots in builder.slots(&[4]) {
        plan.execute(&data, 0, 4, &mut slots).unwrap();
    }
    builder.gather().into_iter().for_each(|task| task.run());
    let expected = everything(&builder.finish());
    assert_eq!(everything(&each(&[&RECORDS]).unwrap()), expected);
    for middle in 0..=4 {
        let (head, tail) = RECORDS.split_at(middle);
        assert_eq!(everything(&each(&[head, tail]).unwrap()), expected);
    }
}

#[test]
fn every_record_ends_where_its_bytes_do() {
    for (number, record) in RECORDS.iter().enumerate() {
        for length in 0..record.len() {
            let mut records = RECORDS;
            records[number] = &record[..length];
            let error = each(&[&records]).unwrap_err();
            assert_eq!(error.record, Some(number as u64));
            assert!(error.offset <= length, "{error}");
        }
        let longer = [record, &[0, 0][..]].concat();
        let mut records = RECORDS;
        records[number] = &longer;
        let error = each(&[&records]).unwrap_err();
        assert_eq!(error.kind, DecodeErrorKind::TrailingBytes { left: 2 });
        assert_eq!(
            error.to_string(),
            format!(
                "record {number}, byte {}: the record ends, and 2 bytes follow it; `tolerate` 'trailing-block-bytes' leaves them out",
                record.len()
            )
        );
    }
}

#[test]
#[should_panic = "more records than rows"]
fn more_records_than_rows() {
    let plan = plan();
    let mut builder = BatchBuilder::new(plan.spec().clone());
    let mut slots = builder.slots(&[3]);
    let _ = plan.execute_each(RECORDS, &mut slots[0]);
}
