//! The batches and errors of TensorFlow, as `scripts/tfrecord_against_tensorflow.py` has written them.

use std::fs;
use std::path::Path;

use serde_json::Value;

#[path = "common/cases.rs"]
mod cases;

#[test]
fn batches_and_errors_are_those_of_tensorflow() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tensorflow.jsonl");
    let text = fs::read_to_string(path).expect("the cases are there");
    let (mut values, mut errors) = (0, 0);
    for line in text.lines() {
        let case: Value = serde_json::from_str(line).expect("a case");
        let found = cases::decode(&case);
        if case["columns"].is_null() {
            assert!(found["error"].is_string(), "{found} is no error: {line}");
            errors += 1;
        } else {
            assert_eq!(found["columns"], case["columns"], "{line}");
            values += 1;
        }
    }
    assert!(values > 100 && errors > 50, "{values} {errors}");
}
