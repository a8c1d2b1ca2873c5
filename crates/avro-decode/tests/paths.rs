//! The list of paths in a schema.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use avro_decode::limits::{MAX_INFERRED_FIELDS, MAX_PATH_STEPS};
use avro_decode::path::Path;
use avro_decode::{Feature, Features, Plan, PlanErrorKind, PlanOptions, Schema, paths};
use tensor_batch::DType;

fn record(fields: &str) -> Schema {
    let text =
        format!(r#"{{"type": "record", "name": "R", "namespace": "com.x", "fields": [{fields}]}}"#);
    Schema::parse(&text).unwrap()
}

/// Each path as text: expression, type and other properties.
fn found(schema: &Schema) -> Vec<String> {
    let found = paths(schema);
    assert!(!found.truncated);
    let paths = found.paths.iter();
    paths
        .map(|path| {
            let nullable = if path.nullable { ", nullable" } else { "" };
            let recursive = if path.recursive { ", recursive" } else { "" };
            format!(
                "{}: {}{nullable}{recursive}",
                path.expression, path.schema_type
            )
        })
        .collect()
}

#[test]
fn records_lists_and_maps() {
    let schema = record(
        r#"{"name": "id", "type": {"type": "long", "logicalType": "timestamp-millis"}},
           {"name": "none", "type": "null"},
           {"name": "in", "type": ["null", {"type": "record", "name": "In", "fields": [
               {"name": "a", "type": ["int", "null"]},
               {"name": "only", "type": ["string"]}]}]},
           {"name": "list", "type": {"type": "array", "items": {"type": "array",
               "items": ["null", "In"]}}},
           {"name": "map", "type": {"type": "map", "values": {"type": "fixed", "name": "Twelve",
               "size": 12, "logicalType": "duration"}}}"#,
    );
    let expected = [
        "id: long (timestamp-millis)",
        "none: null, nullable",
        "in: record 'com.x.In', nullable",
        "in.a: int, nullable",
        "in.only: string",
        r#"list: array of array of ["null", "record 'com.x.In'"]"#,
        r#"list[*]: array of ["null", "record 'com.x.In'"]"#,
        "list[*][*]: record 'com.x.In', nullable",
        "list[*][*].a: int, nullable",
        "list[*][*].only: string",
        "map: map of fixed 'com.x.Twelve'",
        "map[*]: fixed 'com.x.Twelve' (duration)",
        "map.keys(): string",
    ];
    assert_eq!(found(&schema), expected);
    let paths = paths(&schema);
    assert_eq!(paths.fields, [0, 1, 2, 5, 10]);
    assert_eq!(paths.paths[2].inside, [3, 4]);
    assert_eq!(paths.paths[7].inside, [8, 9]);
}

#[test]
fn branches_of_unions() {
    let schema = record(
        r#"{"name": "u", "type": ["null", "int", {"type": "array", "items": "int"},
               {"type": "map", "values": ["null", "int", "string"]},
               {"type": "record", "name": "Simple", "fields": [{"name": "x", "type": "int"}]},
               {"type": "enum", "name": "a.Same", "symbols": ["A"]},
               {"type": "enum", "name": "b.Same", "symbols": ["B"]}]}"#,
    );
    let expected = [
        r#"u: ["null", "int", "array of int", "map of ["null", "int", "string"]", "record 'com.x.Simple'", "enum 'a.Same'", 1 more], nullable"#,
        "u:int: int, nullable",
        "u:array: array of int, nullable",
        "u:array[*]: int",
        r#"u:map: map of ["null", "int", "string"], nullable"#,
        r#"u:map[*]: ["null", "int", "string"], nullable"#,
        "u:map[*]:int: int, nullable",
        "u:map[*]:string: string, nullable",
        "u:map.keys(): string",
        "u:Simple: record 'com.x.Simple', nullable",
        "u:Simple.x: int",
        "u:'a.Same': enum 'a.Same', nullable",
        "u:'b.Same': enum 'b.Same', nullable",
    ];
    assert_eq!(found(&schema), expected);
}

