//! Features that are invalid for every schema.

use atds::{Codec, ColumnSpec, DType, Layout, features};

use crate::Messages;
use crate::common::Folder;

#[test]
fn columns() {
    let mut messages = Messages::default();
    let folder = Folder::of_rows(1, 1, 1, Codec::Null);
    let mut case = |columns: &[ColumnSpec], expected: &str| {
        let dataset = folder.rows(1).features(columns.to_vec());
        let error = dataset.build().unwrap_err();
        messages.check(&format!("{columns:?}"), folder.message(&error), expected);
    };
    let (float, long) = (DType::Float32, DType::Int64);
    case(&[], "`features` must be at least one, or not given");
    case(
        &[ColumnSpec::dense("pair", &[0], float)],
        "feature 'pair': a dimension must be above 0; where the column is not dense, -1 stands for unknown",
    );
    case(
        &[ColumnSpec::dense("pair", &[usize::MAX, 2], float)],
        "feature 'pair': the shape is too large to address",
    );
    case(
        &[ColumnSpec::dense("pair", &[1; 40], float)],
        "feature 'pair': the shape has 40 dimensions, more than 31",
    );
    case(
        &[ColumnSpec::sparse("cells", &[], float)],
        "feature 'cells': the shape is empty; sparse, padded and ragged columns have at least one dimension",
    );
    case(
        &[ColumnSpec::sparse("cells", &[0], float)],
        "feature 'cells': a dimension must be above 0; where the column is not dense, -1 stands for unknown",
    );
    case(
        &[ColumnSpec::sparse("cells", &[-2], float)],
        "feature 'cells': a dimension must be above 0; where the column is not dense, -1 stands for unknown",
    );
    case(
        &[ColumnSpec::varlen("list", &[], float).with_layout(Layout::Ragged)],
        "feature 'list': the shape is empty; sparse, padded and ragged columns have at least one dimension",
    );
    case(
        &[ColumnSpec::varlen("list", &[0], float)],
        "feature 'list': a dimension must be above 0; where the column is not dense, -1 stands for unknown",
    );
    case(
        &[ColumnSpec::varlen("list", &[i64::MIN], float)],
        "feature 'list': a dimension must be above 0; where the column is not dense, -1 stands for unknown",
    );
    let id = || ColumnSpec::dense("id", &[], long);
    case(&[id(), id()], "feature 'id': the name is given twice");
}

#[test]
fn features_files() {
    let mut messages = Messages::default();
    let mut case = |text: &str, expected: &str| {
        let found = match features::from_json(text) {
            Ok(columns) => format!("{columns:?}"),
            Err(error) => error.to_string(),
        };
        messages.check(text, found, expected);
    };
    case(
        "",
        "the features: EOF while parsing a value at line 1 column 0",
    );
    case(
        "[]",
        "the features: invalid type: sequence, expected an object of features at line 1 column 0",
    );
    case(
        "{",
        "the features: EOF while parsing an object at line 1 column 1",
    );
    case(
        "{} {}",
        "the features: trailing characters at line 1 column 4",
    );
    case(
        r#"{"f": 3}"#,
        "the features: invalid type: integer `3`, expected an object for feature 'f' at line 1 column 7",
    );
    case(
        "{\"f\": {},\n \"f\": {}}",
        "the features: feature 'f' is there twice at line 2 column 4",
    );
    case(
        r#"{"f": {"kind": "dense", "kind": "sparse"}}"#,
        "the features: feature 'f' has 'kind' twice at line 1 column 30",
    );
}

