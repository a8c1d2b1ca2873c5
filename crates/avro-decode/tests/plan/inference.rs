//! Features from schemas alone.

use std::fmt::Write;
use std::sync::Arc;

use avro_decode::feature::FeatureKind;
use avro_decode::limits::{MAX_DECODE_DEPTH, MAX_INFERRED_FIELDS};
use avro_decode::{Feature, Features, LeftOut, Plan, PlanOptions, Schema, infer};
use proptest::prelude::*;
use tensor_batch::{DType, MAX_RANK, UNKNOWN};

use crate::common::arb_schema_json;
use crate::harness::{field_of, record_of};
use crate::made::case;

fn left_out(fields: &[(&str, &str)]) -> Vec<LeftOut> {
    let fields = fields.iter().map(|&(field, schema_type)| LeftOut {
        field: field.into(),
        schema_type: schema_type.into(),
    });
    fields.collect()
}

#[test]
fn every_form() {
    let schema = record_of(
        r#"{"name": "s", "type": ["null", "string"]},
           {"name": "a", "type": "double"},
           {"name": "v", "type": {"type": "array", "items": ["null",
               {"type": "array", "items": "boolean"}]}},
           {"name": "sp", "type": ["null", {"type": "record", "name": "Sparse", "fields": [
               {"name": "values", "type": {"type": "array", "items": "float"}},
               {"name": "indices1", "type": {"type": "array", "items": "int"}},
               {"name": "indices0", "type": {"type": "array", "items": "long"}}]}]},
           {"name": "again", "type": "Sparse"},
           {"name": "r", "type": {"type": "record", "name": "Inner", "fields": [
               {"name": "b", "type": "bytes"},
               {"name": "l", "type": ["long"]}]}}"#,
    );
    let masked = |feature: Feature| {
        let mask = format!("{}.mask", feature.name);
        feature.with_mask(mask)
    };
    let inferred = infer(&schema);
    assert_eq!(
        inferred.features,
        [
            masked(Feature::dense("s", &[], DType::String)),
            Feature::dense("a", &[], DType::Float64),
            masked(Feature::varlen("v", &[UNKNOWN, UNKNOWN], DType::Bool)),
            masked(Feature::sparse("sp", &[UNKNOWN, UNKNOWN], DType::Float32)),
            Feature::sparse("again", &[UNKNOWN, UNKNOWN], DType::Float32),
            Feature::dense("r.b", &[], DType::String),
            Feature::dense("r.l", &[], DType::Int64),
        ]
    );
    assert_eq!((inferred.left_out.len(), inferred.truncated), (0, false));
}

/// The features of a field `x` of this type.
fn of_type(ty: &str) -> Vec<Feature> {
    infer(&field_of(ty)).features
}

