//! Features that do not fit the schema, each with its message.

use std::sync::Arc;

use avro_decode::{Feature, Features, Plan, PlanError, PlanErrorKind, PlanOptions, Schema};
use tensor_batch::{ColumnSpec, DType, UNKNOWN};

use crate::harness::{field_of, record_of};

pub(crate) fn refused(schema: &Arc<Schema>, feature: impl Into<Feature>) -> PlanError {
    let features = Features::new([feature]).expect("a good feature");
    Plan::compile(schema, &features, &PlanOptions::default()).expect_err("it does not fit")
}

/// The message for a field `x` of this type.
pub(crate) fn message(ty: &str, feature: impl Into<Feature>) -> String {
    refused(&field_of(ty), feature).to_string()
}

fn int(name: &str) -> ColumnSpec {
    ColumnSpec::dense(name, &[], DType::Int32)
}

/// A dense scalar feature `c`.
fn scalar(expression: &str, dtype: DType) -> Feature {
    Feature::dense("c", &[], dtype).at(expression)
}

/// A feature with the values of an expression, and a dimension for each list.
fn values(expression: &str) -> Feature {
    Feature::var_len("c", DType::Int32).at(expression)
}

pub(crate) const INTS: &str = r#"{"type": "array", "items": "int"}"#;
const INNER: &str = r#"{"type": "record", "name": "Inner", "fields": [
    {"name": "alpha", "type": "int"}, {"name": "beta", "type": "string"}]}"#;
const DURATION: &str = r#"{"type": "fixed", "name": "D", "size": 12, "logicalType": "duration"}"#;

/// An array of records, each with a number `n`, a text `t` and a boolean `b`.
const RECORDS: &str = r#"{"type": "array", "items": {"type": "record", "name": "Item", "fields": [
    {"name": "n", "type": "int"}, {"name": "t", "type": "string"},
    {"name": "b", "type": "boolean"},
    {"name": "list", "type": {"type": "array", "items": "int"}}]}}"#;

#[test]
fn schema_not_record() {
    let schema = Arc::new(Schema::parse(INTS).expect("a schema"));
    let error = refused(&schema, int("x"));
    assert!(matches!(error.kind, PlanErrorKind::SchemaNotRecord { .. }));
    assert_eq!(
        error.to_string(),
        "feature 'x': the schema is array of int, not a record, so it has no fields: its value \
         is '@'"
    );
    let records = r#"{"type": "array", "items": {"type": "record", "name": "R", "fields": [
        {"name": "x", "type": "int"}]}}"#;
    let schema = Arc::new(Schema::parse(records).expect("a schema"));
    assert_eq!(
        refused(&schema, int("x")).to_string(),
        "feature 'x': the schema is array of record 'R': a field of its elements is '[*].x'"
    );
}

