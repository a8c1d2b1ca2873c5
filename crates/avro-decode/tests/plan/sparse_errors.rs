//! Sparse features that do not fit the schema, each with its message.

use avro_decode::feature::FeatureErrorKind;
use avro_decode::{Feature, Features};
use tensor_batch::{ColumnSpec, DType};

use crate::schema_errors::{INTS, message};

fn sparse_type(fields: &[(&str, &str)]) -> String {
    let fields: Vec<_> = fields
        .iter()
        .map(|(name, ty)| format!(r#"{{"name": "{name}", "type": {ty}}}"#))
        .collect();
    format!(
        r#"{{"type": "record", "name": "Sparse", "fields": [{}]}}"#,
        fields.join(", ")
    )
}

/// The message for a sparse feature of rank 1 that reads a record with these fields.
fn sparse(fields: &[(&str, &str)]) -> String {
    let column = ColumnSpec::sparse("x", &[9], DType::Int32);
    message(&sparse_type(fields), column)
}

const LONGS: &str = r#"{"type": "array", "items": "long"}"#;

#[test]
fn not_sparse() {
    assert_eq!(
        message(INTS, ColumnSpec::sparse("x", &[9], DType::Int32)),
        "feature 'x': a sparse feature is a record of indices0.. and values, \
         but the field is array of int"
    );
    // Several sparse records are not one either.
    let one = sparse_type(&[("indices0", LONGS), ("values", INTS)]);
    let several = format!(r#"{{"type": "array", "items": {one}}}"#);
    let expected = "feature 'c': a sparse feature is a record of indices0.. and values, \
         but the field is array of record 'Sparse'";
    let feature = Feature::sparse("c", &[9], DType::Int32).at("x");
    assert_eq!(message(&several, feature), expected);
    for expression in ["x[*]", "x[@x[0].values[0]=1]"] {
        let feature = Feature::sparse("c", &[9], DType::Int32).at(expression);
        let error = Features::new([feature]).expect_err("whatever the schema");
        assert_eq!(error.kind, FeatureErrorKind::ManySparseRecords);
    }
}

#[test]
fn rank() {
    assert_eq!(
        sparse(&[("indices0", LONGS), ("indices1", LONGS), ("values", INTS)]),
        "feature 'x': the shape has rank 1, but the schema has rank 2"
    );
}

#[test]
fn fields() {
    assert_eq!(
        sparse(&[("indices0", INTS)]),
        "feature 'x': the sparse record has no field 'values'"
    );
    assert_eq!(
        sparse(&[("indices1", INTS), ("values", INTS)]),
        "feature 'x': the sparse record has no field 'indices0'"
    );
    assert_eq!(
        sparse(&[("values", INTS)]),
        "feature 'x': the sparse record has no field 'indices0'"
    );
    for extra in ["weights", "indices", "indices01", "indicesx", "Values"] {
        assert_eq!(
            sparse(&[("indices0", INTS), (extra, INTS), ("values", INTS)]),
            format!(
                "feature 'x': the sparse record has the field '{extra}', \
                 which is neither values nor indicesN"
            )
        );
    }
}

#[test]
fn bad_indices_and_values() {
    let floats = r#"{"type": "array", "items": "float"}"#;
    assert_eq!(
        sparse(&[("indices0", floats), ("values", INTS)]),
        "feature 'x': the field 'indices0' of the sparse record is array of float, \
         not an array of int or long"
    );
    assert_eq!(
        sparse(&[("indices0", r#""long""#), ("values", INTS)]),
        "feature 'x': the field 'indices0' of the sparse record is long, \
         not an array of int or long"
    );
    assert_eq!(
        sparse(&[("indices0", INTS), ("values", r#""int""#)]),
        "feature 'x': the field 'values' of the sparse record is int, \
         not an array of a primitive"
    );
    assert_eq!(
        sparse(&[("indices0", INTS), ("values", floats)]),
        "feature 'x': the values are float, read as float32, not int32"
    );
}

/// The message for a sparse feature of entries. Each entry has an int index `i`, an int value `v`
/// and a text `t`.
fn keyed(expression: &str, index: &str, value: &str) -> String {
    let ty = r#"{"type": "record", "name": "Entry", "fields": [
        {"name": "i", "type": "int"}, {"name": "v", "type": "int"},
        {"name": "t", "type": "string"},
        {"name": "list", "type": {"type": "array", "items": "int"}}]}"#;
    let feature = Feature::sparse_keys("c", &[index], value, &[9], DType::Int32);
    message(ty, feature.at(expression))
}

#[test]
fn keys() {
    assert_eq!(
        keyed("x", "t", "v"),
        "feature 'c': the index key 'x.t' is string, not int or long"
    );
    assert_eq!(
        keyed("x", "@x.t", "v"),
        "feature 'c': the index key 'x.t' is string, not int or long"
    );
    assert_eq!(
        keyed("x", "i", "t"),
        "feature 'c': the values are string, read as string, not int32; ask for ids, by \
         `hash_buckets` or a `vocabulary`"
    );
    assert_eq!(
        keyed("x", "i", "w"),
        "feature 'c': the schema has no field 'x.w': the record 'Entry' has 'i', 'v', 't', 'list'"
    );
    assert_eq!(
        keyed("x", "list", "v"),
        "feature 'c': the values are array of int, which cannot be an element of a tensor"
    );
    assert_eq!(
        keyed("x.list", "i", "v"),
        "feature 'c': the entries of a sparse feature are a record or an array of records, \
         not int"
    );
}
