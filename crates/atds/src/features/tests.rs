//! Reading and writing features files.
#![allow(clippy::unwrap_used)]

mod round_trip;

use std::fs;
use std::sync::Arc;

use atds_features::feature::{Extents, FeatureKind, Partition};
use atds_features::{Convert, Feature, Fill, TimeUnit, Vocabulary};
use tensor_batch::half::{bf16, f16};
use tensor_batch::{DType, Layout, Scalar, UNKNOWN};

use super::{from_json, read, to_json};

/// Checks that an entry is read as a feature, and that the feature is written as the entry.
#[track_caller]
fn both_ways(json: &str, feature: Feature) {
    let text = format!(r#"{{"f": {json}}}"#);
    assert_eq!(from_json(&text).unwrap(), std::slice::from_ref(&feature));
    let written = to_json(&[feature]);
    let expected: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(written, expected, "{json}");
}

#[test]
fn the_vocabulary_of_atds() {
    both_ways(
        r#"{"kind": "dense", "shape": [2, 3], "dtype": "bool"}"#,
        Feature::dense("f", &[2, 3], DType::Bool),
    );
    both_ways(
        r#"{"kind": "sparse", "shape": [-1, 7], "dtype": "float64"}"#,
        Feature::sparse("f", &[UNKNOWN, 7], DType::Float64),
    );
    both_ways(
        r#"{"kind": "sparse", "shape": [1099511627776], "dtype": "int64", "layout": "ragged"}"#,
        Feature::sparse("f", &[1 << 40], DType::Int64).with_layout(Layout::Ragged),
    );
    both_ways(
        r#"{"kind": "varlen", "shape": [-1, 5], "dtype": "float32"}"#,
        Feature::varlen("f", &[UNKNOWN, 5], DType::Float32),
    );
}

#[test]
fn the_vocabulary_of_tensorflow() {
    both_ways(
        r#"{"kind": "fixed_len", "expression": "a[*].b", "shape": [null, 3], "dtype": "int32"}"#,
        Feature::fixed_len("f", &[None, Some(3)], DType::Int32).at("a[*].b"),
    );
    both_ways(
        r#"{"kind": "var_len", "dtype": "string"}"#,
        Feature::var_len("f", DType::String),
    );
    both_ways(
        r#"{"kind": "var_len", "rank": 2, "dtype": "string", "layout": "ragged"}"#,
        Feature::var_len_of_rank("f", DType::String, 2).with_layout(Layout::Ragged),
    );
    both_ways(
        r#"{"kind": "var_len", "dtype": "string", "layout": "ragged",
            "partitions": [["row_splits", "a"], ["value_rowids", "b"], ["uniform_row_length", 2]]}"#,
        Feature::var_len("f", DType::String).with_partitions([
            Partition::RowSplits("a".into()),
            Partition::ValueRowIds("b".into()),
            Partition::UniformRowLength(2),
        ]),
    );
    both_ways(
        r#"{"kind": "sparse", "index_key": "id", "value_key": "power", "size": 10,
            "dtype": "float32"}"#,
        Feature::sparse_keys("f", &["id"], "power", &[10], DType::Float32),
    );
    both_ways(
        r#"{"kind": "sparse", "index_key": ["@a.b", "id"], "value_key": "power",
            "size": [10, -1], "already_sorted": true, "dtype": "float32"}"#,
        Feature::sparse_keys("f", &["@a.b", "id"], "power", &[10, -1], DType::Float32)
            .already_sorted(),
    );
}

