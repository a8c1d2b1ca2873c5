//! Schemas that are made to be slow to compile.

use avro_decode::Feature;
use tensor_batch::DType;

use crate::harness::{read_as, tensors_with};

const TOO_LARGE: &str = "the features lead through more than 1048576 parts of the schema";

fn compile(writer: &str, reader: &str, feature: Feature) -> String {
    tensors_with(writer, "[]", vec![feature], &read_as(reader))
}

fn record(name: &str, fields: &[String]) -> String {
    let fields = fields.join(", ");
    format!(r#"{{"type": "record", "name": "{name}", "fields": [{fields}]}}"#)
}

fn field(name: &str, ty: &str) -> String {
    format!(r#"{{"name": "{name}", "type": {ty}}}"#)
}

/// A union of many records with one name. Each holds `ty`.
fn records(level: usize, ty: &str) -> String {
    let branch = |i| record(&format!("n{i}.R{level}"), &[field("x", ty)]);
    let branches: Vec<_> = (0..100).map(branch).collect();
    format!("[{}]", branches.join(", "))
}

#[test]
fn an_expression_that_leads_through_every_branch() {
    // A record with many fields that the reader lacks, inside 100 records inside 100 records.
    let gone = (0..500).map(|i| field(&format!("gone{i}"), "\"int\""));
    let fields: Vec<_> = [field("x", "\"int\"")].into_iter().chain(gone).collect();
    let writer = [
        field("last", &record("Last", &fields)),
        field(
            "inner",
            &record("Inner", &[field("x", &records(1, "\"Last\""))]),
        ),
        field("x", &records(0, "\"Inner\"")),
    ];
    let mut reader = r#""int""#.to_owned();
    for name in ["Last", "R1", "Inner", "R0", "T"] {
        reader = record(name, &[field("x", &reader)]);
    }
    let feature = Feature::dense("x.x.x.x.x", &[], DType::Int32);
    assert_eq!(compile(&record("T", &writer), &reader, feature), TOO_LARGE);
}

#[test]
fn a_branch_of_very_many() {
    let branches = |n: usize| {
        let branch = |i| format!(r#"{{"type": "fixed", "name": "f{i}", "size": 1}}"#);
        let branches: Vec<_> = (0..n).map(branch).collect();
        record("T", &[field("u", &format!("[{}]", branches.join(", ")))])
    };
    let feature = Feature::dense("u:f7", &[], DType::String);
    let (few, many) = (branches(100), branches(10_000));
    assert_eq!(compile(&few, &few, feature.clone()), "u:f7: [] [0]");
    assert_eq!(compile(&many, &many, feature), TOO_LARGE);
}
