//! Conversions in a plan, for every kind of feature. Values are converted directly, without an
//! intermediate copy.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use avro_decode::{
    Convert, Feature, Features, Fill, Plan, PlanError, PlanOptions, Schema, TimeUnit, Vocabulary,
};
use tensor_batch::half::f16;
use tensor_batch::{Batch, BatchBuilder, Column, DType, Scalar};

const SCHEMA: &str = r#"{"type": "record", "name": "Visit", "fields": [
    {"name": "page", "type": "string"},
    {"name": "words", "type": {"type": "array", "items": "string"}},
    {"name": "score", "type": ["null", "long"]},
    {"name": "device", "type": {"type": "enum", "name": "Device", "symbols": ["phone", "desk"]}},
    {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
    {"name": "stay", "type": {
        "type": "fixed", "name": "Stay", "size": 12, "logicalType": "duration"}}
]}"#;

/// ("a", ["cat", "dog"], 3, desk, -1 ms, 1 month 2 days 3 ms) and ("", [], null, phone, 1 day, a
/// zero duration).
const RECORDS: &[u8] = b"\x02a\x04\x06cat\x06dog\0\x02\x06\x02\x01\x01\0\0\0\x02\0\0\0\x03\0\0\0\
    \0\0\0\0\x80\xf0\xb2\x52\0\0\0\0\0\0\0\0\0\0\0\0";

fn plan(features: Vec<Feature>) -> Result<Plan, PlanError> {
    let schema = Arc::new(Schema::parse(SCHEMA).unwrap());
    let features = Features::new(features).unwrap();
    Plan::compile(&schema, &features, &PlanOptions::default())
}

fn read(features: Vec<Feature>) -> Batch {
    let plan = plan(features).unwrap();
    let mut builder = BatchBuilder::new(plan.spec().clone());
    for mut slots in builder.slots(&[2]) {
        let executed = plan.execute(RECORDS, 0, 2, &mut slots).unwrap();
        assert_eq!(executed.position, RECORDS.len());
    }
    builder.gather().into_iter().for_each(|task| task.run());
    builder.finish()
}

#[test]
fn strings_become_ids() {
    let words = Vocabulary::new(["dog", "cat"].map(Vec::from), -1).unwrap();
    let batch = read(vec![
        Feature::dense("page", &[], DType::Int64).with_convert(Convert::HashBuckets(10)),
        Feature::varlen("words", &[-1], DType::Int32)
            .with_convert(Convert::Vocabulary(words.into())),
    ]);
    // TensorFlow's ids, as in testdata/hash_golden.json.
    assert_eq!(batch.dense::<i64>("page").unwrap(), [9, 3]);
    let Some(Column::Sparse(words)) = batch.column("words") else {
        panic!("COO")
    };
    assert_eq!(words.values.as_slice::<i32>(), Some(&[1, 0][..]));
    assert_eq!(words.indices, [0, 0, 0, 1]);
}

#[test]
fn numbers_are_cast_and_defaults_are_not() {
    let default = Fill::Scalar(Scalar::Float16(f16::from_f32(0.5)));
    let batch = read(vec![
        Feature::dense("score", &[], DType::Float16)
            .with_convert(Convert::Cast)
            .with_default(default),
        Feature::dense("device", &[], DType::Int32),
    ]);
    let expected = [3.0, 0.5].map(f16::from_f32);
    assert_eq!(batch.dense::<f16>("score").unwrap(), expected);
    assert_eq!(batch.dense::<i32>("device").unwrap(), [1, 0]);
}

#[test]
fn times_have_the_unit_asked_for_and_durations_three_parts() {
    let batch = read(vec![
        Feature::dense("at", &[], DType::Int64).with_convert(Convert::Unit(TimeUnit::Days)),
        Feature::dense("stay", &[3], DType::Int64),
    ]);
    assert_eq!(batch.dense::<i64>("at").unwrap(), [-1, 1]);
    assert_eq!(batch.dense::<i64>("stay").unwrap(), [1, 2, 3, 0, 0, 0]);
}

#[test]
fn a_dtype_that_needs_a_cast_says_so() {
    let error = plan(vec![Feature::dense("score", &[], DType::Int32)]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "feature 'score': the values are long, read as int64, not int32; ask for it with `cast=true`"
    );
}
