//! Features that do not fit the schema, each with its message.

use avro_decode::{Plan, PlanError, PlanErrorKind, PlanOptions, Schema};
use tensor_batch::{BatchSpec, ColumnSpec, DType, UNKNOWN};

use crate::harness::{field_of, record_of};

fn refused(schema: &Schema, column: ColumnSpec) -> PlanError {
    let spec = BatchSpec::new(vec![column]).expect("a good column");
    Plan::compile(schema, &spec, &PlanOptions::default()).expect_err("the column does not fit")
}

/// The message for a field `x` of this type.
fn message(ty: &str, column: ColumnSpec) -> String {
    refused(&field_of(ty), column).to_string()
}

fn int(name: &str) -> ColumnSpec {
    ColumnSpec::dense(name, &[], DType::Int32)
}

/// The message for a sparse feature of rank 1 of a record of these fields.
fn sparse(fields: &[(&str, &str)]) -> String {
    let fields: Vec<_> = fields
        .iter()
        .map(|(name, ty)| format!(r#"{{"name": "{name}", "type": {ty}}}"#))
        .collect();
    let record = format!(
        r#"{{"type": "record", "name": "Sparse", "fields": [{}]}}"#,
        fields.join(", ")
    );
    message(&record, ColumnSpec::sparse("x", &[9], DType::Int32))
}

const INTS: &str = r#"{"type": "array", "items": "int"}"#;

#[test]
fn schema_not_record() {
    let schema = Schema::parse(INTS).expect("a schema");
    let error = refused(&schema, int("x"));
    assert_eq!(error.feature, "");
    assert!(matches!(error.kind, PlanErrorKind::SchemaNotRecord { .. }));
    assert_eq!(
        error.to_string(),
        "the schema is array of int, not a record"
    );
}

#[test]
fn no_such_field() {
    assert_eq!(
        message(r#""int""#, int("y")),
        "feature 'y': the schema has no field 'y'"
    );
    let inner = r#"{"type": "record", "name": "Inner", "fields": [{"name": "a", "type": "int"}]}"#;
    assert_eq!(
        message(inner, int("x.b.c")),
        "feature 'x.b.c': the schema has no field 'x.b'"
    );
    assert_eq!(
        message(inner, int("x.")),
        "feature 'x.': the schema has no field 'x.'"
    );
}

#[test]
fn not_nested() {
    assert_eq!(
        message(INTS, int("x.y")),
        "feature 'x.y': 'x' is array of int, not a record, so it has no fields"
    );
}

#[test]
fn union() {
    let expected = r#"feature 'x': the union ["null", "int", "string"] is not of the form [X], ["null", X] or [X, "null"]"#;
    assert_eq!(message(r#"["null", "int", "string"]"#, int("x")), expected);
    for bad in [r#"["null"]"#, r#"["int", "string"]"#] {
        let kind = refused(&field_of(bad), int("x")).kind;
        assert!(matches!(kind, PlanErrorKind::Union { .. }), "{bad}");
    }
    // In the items, and around a record on the way, too.
    let items = r#"{"type": "array", "items": ["int", "string"]}"#;
    let column = ColumnSpec::dense("x", &[2], DType::Int32);
    let kind = refused(&field_of(items), column).kind;
    assert!(matches!(kind, PlanErrorKind::Union { .. }));
    let record = r#"["int", {"type": "record", "name": "Inner", "fields": []}]"#;
    let kind = refused(&field_of(record), int("x.y")).kind;
    assert!(matches!(kind, PlanErrorKind::Union { .. }));
}

#[test]
fn a_type_within_many_is_described_in_short() {
    let array = r#"{"type": "array", "items": "#;
    let deep = format!("{}\"int\"{}", array.repeat(30), "}".repeat(30));
    let expected = format!(
        "feature 'x.y': 'x' is {}array, not a record, so it has no fields",
        "array of ".repeat(8)
    );
    assert_eq!(message(&deep, int("x.y")), expected);
}

#[test]
fn dtype_mismatch() {
    assert_eq!(
        message(r#""long""#, int("x")),
        "feature 'x': the values are long, which is read as int64, not int32"
    );
    let types = [
        "int", "long", "float", "double", "boolean", "bytes", "string",
    ];
    let dtypes = [
        DType::Int32,
        DType::Int64,
        DType::Float32,
        DType::Float64,
        DType::Bool,
        DType::String,
        DType::String,
    ];
    for (ty, is) in types.into_iter().zip(dtypes) {
        let schema = field_of(&format!("\"{ty}\""));
        for dtype in DType::ALL {
            let spec = BatchSpec::new(vec![ColumnSpec::dense("x", &[], dtype)]).expect("good");
            let plan = Plan::compile(&schema, &spec, &PlanOptions::default());
            assert_eq!(plan.is_ok(), dtype == is, "{ty} as {dtype}");
        }
    }
}

#[test]
fn not_an_element() {
    assert_eq!(
        message(
            r#"{"type": "enum", "name": "E", "symbols": ["A"]}"#,
            int("x")
        ),
        "feature 'x': the values are enum 'E', which cannot be an element of a tensor"
    );
    assert_eq!(
        message(r#"{"type": "map", "values": "int"}"#, int("x")),
        "feature 'x': the values are map of int, which cannot be an element of a tensor"
    );
}

#[test]
fn rank_mismatch() {
    assert_eq!(
        message(INTS, int("x")),
        "feature 'x': the shape has rank 0, the schema 1"
    );
    assert_eq!(
        message(INTS, ColumnSpec::varlen("x", &[UNKNOWN, 2], DType::Int32)),
        "feature 'x': the shape has rank 2, the schema 1"
    );
    let longs = r#"{"type": "array", "items": "long"}"#;
    assert_eq!(
        sparse(&[("indices0", longs), ("indices1", longs), ("values", INTS)]),
        "feature 'x': the shape has rank 1, the schema 2"
    );
}

#[test]
fn not_sparse() {
    assert_eq!(
        message(INTS, ColumnSpec::sparse("x", &[9], DType::Int32)),
        "feature 'x': a sparse feature is a record of indices0.. and values, \
         but the field is array of int"
    );
}

#[test]
fn sparse_fields() {
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
        sparse(&[
            ("indices0", INTS),
            ("values", r#"{"type": "array", "items": "null"}"#)
        ]),
        "feature 'x': the field 'values' of the sparse record is array of null, \
         not an array of a primitive"
    );
    assert_eq!(
        sparse(&[("indices0", INTS), ("values", floats)]),
        "feature 'x': the values are float, which is read as float32, not int32"
    );
}

#[test]
fn nullable_is_allowed_wherever_a_feature_has_a_type() {
    let schema = record_of(
        r#"{"name": "x", "type": ["null", {"type": "array", "items": [
               {"type": "array", "items": ["int", "null"]}]}]}"#,
    );
    let spec = BatchSpec::new(vec![ColumnSpec::dense("x", &[2, 2], DType::Int32)]).expect("good");
    let plan = Plan::compile(&schema, &spec, &PlanOptions::default()).expect("nullable");
    assert_eq!(plan.spec(), &spec);
}