#[test]
fn types_that_are_not_primitive() {
    assert_eq!(
        of_type(r#"{"type": "map", "values": "int"}"#),
        [Feature::varlen("x[*]", &[UNKNOWN], DType::Int32)]
    );
    assert_eq!(
        of_type(r#"{"type": "enum", "name": "E", "symbols": ["A"]}"#),
        [Feature::dense("x", &[], DType::String)]
    );
    assert_eq!(
        of_type(r#"{"type": "fixed", "name": "F", "size": 2}"#),
        [Feature::dense("x", &[], DType::String)]
    );
    let decimal = r#"{"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2}"#;
    assert_eq!(of_type(decimal), [Feature::dense("x", &[], DType::Float64)]);
    let duration = r#"{"type": "fixed", "name": "D", "size": 12, "logicalType": "duration"}"#;
    assert_eq!(of_type(duration), [Feature::dense("x", &[3], DType::Int64)]);
    assert_eq!(
        of_type(&format!(r#"{{"type": "array", "items": {duration}}}"#)),
        [Feature::varlen("x", &[UNKNOWN, 3], DType::Int64)]
    );
}

#[test]
fn fields_of_records_in_lists() {
    let record = r#"{"type": "record", "name": "Item", "fields": [
        {"name": "y", "type": "int"},
        {"name": "z", "type": {"type": "array", "items": "float"}}]}"#;
    assert_eq!(
        of_type(&format!(r#"{{"type": "array", "items": {record}}}"#)),
        [
            Feature::varlen("x[*].y", &[UNKNOWN], DType::Int32),
            Feature::varlen("x[*].z", &[UNKNOWN, UNKNOWN], DType::Float32),
        ]
    );
    assert_eq!(
        of_type(&format!(
            r#"{{"type": "map", "values": ["null", {record}]}}"#
        )),
        [
            Feature::varlen("x[*].y", &[UNKNOWN], DType::Int32).with_mask("x[*].y.mask"),
            Feature::varlen("x[*].z", &[UNKNOWN, UNKNOWN], DType::Float32).with_mask("x[*].z.mask"),
        ]
    );
}

#[test]
fn fields_of_records_that_may_be_null_have_masks() {
    let schema = record_of(
        r#"{"name": "r", "type": ["null", {"type": "record", "name": "R", "fields": [
               {"name": "a", "type": "int"},
               {"name": "q", "type": {"type": "record", "name": "Q", "fields": [
                   {"name": "b", "type": "int"}]}}]}]},
           {"name": "after", "type": "int"}"#,
    );
    let features = infer(&schema).features.into_iter();
    let masks = features.map(|feature| (feature.name, feature.missing.mask));
    let mask = |name: &str| Some(name.to_owned());
    assert_eq!(
        masks.collect::<Vec<_>>(),
        [
            ("r.a".to_owned(), mask("r.a.mask")),
            ("r.q.b".to_owned(), mask("r.q.b.mask")),
            ("after".to_owned(), None),
        ]
    );
}

#[test]
fn what_cannot_be_a_tensor_is_listed() {
    let schema = record_of(
        r#"{"name": "u", "type": ["int", "string"]},
           {"name": "n", "type": "null"},
           {"name": "x", "type": "int"},
           {"name": "us", "type": {"type": "array", "items": ["int", "null", "string"]}},
           {"name": "nothing", "type": {"type": "array", "items": "null"}}"#,
    );
    let inferred = infer(&schema);
    assert_eq!(inferred.features, [Feature::dense("x", &[], DType::Int32)]);
    assert_eq!(
        inferred.left_out,
        left_out(&[
            ("u", r#"["int", "string"]"#),
            ("n", "null"),
            ("us", r#"array of ["int", "null", "string"]"#),
            ("nothing", "array of null"),
        ])
    );
}

#[test]
fn records_that_are_almost_sparse_are_records() {
    let ints = r#"{"type": "array", "items": "int"}"#;
    let schema = field_of(&format!(
        r#"{{"type": "record", "name": "Almost", "fields": [
            {{"name": "indices0", "type": {ints}}}, {{"name": "values", "type": "float"}}]}}"#
    ));
    assert_eq!(
        infer(&schema).features,
        [
            Feature::varlen("x.indices0", &[UNKNOWN], DType::Int32),
            Feature::dense("x.values", &[], DType::Float32),
        ]
    );
}

