//! Lists that are truncated to the lengths of their dimensions.

use avro_decode::{Feature, Features, Fill};
use tensor_batch::{ColumnKind, DType, Layout, Scalar, UNKNOWN};

use crate::harness::{refused, tensors};

const SCHEMA: &str = r#"{"type": "record", "name": "R", "fields": [
    {"name": "d", "type": ["null", {"type": "array", "items": ["null", "long"]}]},
    {"name": "words", "type": {"type": "array", "items": "string"}},
    {"name": "m", "type": {"type": "array", "items": {"type": "array", "items": "int"}}},
    {"name": "map", "type": {"type": "map", "values": "int"}}
]}"#;

const RECORDS: &str = r#"[
    {"d": [1, null, 3, 4, 5], "words": ["a", "b", "c"], "m": [[1, 2, 3], [4, 5, 6], [7]],
        "map": {"k": 1, "l": 2, "n": 3}},
    {"d": null, "words": ["e", "f"], "m": [[1, 2], [3, 4, 5, 6]], "map": {"p": 4, "q": 5}}
]"#;

fn truncated(feature: Feature) -> String {
    tensors(SCHEMA, RECORDS, feature.with_truncate())
}

#[test]
fn dense() {
    let d = Feature::dense("d", &[3], DType::Int64);
    let filled = d.clone().with_default(Fill::Scalar(Scalar::Int64(-1)));
    assert_eq!(truncated(filled), "d: [1, -1, 3, -1, -1, -1] [2, 3]");
    assert_eq!(
        truncated(d.with_mask("m").with_row_mask("r")),
        "d: [1, 0, 3, 0, 0, 0] [2, 3]\nm: [1, 0, 1, 0, 0, 0] [2, 3]\nr: [1, 0] [2]"
    );
    let words = Feature::dense("words", &[2], DType::String);
    let expected = "words: [\"a\", \"b\", \"e\", \"f\"] [2, 2]";
    assert_eq!(truncated(words), expected);
    let keys = Feature::dense("map.keys()", &[2], DType::String);
    let expected = "map.keys(): [\"k\", \"l\", \"p\", \"q\"] [2, 2]";
    assert_eq!(truncated(keys), expected);
    let values = Feature::dense("map[*]", &[2], DType::Int32);
    assert_eq!(truncated(values), "map[*]: [1, 2, 4, 5] [2, 2]");
}

/// A list that is too short stays an error.
#[test]
fn short_lists() {
    let words = Feature::dense("words", &[3], DType::String);
    assert_eq!(
        truncated(words),
        "record 1, field 'words', byte 47: an array of 2 values, where the shape says 3; a dense \
         feature with a `default` or a `mask` fills the rest"
    );
}

#[test]
fn each_dimension() {
    let m = |shape| Feature::dense("m", shape, DType::Int32);
    assert_eq!(
        truncated(m(&[2, 2])),
        "m: [1, 2, 4, 5, 1, 2, 3, 4] [2, 2, 2]"
    );
    let shape = [Some(2), None];
    let padded = Feature::fixed_len("m", &shape, DType::Int32);
    let padded = padded.with_default(Fill::Scalar(Scalar::Int32(0)));
    assert_eq!(
        truncated(padded),
        "m: [1, 2, 3, 0, 4, 5, 6, 0, 1, 2, 0, 0, 3, 4, 5, 6] [2, 2, 4]"
    );
    let shape = [Some(2), Some(1)];
    let reshaped = Feature::fixed_len("words", &shape, DType::String);
    let expected = "words: [\"a\", \"b\", \"e\", \"f\"] [2, 2, 1]";
    assert_eq!(truncated(reshaped), expected);
}

#[test]
fn varlen_lists_may_be_shorter() {
    let m = Feature::varlen("m", &[-1, 2], DType::Int32);
    assert_eq!(
        truncated(m.clone().with_layout(Layout::Ragged)),
        "m: [1, 2, 4, 5, 7, 1, 2, 3, 4] split [[0, 3, 5], [0, 2, 4, 5, 7, 9]]"
    );
    let ragged = m.clone().with_layout(Layout::Ragged).with_truncate();
    let features = Features::new([ragged]).unwrap();
    let varies = ColumnKind::Varlen {
        shape: vec![UNKNOWN; 2],
        layout: Layout::Ragged,
    };
    assert_eq!(features.spec().columns()[0].kind, varies);
    assert_eq!(
        truncated(Feature::varlen("m", &[1, -1], DType::Int32)),
        "m: [1, 2, 3, 1, 2] at [[0, 0, 0], [0, 0, 1], [0, 0, 2], [1, 0, 0], [1, 0, 1]] of [2, 1, 3]"
    );
    assert!(tensors(SCHEMA, RECORDS, m).contains("`truncate` drops"));
}

#[test]
fn sparse_entries_beyond_their_dimension() {
    let schema = r#"{"type": "record", "name": "R", "fields": [{"name": "s", "type":
        {"type": "record", "name": "S", "fields": [
            {"name": "indices0", "type": {"type": "array", "items": "long"}},
            {"name": "values", "type": {"type": "array", "items": "float"}}]}}]}"#;
    let records = r#"[{"s": {"indices0": [0, 7, 2], "values": [1, 2, 3]}}]"#;
    let record = Feature::sparse("s", &[3], DType::Float32);
    let expected = "s: [1.0, 3.0] at [[0, 0], [0, 2]] of [1, 3]";
    assert_eq!(tensors(schema, records, record.with_truncate()), expected);
    let keys = ("s.indices0[*]", "s.values[*]");
    let keys = Feature::sparse_keys(
        "s",
        &[&format!("@{}", keys.0)],
        &format!("@{}", keys.1),
        &[3],
        DType::Float32,
    );
    assert_eq!(tensors(schema, records, keys.with_truncate()), expected);
}

#[test]
fn what_has_no_length_to_be_cut_to() {
    for feature in [
        Feature::dense("d", &[], DType::Int64),
        Feature::fixed_len("d", &[None], DType::Int64).with_mask("m"),
        Feature::varlen("d", &[-1], DType::Int64),
        Feature::var_len("d[*]", DType::Int64),
        Feature::sparse("d", &[-1], DType::Int64),
    ] {
        assert!(refused(SCHEMA, feature.with_truncate()).ends_with(
            "`truncate` cuts lists to the lengths in `shape`, but `shape` has none: give \
                 one, or leave `truncate` out"
        ));
    }
}
