//! Features that cannot be, whatever the schema.

use atds::{Codec, ColumnSpec, DType, Feature, Layout, features};

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
    case(&[], "features must be at least one, or not given");
    case(
        &[ColumnSpec::dense("pair", &[0], float)],
        "column 'pair': dimensions are above 0, or -1 for unknown where the column is not dense",
    );
    case(
        &[ColumnSpec::dense("pair", &[usize::MAX, 2], float)],
        "column 'pair': the shape is too large to address",
    );
    case(
        &[ColumnSpec::dense("pair", &[1; 40], float)],
        "column 'pair': the shape has 40 dimensions, more than 31",
    );
    case(
        &[ColumnSpec::sparse("cells", &[], float)],
        "column 'cells': the shape is empty; sparse, padded and ragged columns have at least one dimension",
    );
    case(
        &[ColumnSpec::sparse("cells", &[0], float)],
        "column 'cells': dimensions are above 0, or -1 for unknown where the column is not dense",
    );
    case(
        &[ColumnSpec::sparse("cells", &[-2], float)],
        "column 'cells': dimensions are above 0, or -1 for unknown where the column is not dense",
    );
    case(
        &[ColumnSpec::varlen("list", &[], float).with_layout(Layout::Ragged)],
        "column 'list': the shape is empty; sparse, padded and ragged columns have at least one dimension",
    );
    case(
        &[ColumnSpec::varlen("list", &[0], float)],
        "column 'list': dimensions are above 0, or -1 for unknown where the column is not dense",
    );
    case(
        &[ColumnSpec::varlen("list", &[i64::MIN], float)],
        "column 'list': dimensions are above 0, or -1 for unknown where the column is not dense",
    );
    let id = || ColumnSpec::dense("id", &[], long);
    case(&[id(), id()], "column 'id': the name is given twice");
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
        "the features: invalid type: sequence, expected a map at line 1 column 0",
    );
    case(
        "{",
        "the features: EOF while parsing an object at line 1 column 1",
    );
    case(
        r#"{"f": 3}"#,
        "feature 'f': invalid type: integer `3`, expected an object of kind, shape, dtype and layout",
    );
    case(
        r#"{"f": {"kind": "dense"}}"#,
        "feature 'f': missing field `dtype`",
    );
    case(
        r#"{"f": {"kind": "thick", "dtype": "int32"}}"#,
        "feature 'f': unknown kind 'thick'",
    );
    case(
        r#"{"f": {"kind": "dense", "dtype": "int"}}"#,
        "feature 'f': unknown dtype 'int'",
    );
    case(
        r#"{"f": {"kind": "dense", "shape": [-1], "dtype": "int32"}}"#,
        "feature 'f': a dense dimension is negative",
    );
    case(
        r#"{"f": {"kind": "dense", "shape": 3, "dtype": "int32"}}"#,
        "feature 'f': invalid type: integer `3`, expected a sequence",
    );
    case(
        r#"{"f": {"kind": "dense", "dtype": "int32", "layout": "coo"}}"#,
        "feature 'f': a dense feature has no layout",
    );
    case(
        r#"{"f": {"kind": "varlen", "shape": [-1], "dtype": "int32", "layout": "csr"}}"#,
        "feature 'f': unknown layout 'csr'",
    );
    case(
        r#"{"f": {"kind": "dense", "dtype": "int32", "size": 3}}"#,
        "feature 'f': unknown field `size`, expected one of `kind`, `shape`, `dtype`, `layout`",
    );
}

#[test]
fn a_features_file_says_what_it_is_read_to() {
    let columns = [
        Feature::dense("a", &[2, 3], DType::Bool),
        Feature::dense("b", &[], DType::String),
        Feature::sparse("c", &[-1, 7], DType::Float64),
        Feature::sparse("d", &[1 << 40], DType::Int64).with_layout(atds::Layout::Ragged),
        Feature::varlen("e", &[-1], DType::Int32).with_layout(atds::Layout::Ragged),
        Feature::varlen("f", &[-1, 5], DType::Float32),
    ];
    let text = features::to_json(&columns).to_string();
    assert_eq!(features::from_json(&text).unwrap(), columns);
    let bytes = r#"{"x": {"kind": "dense", "dtype": "bytes"}}"#;
    let column = Feature::dense("x", &[], DType::String);
    assert_eq!(features::from_json(bytes).unwrap(), [column]);
}