#[test]
fn recursion_stops_where_a_record_holds_itself() {
    let schema = record_of(
        r#"{"name": "x", "type": "int"},
           {"name": "next", "type": ["null", "Row"]},
           {"name": "other", "type": {"type": "record", "name": "Other", "fields": [
               {"name": "y", "type": "int"}, {"name": "back", "type": "Row"},
               {"name": "list", "type": {"type": "array", "items": "Other"}}]}}"#,
    );
    let inferred = infer(&schema);
    let names: Vec<_> = inferred
        .features
        .iter()
        .map(|feature| &*feature.name)
        .collect();
    assert_eq!(names, ["x", "other.y"]);
    assert_eq!(
        inferred.left_out,
        left_out(&[
            ("next", r#"["null", "record 'Row'"]"#),
            ("other.back", "record 'Row'"),
            ("other.list", "array of record 'Other'"),
        ])
    );
}

#[test]
fn a_schema_that_is_no_record_has_no_features() {
    let schema = Schema::parse(r#""int""#).expect("a schema");
    assert_eq!(infer(&schema), avro_decode::Inferred::default());
}

#[test]
fn more_dimensions_than_a_column_can_have() {
    let arrays = |rank: usize| {
        let (start, end) = (r#"{"type": "array", "items": "#, "}");
        let schema = field_of(&format!(
            "{}\"int\"{}",
            start.repeat(rank),
            end.repeat(rank)
        ));
        infer(&schema)
    };
    let most = arrays(MAX_RANK);
    let FeatureKind::Varlen { shape, .. } = &most.features[0].kind else {
        panic!("not varlen")
    };
    assert_eq!(shape.as_ref().map(Vec::len), Some(MAX_RANK));
    let more = arrays(MAX_RANK + 1);
    assert_eq!((more.features.len(), more.left_out.len()), (0, 1));
}

/// Records, each with `fields` of the one before; the first with `first`.
fn tower(height: usize, first: &str, fields: &[&str]) -> Arc<Schema> {
    let mut levels = format!(
        r#"{{"name": "r0", "type": {{"type": "record", "name": "R0", "fields": [{first}]}}}}"#
    );
    for level in 1..=height {
        let below = level - 1;
        let fields = fields
            .iter()
            .map(|name| format!(r#"{{"name": "{name}", "type": "R{below}"}}"#));
        let fields = fields.collect::<Vec<_>>().join(", ");
        write!(
            levels,
            r#", {{"name": "r{level}", "type":
                {{"type": "record", "name": "R{level}", "fields": [{fields}]}}}}"#
        )
        .expect("a string");
    }
    record_of(&levels)
}

#[test]
fn exponentially_many_fields_are_cut_off() {
    for first in [
        "",
        r#"{"name": "x", "type": "int"}"#,
        r#"{"name": "x", "type": {"type": "map", "values": "int"}}"#,
    ] {
        let inferred = infer(&tower(60, first, &["a", "b"]));
        assert!(inferred.truncated);
        assert!(inferred.features.len() + inferred.left_out.len() <= MAX_INFERRED_FIELDS);
    }
    let small = infer(&tower(3, r#"{"name": "x", "type": "int"}"#, &["a", "b"]));
    assert_eq!(
        (small.features.len(), small.truncated),
        (1 + 2 + 4 + 8, false)
    );
}

#[test]
fn records_deeper_than_can_be_decoded_are_left_out() {
    let inferred = infer(&tower(150, r#"{"name": "x", "type": "int"}"#, &["a"]));
    let depth = |name: &str| name.split('.').count();
    let deepest = inferred
        .features
        .iter()
        .map(|feature| depth(&feature.name))
        .max();
    assert_eq!(deepest, Some(MAX_DECODE_DEPTH));
    assert!(!inferred.left_out.is_empty() && !inferred.truncated);
}

#[test]
fn long_names_do_not_multiply() {
    let name = "n".repeat(700);
    let inferred = infer(&tower(10, r#"{"name": "x", "type": "int"}"#, &[&name]));
    let names = inferred.features.iter().map(|feature| feature.name.len());
    assert_eq!(names.max(), Some("r1.".len() + 700 + ".x".len()));
    let left_out = inferred
        .left_out
        .iter()
        .map(|left_out| left_out.field.len());
    assert_eq!(left_out.max(), Some("r10.".len() + 700 + ".".len() + 700));
}

proptest! {
    #[test]
    fn what_is_inferred_compiles(odd in arb_schema_json(), bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let text = format!(r#"{{"type": "record", "name": "Row", "fields": [{{"name": "x", "type": {odd}}}]}}"#);
        let odd = Schema::parse(&text).expect("a valid schema");
        for schema in [Arc::new(odd), case(bytes, None).schema] {
            let features = Features::new(infer(&schema).features).expect("good features");
            let plan = Plan::compile(&schema, &features, &PlanOptions::default());
            prop_assert!(plan.is_ok(), "{:?}", plan);
        }
    }
}