#[test]
fn features_that_only_rust_makes_otherwise() {
    let mut feature = Feature::var_len("f", DType::Int32);
    feature.kind = FeatureKind::Varlen {
        shape: Some(vec![UNKNOWN, 3]),
        extents: Extents::Lengths,
        layout: Layout::Coo,
    };
    both_ways(
        r#"{"kind": "var_len", "shape": [-1, 3], "dtype": "int32"}"#,
        feature.clone(),
    );
    feature.kind = FeatureKind::Varlen {
        shape: None,
        extents: Extents::Values,
        layout: Layout::Coo,
    };
    both_ways(r#"{"kind": "varlen", "dtype": "int32"}"#, feature.clone());
    feature.kind = FeatureKind::Dense {
        shape: vec![None, Some(2)],
        reshape: false,
    };
    both_ways(
        r#"{"kind": "dense", "shape": [null, 2], "dtype": "int32", "default": 7}"#,
        feature.with_default(Fill::Scalar(Scalar::Int32(7))),
    );
}

#[test]
fn missing_values() {
    both_ways(
        r#"{"kind": "dense", "shape": [], "dtype": "int32", "mask": "m", "row_mask": "r"}"#,
        Feature::dense("f", &[], DType::Int32)
            .with_mask("m")
            .with_row_mask("r"),
    );
    both_ways(
        r#"{"kind": "varlen", "shape": [4, -1], "dtype": "int32", "truncate": true}"#,
        Feature::varlen("f", &[4, UNKNOWN], DType::Int32).with_truncate(),
    );
    let numbers = (1..=6).map(Scalar::Int64).collect();
    both_ways(
        r#"{"kind": "fixed_len", "shape": [null, 2, 3], "dtype": "int64",
            "default": [[1, 2, 3], [4, 5, 6]]}"#,
        Feature::fixed_len("f", &[None, Some(2), Some(3)], DType::Int64)
            .with_default(Fill::Tensor(numbers)),
    );
    for (dtype, json, scalar) in [
        ("int8", "-128", Scalar::Int8(-128)),
        ("int16", "32767", Scalar::Int16(32_767)),
        ("uint8", "255", Scalar::UInt8(255)),
        ("uint16", "65535", Scalar::UInt16(65_535)),
        ("int32", "-2147483648", Scalar::Int32(i32::MIN)),
        ("int64", "9223372036854775807", Scalar::Int64(i64::MAX)),
        (
            "float16",
            "0.099975586",
            Scalar::Float16(f16::from_f32(0.1)),
        ),
        (
            "bfloat16",
            "-0.100097656",
            Scalar::BFloat16(bf16::from_f32(-0.1)),
        ),
        ("float32", "0.1", Scalar::Float32(0.1)),
        ("float32", "-0.0", Scalar::Float32(-0.0)),
        ("float64", "0.1", Scalar::Float64(0.1)),
        (
            "float64",
            "\"-Infinity\"",
            Scalar::Float64(f64::NEG_INFINITY),
        ),
        ("float32", "\"Infinity\"", Scalar::Float32(f32::INFINITY)),
        ("float32", "\"NaN\"", Scalar::Float32(f32::NAN)),
        ("bool", "true", Scalar::Bool(true)),
        ("string", "\"é\"", Scalar::String("é".into())),
        (
            "string",
            "{\"bytes\": \"a\u{ff}\"}",
            Scalar::String(b"a\xff".to_vec()),
        ),
    ] {
        both_ways(
            &format!(r#"{{"kind": "dense", "shape": [], "dtype": "{dtype}", "default": {json}}}"#),
            Feature::dense("f", &[], scalar.dtype()).with_default(Fill::Scalar(scalar)),
        );
    }
}

#[test]
fn conversions() {
    let feature = |convert| Feature::var_len("f", DType::Int64).with_convert(convert);
    let json = |keys: &str| format!(r#"{{"kind": "var_len", "dtype": "int64", {keys}}}"#);
    both_ways(&json(r#""cast": true"#), feature(Convert::Cast));
    let most = Convert::HashBuckets(u64::MAX);
    both_ways(
        &json(r#""hash_buckets": 18446744073709551615"#),
        feature(most),
    );
    for unit in TimeUnit::ALL {
        let key = format!(r#""unit": "{}""#, unit.name());
        both_ways(&json(&key), feature(Convert::Unit(unit)));
    }
    let words = [&b"b"[..], b"a", b"", b"\xff"].map(<[u8]>::to_vec);
    for (unknown, key) in [(-1, ""), (0, r#", "unknown": 0"#)] {
        let vocabulary = Vocabulary::new(words.clone(), unknown).unwrap();
        both_ways(
            &json(&format!(
                "\"vocabulary\": [\"b\", \"a\", \"\", {{\"bytes\": \"\u{ff}\"}}]{key}"
            )),
            feature(Convert::Vocabulary(Arc::new(vocabulary))),
        );
    }
}

/// Other entries for the same features.
#[test]
fn what_may_be_left_out() {
    for (short, long) in [
        (
            r#"{"kind": "dense", "dtype": "bytes"}"#,
            r#"{"kind": "dense", "shape": [], "dtype": "bytes", "cast": false}"#,
        ),
        (
            r#"{"kind": "fixed_len_sequence", "shape": [2], "dtype": "int32"}"#,
            r#"{"kind": "fixed_len", "shape": [2], "dtype": "int32"}"#,
        ),
        (
            r#"{"kind": "fixed_len_sequence", "shape": [2], "dtype": "int32",
                "allow_missing": true}"#,
            r#"{"kind": "fixed_len", "shape": [2], "dtype": "int32", "default": 0}"#,
        ),
        (
            r#"{"kind": "fixed_len_sequence", "shape": [2], "dtype": "int32",
                "allow_missing": true, "default": 3}"#,
            r#"{"kind": "fixed_len", "shape": [2], "dtype": "int32", "default": 3}"#,
        ),
        (
            r#"{"kind": "sparse", "index_key": ["i"], "value_key": "v", "size": [3],
                "dtype": "int32", "already_sorted": false, "layout": "coo"}"#,
            r#"{"kind": "sparse", "index_key": "i", "value_key": "v", "size": 3,
                "dtype": "int32"}"#,
        ),
    ] {
        let [short, long] =
            [short, long].map(|entry| from_json(&format!(r#"{{"f": {entry}}}"#)).unwrap());
        assert_eq!(short, long);
    }
}

#[test]
fn features_stay_in_the_order_of_the_file() {
    let text =
        r#"{"b": {"kind": "dense", "dtype": "int32"}, "a": {"kind": "dense", "dtype": "int32"}}"#;
    let features = from_json(text).unwrap();
    let names: Vec<&str> = features.iter().map(|feature| &*feature.name).collect();
    assert_eq!(names, ["b", "a"]);
}

#[test]
fn a_file_of_words_lies_beside_the_features_file() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("words.txt"), b"one\r\ntwo\n\xff\n\nlast").unwrap();
    let file = folder.path().join("f.json");
    let text = r#"{"f": {"kind": "dense", "dtype": "int64", "vocabulary": {"file": "words.txt"}}}"#;
    fs::write(&file, text).unwrap();
    let features = read(&file).unwrap();
    let words = [&b"one"[..], b"two", b"\xff", b"", b"last"].map(<[u8]>::to_vec);
    let vocabulary = Vocabulary::new(words, -1).unwrap();
    let expected = Convert::Vocabulary(Arc::new(vocabulary));
    assert_eq!(features[0].convert, expected);

    let error = read(folder.path().join("gone.json")).unwrap_err();
    assert_eq!(error.to_string(), "No such file or directory (os error 2)");
}