#[test]
fn resolve() {
    let mut options = PlanOptions::default();
    options.reader_schema = Some(field_of(r#""int""#));
    let features = Features::new([int("x")]).expect("a good feature");
    let plan = Plan::compile(&field_of(r#""string""#), &features, &options);
    assert_eq!(
        plan.expect_err("no string is an int").to_string(),
        "field 'x': string cannot be read as int"
    );
}

#[test]
fn no_such_field() {
    assert_eq!(
        message(r#""int""#, int("weight")),
        "feature 'weight': the schema has no field 'weight': the record 'Row' has 'x'"
    );
    assert_eq!(
        message(INNER, int("x.alpa")),
        "feature 'x.alpa': the schema has no field 'x.alpa'; did you mean 'alpha'? \
         The record 'Inner' has 'alpha', 'beta'"
    );
    let empty = r#"{"type": "record", "name": "Empty", "fields": []}"#;
    assert_eq!(
        message(empty, int("x.y")),
        "feature 'x.y': the schema has no field 'x.y': the record 'Empty' has none"
    );
}

#[test]
fn not_nested() {
    let expected = "feature 'x.y': 'x' is array of int, not a record, so it has no fields";
    assert_eq!(message(INTS, int("x.y")), expected);
    let expected = "feature 'x.y': 'x' is int, not a record, so it has no fields";
    assert_eq!(message(r#""int""#, int("x.y")), expected);
}

#[test]
fn wrong_step() {
    let map = r#"{"type": "map", "values": "int"}"#;
    for (ty, expression, expected) in [
        (
            map,
            "x[0]",
            "feature 'c': 'x' is map of int, to which '[0]' does not apply",
        ),
        (
            INTS,
            "x['k']",
            "feature 'c': 'x' is array of int, to which '['k']' does not apply",
        ),
        (
            INNER,
            "x[*]",
            "feature 'c': 'x' is record 'Inner', to which '[*]' does not apply",
        ),
        (
            r#""string""#,
            "x[0:4]",
            "feature 'c': 'x' is string, but a slice such as '[0:4]' needs an array",
        ),
        (
            map,
            "x[:2]",
            "feature 'c': 'x' is map of int, but a slice such as '[:2]' needs an array",
        ),
    ] {
        assert_eq!(message(ty, scalar(expression, DType::Int32)), expected);
    }
}

#[test]
fn union() {
    let expected = r#"feature 'x': the union ["null", "int", "boolean"] has several types: name one, as in 'field:type'"#;
    assert_eq!(message(r#"["null", "int", "boolean"]"#, int("x")), expected);
    // A union of text and numbers is read as text.
    let expected = r#"feature 'x': the values are ["null", "int", "string"], read as string, not int32; ask for ids, by `hash_buckets` or a `vocabulary`"#;
    assert_eq!(message(r#"["null", "int", "string"]"#, int("x")), expected);
    // The union can also be in the items, or around a record on the path.
    let items = r#"{"type": "array", "items": ["int", "boolean"]}"#;
    let column = ColumnSpec::dense("x", &[2], DType::Int32);
    let kind = refused(&field_of(items), column).kind;
    assert!(matches!(kind, PlanErrorKind::Union { .. }));
    let record = r#"["int", {"type": "record", "name": "Inner", "fields": []}]"#;
    let kind = refused(&field_of(record), int("x.y")).kind;
    assert!(matches!(kind, PlanErrorKind::Union { .. }));
}

#[test]
fn no_such_branch() {
    let union = r#"["null", "int", {"type": "fixed", "name": "a.F", "size": 1},
        {"type": "enum", "name": "b.F", "symbols": ["A"]}]"#;
    let expected = "the union has no branch 'F', only 'null', 'int', 'a.F', 'b.F'";
    let feature = scalar("x:F", DType::String);
    assert_eq!(message(union, feature), format!("feature 'c': {expected}"));
    let feature = scalar("x:long", DType::Int64);
    assert_eq!(
        message(r#""int""#, feature),
        "feature 'c': the union has no branch 'long', only 'int'"
    );
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
        "feature 'x': the values are long, read as int64, not int32; ask for it with `cast=true`"
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
        for &dtype in DType::ALL {
            let features = Features::new([Feature::dense("x", &[], dtype)]).expect("good");
            let plan = Plan::compile(&schema, &features, &PlanOptions::default());
            assert_eq!(plan.is_ok(), dtype == is, "{ty} as {dtype}");
        }
    }
}

#[test]
fn operands() {
    let filtered = |filter: &str| message(RECORDS, values(&format!("x[{filter}].n")));
    assert_eq!(
        filtered("list='a'"),
        "feature 'c': a filter compares single values, not array of int"
    );
    assert_eq!(
        filtered("n='a'"),
        "feature 'c': the sides of '[n='a']' are of types that are never equal"
    );
    assert_eq!(
        filtered("true=t"),
        "feature 'c': the sides of '[true=t]' are of types that are never equal"
    );
    assert_eq!(
        filtered("n=@x[0].t"),
        "feature 'c': the sides of '[n=@x[0].t]' are of types that are never equal"
    );
    assert_eq!(
        filtered("gone=1"),
        "feature 'c': the schema has no field 'x[*].gone': \
         the record 'Item' has 'n', 't', 'b', 'list'"
    );
    assert_eq!(
        filtered("n=@y"),
        "feature 'c': the schema has no field 'y': the record 'Row' has 'x'"
    );
}

#[test]
fn items_without_bytes() {
    let empty = r#"{"type": "record", "name": "Empty", "fields": []}"#;
    let array = format!(r#"{{"type": "array", "items": {empty}}}"#);
    let keyed = Feature::sparse_keys("c", &["i"], "v", &[9], DType::Int32).at("x");
    assert_eq!(
        message(&array, keyed),
        "feature 'c': the items of array of record 'Empty' take no bytes, \
         so nothing bounds their number"
    );
}

#[test]
fn not_an_element() {
    assert_eq!(
        message(r#"{"type": "map", "values": "int"}"#, int("x")),
        "feature 'x': the values are map of int, which cannot be an element of a tensor"
    );
    assert_eq!(
        message(INNER, int("x")),
        "feature 'x': the values are record 'Inner', which cannot be an element of a tensor"
    );
    assert_eq!(
        message(r#"["null"]"#, int("x")),
        r#"feature 'x': the values are ["null"], which cannot be an element of a tensor"#
    );
}

#[test]
fn rank_mismatch() {
    assert_eq!(
        message(INTS, int("x")),
        "feature 'x': the shape has rank 0, but the schema has rank 1"
    );
    assert_eq!(
        message(INTS, ColumnSpec::varlen("x", &[UNKNOWN, 2], DType::Int32)),
        "feature 'x': the shape has rank 2, but the schema has rank 1"
    );
    // One list fills several dimensions, but it cannot fill none, and not only some of them.
    let fixed_len = |shape: &[Option<usize>]| Feature::fixed_len("x", shape, DType::Int32);
    assert_eq!(
        message(INTS, fixed_len(&[])),
        "feature 'x': the shape has rank 0, but the schema has rank 1"
    );
    let nested = format!(r#"{{"type": "array", "items": {INTS}}}"#);
    // The message has the number of dimensions of the feature.
    assert_eq!(
        message(&nested, fixed_len(&[None])),
        "feature 'x': the shape has rank 1, of which the first dimension is the batch, but the schema has rank 2"
    );
    assert_eq!(
        message(INTS, fixed_len(&[None])),
        "feature 'x': the shape has rank 1, of which the first dimension is the batch, but the schema has rank 1"
    );
    assert_eq!(
        message(&nested, fixed_len(&[None]).at("x[*]")),
        "feature 'x': the shape has rank 1, but the schema has rank 2"
    );
    assert_eq!(
        message(&nested, fixed_len(&[None, None]).at("x[*]")),
        "feature 'x': the shape has rank 2, of which the first dimension is the batch, but the schema has rank 2"
    );
    assert_eq!(
        message(&nested, fixed_len(&[Some(2), Some(2), Some(2)])),
        "feature 'x': the shape has rank 3, but the schema has rank 2"
    );
}

#[test]
fn duration_dimension() {
    assert_eq!(
        message(DURATION, Feature::dense("x", &[4], DType::Int64)),
        "feature 'x': a duration is 3 numbers, but the shape says 4"
    );
    assert_eq!(
        message(DURATION, Feature::dense("x", &[], DType::Int64)),
        "feature 'x': the shape has rank 0, but the schema has rank 1"
    );
}

#[test]
fn too_large() {
    // Each of two records contains both, and all resolve to one record of the reader: 2^40 paths.
    let record = |name: &str, u: &str| {
        format!(
            r#"{{"type": "record", "name": "{name}", "fields": [
                {{"name": "n", "type": "int"}}, {{"name": "u", "type": {u}}}]}}"#
        )
    };
    let both = record("B", r#"["null", "A", "B"]"#);
    let written = field_of(&record("A", &format!(r#"["null", "A", {both}]"#)));
    let read = record("R", r#"["null", "R"]"#);
    let read = read.replacen(r#""R","#, r#""R", "aliases": ["A", "B"],"#, 1);
    let mut options = PlanOptions::default();
    options.reader_schema = Some(field_of(&read));
    let features = Features::new([int(&format!("x{}.n", ".u".repeat(40)))]).expect("good");
    let error = Plan::compile(&written, &features, &options).expect_err("too large");
    assert_eq!(
        error.to_string(),
        "the features lead through more than 1048576 parts of the schema"
    );
}

#[test]
fn nullable_is_allowed_wherever_a_feature_has_a_type() {
    let schema = record_of(
        r#"{"name": "x", "type": ["null", {"type": "array", "items": [
               {"type": "array", "items": ["int", "null"]}]}]}"#,
    );
    let features = Features::new([Feature::dense("x", &[2, 2], DType::Int32)]).expect("good");
    let plan = Plan::compile(&schema, &features, &PlanOptions::default()).expect("nullable");
    assert_eq!(plan.spec(), features.spec());
}

#[test]
fn the_rank_of_an_expression_that_ends_by_naming_its_type() {
    let pair = |dtype| Feature::dense("c", &[2], dtype);
    for (ty, feature, expected) in [
        (
            "\"int\"",
            pair(DType::Int32).at("x:int"),
            "feature 'c': the shape has rank 1, but the schema has rank 0",
        ),
        (
            DURATION,
            pair(DType::Int64).at("x:D"),
            "feature 'c': a duration is 3 numbers, but the shape says 2",
        ),
        (
            "\"bytes\"",
            Feature::dense("c", &[], DType::UInt8).at("x:bytes"),
            "feature 'c': the shape has rank 0, but the schema has rank 1",
        ),
    ] {
        assert_eq!(message(ty, feature), expected);
    }
}
