//! Features from schemas alone.

use std::fmt::Write;

use avro_decode::limits::{MAX_DECODE_DEPTH, MAX_INFERRED_FIELDS};
use avro_decode::{Inferred, LeftOut, Plan, PlanOptions, Schema, infer};
use proptest::prelude::*;
use tensor_batch::{BatchSpec, ColumnSpec, DType, MAX_RANK, UNKNOWN};

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
    assert_eq!(
        infer(&schema),
        Inferred {
            columns: vec![
                ColumnSpec::dense("s", &[], DType::String),
                ColumnSpec::dense("a", &[], DType::Float64),
                ColumnSpec::varlen("v", &[UNKNOWN, UNKNOWN], DType::Bool),
                ColumnSpec::sparse("sp", &[UNKNOWN, UNKNOWN], DType::Float32),
                ColumnSpec::sparse("again", &[UNKNOWN, UNKNOWN], DType::Float32),
                ColumnSpec::dense("r.b", &[], DType::String),
                ColumnSpec::dense("r.l", &[], DType::Int64),
            ],
            nullable: left_out(&[
                ("s", r#"["null", "string"]"#),
                ("v", r#"array of ["null", "array of boolean"]"#),
                ("sp", r#"["null", "record 'Sparse'"]"#),
            ]),
            ..Inferred::default()
        }
    );
}

#[test]
fn fields_of_records_that_may_be_null_are_nullable() {
    let schema = record_of(
        r#"{"name": "r", "type": ["null", {"type": "record", "name": "R", "fields": [
               {"name": "a", "type": "int"},
               {"name": "q", "type": {"type": "record", "name": "Q", "fields": [
                   {"name": "b", "type": "int"}]}}]}]},
           {"name": "after", "type": "int"}"#,
    );
    let names = infer(&schema).nullable.into_iter().map(|one| one.field);
    assert_eq!(names.collect::<Vec<_>>(), ["r.a", "r.q.b"]);
}

#[test]
fn what_cannot_be_a_tensor_is_listed() {
    let schema = record_of(
        r#"{"name": "m", "type": {"type": "map", "values": "int"}},
           {"name": "e", "type": {"type": "enum", "name": "E", "symbols": ["A"]}},
           {"name": "f", "type": {"type": "fixed", "name": "n.F", "size": 2}},
           {"name": "u", "type": ["int", "string"]},
           {"name": "n", "type": "null"},
           {"name": "x", "type": "int"},
           {"name": "rs", "type": {"type": "array", "items":
               {"type": "record", "name": "Item", "fields": [{"name": "y", "type": "int"}]}}}"#,
    );
    let inferred = infer(&schema);
    assert_eq!(
        inferred.columns,
        [ColumnSpec::dense("x", &[], DType::Int32)]
    );
    assert_eq!(
        inferred.left_out,
        left_out(&[
            ("m", "map of int"),
            ("e", "enum 'E'"),
            ("f", "fixed 'n.F'"),
            ("u", r#"["int", "string"]"#),
            ("n", "null"),
            ("rs", "array of record 'Item'"),
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
        infer(&schema).columns,
        [
            ColumnSpec::varlen("x.indices0", &[UNKNOWN], DType::Int32),
            ColumnSpec::dense("x.values", &[], DType::Float32),
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
        .columns
        .iter()
        .map(|column| &*column.name)
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
    assert_eq!(infer(&schema), Inferred::default());
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
    assert_eq!(most.columns[0].rank(), MAX_RANK);
    let more = arrays(MAX_RANK + 1);
    assert_eq!((more.columns.len(), more.left_out.len()), (0, 1));
}

/// Records, each with `fields` of the one before; the first with `first`.
fn tower(height: usize, first: &str, fields: &[&str]) -> Schema {
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
        assert!(inferred.columns.len() + inferred.left_out.len() <= MAX_INFERRED_FIELDS);
    }
    let small = infer(&tower(3, r#"{"name": "x", "type": "int"}"#, &["a", "b"]));
    assert_eq!(
        (small.columns.len(), small.truncated),
        (1 + 2 + 4 + 8, false)
    );
}

#[test]
fn records_deeper_than_can_be_decoded_are_left_out() {
    let inferred = infer(&tower(150, r#"{"name": "x", "type": "int"}"#, &["a"]));
    let depth = |name: &str| name.split('.').count();
    let deepest = inferred
        .columns
        .iter()
        .map(|column| depth(&column.name))
        .max();
    assert_eq!(deepest, Some(MAX_DECODE_DEPTH));
    assert!(!inferred.left_out.is_empty() && !inferred.truncated);
}

#[test]
fn long_names_do_not_multiply() {
    let name = "n".repeat(700);
    let inferred = infer(&tower(10, r#"{"name": "x", "type": "int"}"#, &[&name]));
    let names = inferred.columns.iter().map(|column| column.name.len());
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
        for schema in [odd, case(bytes, None).schema] {
            let spec = BatchSpec::new(infer(&schema).columns).expect("good columns");
            let plan = Plan::compile(&schema, &spec, &PlanOptions::default());
            prop_assert!(plan.is_ok(), "{:?}", plan);
        }
    }
}