/// The value of a schema that is not a record is `@`. A union of several types has its branches.
#[test]
fn schemas_that_are_no_record() {
    let cases: [(&str, &[&str]); 6] = [
        (r#""int""#, &["@: int"]),
        (r#"["null", "int"]"#, &["@: int, nullable"]),
        (
            r#"{"type": "array", "items": "int"}"#,
            &["@: array of int", "[*]: int"],
        ),
        (
            r#"{"type": "map", "values": "int"}"#,
            &["@: map of int", "[*]: int", ".keys(): string"],
        ),
        (
            r#"["int", "string"]"#,
            &[":int: int, nullable", ":string: string, nullable"],
        ),
        (
            r#"["null", {"type": "record", "name": "R", "fields": [{"name": "x", "type": "int"}]}]"#,
            &["x: int"],
        ),
    ];
    for (schema, expected) in cases {
        let schema = Schema::parse(schema).expect("a schema");
        assert_eq!(found(&schema), expected);
    }
}

/// A union of several types without null is not nullable, but its branches are.
#[test]
fn a_union_without_null() {
    let schema = record(r#"{"name": "u", "type": ["int", "string"]}"#);
    let expected = [
        r#"u: ["int", "string"]"#,
        "u:int: int, nullable",
        "u:string: string, nullable",
    ];
    assert_eq!(found(&schema), expected);
}

#[test]
fn records_in_themselves_are_not_followed() {
    let schema = record(
        r#"{"name": "next", "type": ["null", "R"]},
           {"name": "all", "type": {"type": "array", "items": "R"}},
           {"name": "in", "type": {"type": "record", "name": "In", "fields": [
               {"name": "back", "type": {"type": "map", "values": "R"}}]}},
           {"name": "again", "type": "In"}"#,
    );
    let expected = [
        "next: record 'com.x.R', nullable, recursive",
        "all: array of record 'com.x.R'",
        "all[*]: record 'com.x.R', recursive",
        "in: record 'com.x.In'",
        "in.back: map of record 'com.x.R'",
        "in.back[*]: record 'com.x.R', recursive",
        "in.back.keys(): string",
        "again: record 'com.x.In'",
        "again.back: map of record 'com.x.R'",
        "again.back[*]: record 'com.x.R', recursive",
        "again.back.keys(): string",
    ];
    assert_eq!(found(&schema), expected);
}

#[test]
fn there_is_an_end_to_paths() {
    // Each record contains the previous one twice.
    let mut fields = r#"{"name": "f0", "type": {"type": "record", "name": "R0", "fields": [
        {"name": "x", "type": "int"}]}}"#
        .to_owned();
    for i in 1..30 {
        let before = i - 1;
        fields += &format!(
            r#", {{"name": "f{i}", "type": {{"type": "record", "name": "R{i}", "fields": [
                {{"name": "a", "type": "R{before}"}}, {{"name": "b", "type": "R{before}"}}]}}}}"#
        );
    }
    let found = paths(&record(&fields));
    assert!(found.truncated);
    assert_eq!(found.paths.len(), MAX_INFERRED_FIELDS);
}

#[test]
fn paths_have_no_more_steps_than_an_expression() {
    // Each record has an array of the previous one, which takes two steps.
    let mut fields = r#"{"name": "f0", "type": {"type": "record", "name": "R0", "fields": [
        {"name": "x", "type": "int"}]}}"#
        .to_owned();
    for i in 1..MAX_PATH_STEPS {
        let before = i - 1;
        fields += &format!(
            r#", {{"name": "f{i}", "type": {{"type": "record", "name": "R{i}", "fields": [
                {{"name": "x", "type": {{"type": "array", "items": "R{before}"}}}}]}}}}"#
        );
    }
    let found = paths(&record(&fields));
    assert!(found.truncated);
    let steps = found.paths.iter().map(|path| {
        let parsed = Path::parse(&path.expression);
        parsed.expect("within the limits").steps.len()
    });
    assert_eq!(steps.max(), Some(MAX_PATH_STEPS));
}

/// Every path is a valid expression of a feature: it parses, prints the same, and leads to a value.
#[test]
fn every_path_is_an_expression() {
    let schema = record(
        r#"{"name": "com", "type": {"type": "record", "name": "Com", "fields": [
               {"name": "x", "type": "int"}]}},
           {"name": "u", "type": ["null", "int", "double", {"type": "array", "items": "Com"},
               {"type": "enum", "name": "a.Same", "symbols": ["A"]},
               {"type": "fixed", "name": "b.Same", "size": 2}, "Com"]},
           {"name": "m", "type": {"type": "map", "values": {"type": "map", "values": "string"}}},
           {"name": "l", "type": {"type": "array", "items": ["null", "boolean", "string"]}}"#,
    );
    let schema = Arc::new(schema);
    let mut values = 0;
    for path in paths(&schema).paths {
        let parsed = Path::parse(&path.expression).unwrap();
        assert_eq!(parsed.to_string(), path.expression);
        // One dtype fits, unless the path does not end at a value.
        let compile = |dtype| {
            let feature = Feature::var_len("f", dtype).at(&path.expression);
            let features = Features::new([feature.with_mask("m")]).unwrap();
            Plan::compile(&schema, &features, &PlanOptions::default())
        };
        let mut plans = DType::ALL.iter().copied().map(compile);
        if plans.clone().any(|plan| plan.is_ok()) {
            values += 1;
            continue;
        }
        let kind = plans.next().unwrap().unwrap_err().kind;
        let is_no_value = matches!(
            kind,
            PlanErrorKind::NotAnElement { .. }
                | PlanErrorKind::Union { .. }
                | PlanErrorKind::RankMismatch { .. }
        );
        assert!(
            is_no_value || path.schema_type.starts_with("record"),
            "{path:?}: {kind:?}"
        );
    }
    assert_eq!(values, 12);
}
