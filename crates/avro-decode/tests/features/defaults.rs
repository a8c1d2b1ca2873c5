//! Defaults of a reader's schema for fields that the data lacks.

use avro_decode::{Feature, limits::MAX_FILLED_PARTS};
use tensor_batch::DType;

use crate::harness::{read_as, tensors_with};

const WRITER: &str = r#"{"type": "record", "name": "R", "fields": [
    {"name": "a", "type": {"type": "array", "items":
        {"type": "record", "name": "Item", "fields": [{"name": "old", "type": "int"}]}}}
]}"#;

/// The reader's schema: the writer's schema, and a field `new` in the items.
fn reader(ty: &str, default: &str) -> String {
    WRITER.replace(
        r#"{"name": "old", "type": "int"}"#,
        &format!(r#"{{"name": "new", "type": {ty}, "default": {default}}}"#),
    )
}

fn read(items: usize, ty: &str, default: &str, feature: Feature) -> String {
    let items = vec![r#"{"old": 1}"#; items].join(",");
    let records = format!(r#"[{{"a": [{items}]}}, {{"a": []}}]"#);
    let options = read_as(&reader(ty, default));
    tensors_with(WRITER, &records, vec![feature], &options)
}

const INTS: &str = r#"{"type": "array", "items": "int"}"#;

#[test]
fn defaults_in_arrays() {
    let new = Feature::var_len("x", DType::Int32).at("a[*].new[*]");
    assert_eq!(
        read(2, INTS, "[7, 8]", new),
        "x: [7, 8, 7, 8] at [[0, 0, 0], [0, 0, 1], [0, 1, 0], [0, 1, 1]] of [2, 2, 2]"
    );
    let new = Feature::var_len("x", DType::Int32).at("a[new[1]=8].new[0]");
    assert_eq!(
        read(2, INTS, "[7, 8]", new),
        "x: [7, 7] at [[0, 0], [0, 1]] of [2, 2]"
    );
    let entries = Feature::sparse_keys("x", &["new[0]"], "new[1]", &[9], DType::Int32).at("a");
    assert_eq!(
        read(1, INTS, "[7, 8]", entries),
        "x: [8] at [[0, 7]] of [2, 9]"
    );
}

#[test]
fn what_is_wrong_with_a_default_is_where_data_lacks_it() {
    let new = Feature::dense("x", &[1, 3], DType::Int32).at("a[*].new");
    assert_eq!(
        read(1, INTS, "[7, 8]", new),
        "record 0, field 'a[*].new', byte 1: an array of 2 values, where the shape says 3; a dense feature with a `default` or a `mask` fills the rest"
    );
}

#[test]
fn few_bytes_become_only_so_many_defaults() {
    // Each default counts one value and the bytes of its text.
    let text = "x".repeat(MAX_FILLED_PARTS / 8);
    let new = |items| {
        let new = Feature::var_len("x", DType::String).at("a[*].new");
        read(items, "\"string\"", &format!("\"{text}\""), new)
    };
    assert!(new(7).starts_with("x: "));
    assert_eq!(
        new(8),
        "record 0, field 'a[*].new', byte 8: defaults would add more than 4194304 values and bytes"
    );
}