#[test]
fn entries_of_features_files() {
    let mut messages = Messages::default();
    let mut case = |keys: &str, expected: &str| {
        let error = features::from_json(&format!(r#"{{"f": {{{keys}}}}}"#));
        let found = match error {
            Ok(_) => "no error".to_owned(),
            Err(error) => error.to_string(),
        };
        messages.check(keys, found, &format!("feature 'f': {expected}"));
    };
    case("", "'kind' is missing");
    case(r#""kind": "dense""#, "'dtype' is missing");
    case(
        r#""kind": "fixed_len", "dtype": "int32""#,
        "'shape' is missing",
    );
    case(
        r#""kind": "fixed_len_sequence", "dtype": "int32""#,
        "'shape' is missing",
    );
    case(
        r#""kind": "sparse", "dtype": "int32""#,
        "'shape' is missing",
    );
    case(
        r#""kind": "sparse", "dtype": "int32", "size": 3"#,
        "'value_key' is missing",
    );
    case(
        r#""kind": "sparse", "dtype": "int32", "size": 3, "value_key": "v""#,
        "'index_key' is missing",
    );
    case(
        r#""kind": "sparse", "dtype": "int32", "index_key": "i", "value_key": "v""#,
        "'size' is missing",
    );
    case(
        r#""kind": "thick", "dtype": "int32""#,
        "'kind' is 'thick', which is none of 'dense', 'sparse', 'varlen', 'fixed_len', 'fixed_len_sequence', 'var_len'",
    );
    case(
        r#""kind": 3, "dtype": "int32""#,
        "'kind' is 3, not a string",
    );
    case(
        r#""kind": "dense", "dtype": "int""#,
        "'dtype' is 'int', which is none of 'int8', 'int16', 'int32', 'int64', 'uint8', 'uint16', 'float16', 'bfloat16', 'float32', 'float64', 'bool', 'string'",
    );
    case(
        r#""kind": "varlen", "shape": [-1], "dtype": "int32", "layout": "csr""#,
        "'layout' is 'csr', which is none of 'coo', 'ragged'",
    );
    case(
        r#""kind": "dense", "shape": [-1], "dtype": "int32""#,
        "'shape' is [-1], not a list of dimensions, null for one that varies",
    );
    case(
        r#""kind": "varlen", "shape": [null], "dtype": "int32""#,
        "'shape' is [null], not a list of dimensions, -1 for an unknown one",
    );
    case(
        r#""kind": "dense", "shape": 3, "dtype": "int32""#,
        "'shape' is 3, not a list of dimensions, null for one that varies",
    );
    case(
        r#""kind": "var_len", "rank": 1000, "dtype": "int32""#,
        "'rank' is 1000, not a number of dimensions",
    );
    case(
        r#""kind": "var_len", "rank": 1, "shape": [-1], "dtype": "int32""#,
        "'rank' and 'shape' exclude each other",
    );
    case(
        r#""kind": "sparse", "dtype": "int32", "size": 3.5, "index_key": "i", "value_key": "v""#,
        "'size' is 3.5, not an integer",
    );
    case(
        r#""kind": "sparse", "dtype": "int32", "size": 3, "index_key": ["i", 3], "value_key": "v""#,
        r#"'index_key' is ["i",3], not a key or a list of keys"#,
    );
    case(
        r#""kind": "dense", "dtype": "int32", "mask": true"#,
        "'mask' is true, not a string",
    );
    let common = "'kind', 'dtype', 'expression', 'default', 'mask', 'row_mask', 'truncate', 'cast', 'hash_buckets', 'vocabulary', 'unknown', 'unit'";
    case(
        r#""kind": "dense", "dtype": "int32", "layout": "coo""#,
        &format!("'dense' has no key 'layout'; its keys are 'shape', {common}"),
    );
    case(
        r#""kind": "varlen", "dtype": "int32", "rank": 1"#,
        &format!("'varlen' has no key 'rank'; its keys are 'shape', 'layout', {common}"),
    );
    case(
        r#""kind": "var_len", "dtype": "int32", "size": 1"#,
        &format!(
            "'var_len' has no key 'size'; its keys are 'rank', 'shape', 'layout', 'partitions', {common}"
        ),
    );
    case(
        r#""kind": "fixed_len", "dtype": "int32", "allow_missing": true"#,
        &format!("'fixed_len' has no key 'allow_missing'; its keys are 'shape', {common}"),
    );
    case(
        r#""kind": "fixed_len_sequence", "dtype": "int32", "fill": 3"#,
        &format!(
            "'fixed_len_sequence' has no key 'fill'; its keys are 'shape', 'allow_missing', {common}"
        ),
    );
    case(
        r#""kind": "sparse", "dtype": "int32", "keys": []"#,
        &format!(
            "'sparse' has no key 'keys'; its keys are 'shape', 'layout', 'index_key', 'value_key', 'size', {common}"
        ),
    );
    case(
        r#""kind": "sparse", "dtype": "int32", "shape": [3], "index_key": "i""#,
        &format!(
            "'sparse' with keys has no key 'shape'; its keys are 'index_key', 'value_key', 'size', 'already_sorted', 'layout', {common}"
        ),
    );
}

#[test]
fn defaults_of_features_files() {
    let mut messages = Messages::default();
    let mut case = |keys: &str, expected: &str| {
        let found = match features::from_json(&format!(r#"{{"f": {{{keys}}}}}"#)) {
            Ok(_) => "no error".to_owned(),
            Err(error) => error.to_string(),
        };
        messages.check(keys, found, &format!("feature 'f': {expected}"));
    };
    for (dtype, json) in [
        ("int8", "128"),
        ("int16", "-32769"),
        ("uint8", "-1"),
        ("uint8", "256"),
        ("uint16", "65536"),
        ("int32", "2147483648"),
        ("int32", "1.5"),
        ("int64", "9223372036854775808"),
        ("float16", "65520"),
        ("float32", "1e39"),
        ("float64", "\"nan\""),
        ("bool", "0"),
        ("string", "0"),
        ("string", "{\"bytes\":\"\u{100}\"}"),
        ("int32", "null"),
    ] {
        let found = serde_json::from_str::<serde_json::Value>(json).unwrap();
        case(
            &format!(r#""kind": "dense", "dtype": "{dtype}", "default": {json}"#),
            &format!("'default' has {found}, which is not of dtype {dtype}"),
        );
    }
    let dense = r#""kind": "dense", "shape": [2, 2], "dtype": "int32", "default""#;
    for json in [
        "[1, 2, 3, 4]",
        "[[1, 2], [3]]",
        "[[1, 2]]",
        "[[[1], [2]], [[3], [4]]]",
    ] {
        case(
            &format!("{dense}: {json}"),
            "the lists of 'default' are not of the shape [2, 2]",
        );
    }
    case(
        &format!("{dense}: [[1, 2], [3, \"4\"]]"),
        r#"'default' has "4", which is not of dtype int32"#,
    );
    case(
        r#""kind": "fixed_len", "shape": [null, 2], "dtype": "int32", "default": [[1, 2]]"#,
        "the lists of 'default' are not of the shape [2]",
    );
    case(
        r#""kind": "fixed_len", "shape": [2, null], "dtype": "int32", "default": [[1, 2]]"#,
        "'default' is [[1,2]], not one value, since a dimension varies",
    );
    case(
        r#""kind": "var_len", "dtype": "int32", "default": [1]"#,
        "'default' is [1], not one value",
    );
    case(
        r#""kind": "fixed_len_sequence", "shape": [2], "dtype": "int32", "default": 1"#,
        r#"'default' needs "allow_missing": true"#,
    );
    let long = format!(
        r#""kind": "dense", "dtype": "int32", "default": "{}""#,
        "é".repeat(99)
    );
    case(
        &long,
        &format!(
            "'default' has \"{}.., which is not of dtype int32",
            "é".repeat(39)
        ),
    );
}

#[test]
fn conversions_of_features_files() {
    let mut messages = Messages::default();
    let mut case = |keys: &str, expected: &str| {
        let text = format!(r#"{{"f": {{"kind": "dense", "dtype": "int64", {keys}}}}}"#);
        let found = match features::from_json(&text) {
            Ok(_) => "no error".to_owned(),
            Err(error) => error.to_string(),
        };
        messages.check(keys, found, &format!("feature 'f': {expected}"));
    };
    case(r#""cast": 1"#, "'cast' is 1, not true or false");
    case(
        r#""hash_buckets": -1"#,
        "'hash_buckets' is -1, not a number of buckets",
    );
    case(
        r#""unit": "weeks""#,
        "'unit' is 'weeks', which is none of 'days', 'hours', 'minutes', 'seconds', 'millis', 'micros', 'nanos'",
    );
    case(
        r#""cast": true, "unit": "days""#,
        "'cast' and 'unit' exclude each other",
    );
    case(
        r#""hash_buckets": 5, "vocabulary": []"#,
        "'hash_buckets' and 'vocabulary' exclude each other",
    );
    case(r#""unknown": 3"#, "'vocabulary' is missing");
    case(
        r#""vocabulary": ["a"], "unknown": "b""#,
        r#"'unknown' is "b", not an integer"#,
    );
    case(
        r#""vocabulary": {"path": "words.txt"}"#,
        r#"'vocabulary' is {"path":"words.txt"}, not a list of words or {"file": ..}"#,
    );
    case(
        r#""vocabulary": ["a", 1]"#,
        r#"'vocabulary' is ["a",1], not a list of words or {"file": ..}"#,
    );
    case(
        r#""vocabulary": ["a", "b", "a"]"#,
        "'vocabulary': words 0 and 2 are the same: 'a'",
    );
    case(
        r#""vocabulary": {"file": "no/words.txt"}"#,
        "'vocabulary', file no/words.txt: No such file or directory (os error 2)",
    );
}
