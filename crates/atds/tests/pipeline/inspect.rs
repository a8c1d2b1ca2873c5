//! The results of inspecting files with nulls, unions and nested records.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use atds::avro::inspect::{InspectOptions, Inspection, inspect_features, inspect_with};

use atds::avro::inspect;
use atds::{Codec, Convert, DType, Dataset, ErrorKind, Feature};
use avro_decode::encode::{EncodeOptions, encode};
use avro_decode::{Schema, Value};

use crate::common::{Folder, container};

const SCHEMA: &str = r#"{"type": "record", "name": "R", "fields": [
    {"name": "a", "type": ["null", "int"]},
    {"name": "ab", "type": "int"},
    {"name": "r", "type": ["null", {"type": "record", "name": "S", "fields": [
        {"name": "x", "type": {"type": "int", "logicalType": "date"}},
        {"name": "y", "type": {"type": "array", "items": ["null", "float"]}}]}]},
    {"name": "u", "type": ["null", "int", {"type": "array", "items": "S"}]},
    {"name": "m", "type": {"type": "map", "values": ["string", "null"]}}]}"#;

/// A null in a union whose first branch is null.
fn null() -> Value {
    Value::Union(0, Box::new(Value::Null))
}

fn some(value: Value) -> Value {
    Value::Union(1, Box::new(value))
}

fn s(x: i32, y: &[Option<f32>]) -> Value {
    let y = y.iter().map(|y| match y {
        None => null(),
        Some(y) => some(Value::Float(*y)),
    });
    Value::Record(vec![Value::Int(x), Value::Array(y.collect())])
}

/// A record without any null.
fn full() -> Value {
    let map = vec![(
        "k".to_owned(),
        Value::Union(0, Box::new(Value::String("v".into()))),
    )];
    Value::Record(vec![
        some(Value::Int(1)),
        Value::Int(2),
        some(s(3, &[Some(0.5)])),
        some(Value::Int(4)),
        Value::Map(map),
    ])
}

/// A record in which every value that can be null is null, or is empty.
fn sparse() -> Value {
    let map = vec![
        ("k".to_owned(), some(Value::Null)),
        ("l".to_owned(), some(Value::Null)),
    ];
    Value::Record(vec![null(), Value::Int(2), null(), null(), Value::Map(map)])
}

/// A record with an array in the union, and nulls in arrays.
fn nested() -> Value {
    let array = Value::Array(vec![s(1, &[]), s(2, &[None, Some(1.5), None])]);
    Value::Record(vec![
        some(Value::Int(1)),
        Value::Int(2),
        some(s(3, &[None])),
        Value::Union(2, Box::new(array)),
        Value::Map(Vec::new()),
    ])
}

fn file(folder: &Folder, records: &[Value]) -> PathBuf {
    let schema = Schema::parse(SCHEMA).unwrap();
    let mut payload = Vec::new();
    for record in records {
        let options = EncodeOptions::default();
        encode(&schema, schema.root(), record, &mut payload, &options).unwrap();
    }
    let block = (records.len() as u64, payload);
    folder.write("x.avro", &container(SCHEMA, Codec::Deflate, [block]))
}

fn inspected(records: &[Value]) -> Inspection {
    let found = inspect(file(&Folder::new(), records)).unwrap();
    assert_eq!(found.records, records.len() as u64);
    found
}

/// The feature, with a mask of its default name.
fn masked(feature: Feature) -> Feature {
    let mask = format!("{}.mask", feature.name);
    feature.with_mask(mask)
}

#[test]
fn nullable_fields_are_features_with_masks() {
    // There is one record, so all lists have one length.
    for (record, lists) in [(full(), true), (sparse(), false)] {
        let found = inspected(&[record.clone(), record]);
        let y = if lists {
            Feature::dense("r.y", &[1], DType::Float32)
        } else {
            Feature::varlen("r.y", &[-1], DType::Float32)
        };
        let values = if lists { 1 } else { 2 };
        let expected = [
            masked(Feature::dense("a", &[], DType::Int32)),
            Feature::dense("ab", &[], DType::Int32),
            masked(Feature::dense("r.x", &[], DType::Int32)),
            masked(y),
            masked(Feature::dense("u:int", &[], DType::Int32)),
            masked(Feature::varlen("u:array[*].x", &[-1], DType::Int32)),
            masked(Feature::varlen("u:array[*].y", &[-1, -1], DType::Float32)),
            Feature::dense("m.keys()", &[values], DType::String),
            masked(Feature::dense("m[*]", &[values], DType::String)),
        ];
        assert_eq!(found.features, expected);
        assert_eq!(found.left_out, []);
    }
}

#[test]
fn lists_of_several_lengths_are_varlen() {
    let found = inspected(&[full(), nested()]);
    let names = ["u:array[*].x", "u:array[*].y", "m.keys()", "m[*]"];
    for feature in found.features {
        let is_varlen = matches!(feature.kind, atds::features::FeatureKind::Varlen { .. });
        assert_eq!(is_varlen, names.contains(&&*feature.name), "{feature:?}");
    }
}

/// The expression, type, number of values and number of nulls of each path.
fn paths(found: &Inspection) -> Vec<(&str, &str, u64, u64)> {
    let paths = found.paths.iter();
    paths
        .map(|found| {
            let path = &found.path;
            (
                &*path.expression,
                &*path.schema_type,
                found.values,
                found.nulls,
            )
        })
        .collect()
}

#[test]
fn nulls_are_counted_on_every_path() {
    let found = inspected(&[full(), sparse(), nested()]);
    assert_eq!(found.sampled, 3);
    assert!(!found.paths_truncated);
    let union = r#"["null", "int", "array of record 'S'"]"#;
    let expected = [
        ("a", "int", 3, 1),
        ("ab", "int", 3, 0),
        ("r", "record 'S'", 3, 1),
        ("r.x", "int (date)", 2, 0),
        (r"r.y", r#"array of ["null", "float"]"#, 2, 0),
        ("r.y[*]", "float", 2, 1),
        ("u", union, 3, 1),
        ("u:int", "int", 3, 2),
        ("u:array", "array of record 'S'", 3, 2),
        ("u:array[*]", "record 'S'", 2, 0),
        ("u:array[*].x", "int (date)", 2, 0),
        ("u:array[*].y", r#"array of ["null", "float"]"#, 2, 0),
        ("u:array[*].y[*]", "float", 3, 2),
        ("m", r#"map of ["string", "null"]"#, 3, 0),
        ("m[*]", "string", 3, 2),
        ("m.keys()", "string", 3, 0),
    ];
    assert_eq!(paths(&found), expected);
    let nullable = [
        "a",
        "r",
        "r.y[*]",
        "u",
        "u:int",
        "u:array",
        "u:array[*].y[*]",
        "m[*]",
    ];
    for path in &found.paths {
        let expression = &*path.path.expression;
        assert_eq!(
            path.path.nullable,
            nullable.contains(&expression),
            "{expression}"
        );
    }
    assert_eq!(found.paths[0].null_rate(), Some(1.0 / 3.0));
}

#[test]
fn a_cancelled_inspection_ends_with_an_error_that_says_so() {
    let folder = Folder::new();
    let path = file(&folder, &[full(), sparse()]);
    let mut options = InspectOptions::default();
    options.cancelled = Some(Arc::new(AtomicBool::new(true)));
    let error = inspect_with(&path, &options).unwrap_err();
    assert!(matches!(error.kind, ErrorKind::Cancelled), "{error}");
    let error = inspect_features(&path, &options).unwrap_err();
    assert!(matches!(error.kind, ErrorKind::Cancelled), "{error}");
    options.cancelled = Some(Arc::default());
    inspect_with(&path, &options).unwrap();
}

#[test]
fn the_sample_is_the_first_records() {
    let folder = Folder::new();
    let path = file(&folder, &[full(), sparse(), sparse(), sparse()]);
    for (sample, nulls) in [(0, 0), (1, 0), (2, 1), (3, 2), (100, 3)] {
        let mut options = InspectOptions::default();
        options.sample = sample;
        let found = inspect_with(&path, &options).unwrap();
        assert_eq!(found.sampled, sample.min(4));
        assert_eq!(paths(&found)[0], ("a", "int", sample.min(4), nulls));
        let rate = found.paths[0].null_rate();
        assert_eq!(rate.is_none(), sample == 0);
        assert_eq!(found.records, 4);
    }
}

/// For every path without a list, a feature can be made of the expression. Its mask has as many
/// nulls as the inspection counted.
#[test]
fn counted_nulls_are_those_of_masks() {
    let folder = Folder::new();
    let path = file(&folder, &[full(), sparse(), nested(), sparse()]);
    let found = inspect(&path).unwrap();
    let mut compared = 0;
    for counted in &found.paths {
        let expression = &counted.path.expression;
        let dtype = match &*counted.path.schema_type {
            "int" | "int (date)" => DType::Int32,
            "float" => DType::Float32,
            "string" => DType::String,
            _ => continue,
        };
        let feature = Feature::var_len("f", dtype)
            .at(expression)
            .with_mask("mask");
        let dataset = atds::Dataset::builder(&path, 10).features([feature]);
        let batch = dataset.build().unwrap().iter().next().unwrap().unwrap();
        let mask = batch.dense::<bool>("mask").unwrap();
        let nulls = mask.iter().filter(|&&there| !there).count() as u64;
        // The feature's mask also counts nulls of the records around the value.
        let on_the_way = match &**expression {
            "r.x" => 2,
            _ => 0,
        };
        assert_eq!(nulls, counted.nulls + on_the_way, "{expression}");
        compared += 1;
    }
    assert_eq!(compared, 9);
}

/// A file of records `{id, pair, list, cells}` with these lists and indices. The type of `id` is
/// int or long.
fn clicks(folder: &Folder, name: &str, id: &str, records: &[(i32, &[i64], &[i32])]) {
    let schema = r#"{"type": "record", "name": "R", "fields": [
        {"name": "id", "type": "ID"},
        {"name": "list", "type": {"type": "array", "items": "int"}},
        {"name": "cells", "type": {"type": "record", "name": "Cells", "fields": [
            {"name": "indices0", "type": {"type": "array", "items": "long"}},
            {"name": "values", "type": {"type": "array", "items": "float"}}]}}]}"#
        .replace("ID", id);
    let parsed = Schema::parse(&schema).unwrap();
    let mut payload = Vec::new();
    for &(number, indices, list) in records {
        let cells = vec![
            Value::Array(indices.iter().map(|&index| Value::Long(index)).collect()),
            Value::Array(indices.iter().map(|_| Value::Float(0.5)).collect()),
        ];
        let record = Value::Record(vec![
            match id {
                "int" => Value::Int(number),
                _ => Value::Long(number.into()),
            },
            Value::Array(list.iter().map(|&item| Value::Int(item)).collect()),
            Value::Record(cells),
        ]);
        let options = EncodeOptions::default();
        encode(&parsed, parsed.root(), &record, &mut payload, &options).unwrap();
    }
    let block = (records.len() as u64, payload);
    folder.write(name, &container(&schema, Codec::Deflate, [block]));
}

/// Other files may have wider numbers, larger indices, longer lists, or lack fields.
#[test]
fn the_features_of_several_files_read_them_all() {
    let folder = Folder::new();
    clicks(
        &folder,
        "0.avro",
        "int",
        &[(0, &[7], &[1, 2]), (1, &[3, 4], &[3, 4])],
    );
    clicks(
        &folder,
        "1.avro",
        "long",
        &[(2, &[90], &[5, 6]), (3, &[], &[7, 8])],
    );
    let options = InspectOptions::default();
    let id = || {
        let id = Feature::dense("id", &[], DType::Int64);
        id.with_convert(Convert::Cast)
    };
    let cells = Feature::sparse("cells", &[91], DType::Float32);
    let found = inspect_features(folder.path(), &options).unwrap();
    let list = Feature::dense("list", &[2], DType::Int32);
    assert_eq!(found, [id(), list, cells.clone()]);

    clicks(&folder, "2.avro", "int", &[(4, &[], &[1, 2, 3])]);
    let other = r#"{"type": "record", "name": "R", "fields": [
        {"name": "new", "type": "int"}, {"name": "id", "type": "int"}]}"#;
    folder.write("3.avro", &container(other, Codec::Null, [(1, vec![0, 10])]));
    let found = inspect_features(folder.path(), &options).unwrap();
    let list = masked(Feature::varlen("list", &[-1], DType::Int32));
    let new = masked(Feature::dense("new", &[], DType::Int32));
    assert_eq!(found, [id(), list, masked(cells), new]);

    let dataset = Dataset::builder(folder.path(), 16).features(found).build();
    let batch = dataset.unwrap().iter().next().unwrap().unwrap();
    assert_eq!(batch.dense::<i64>("id").unwrap(), [0, 1, 2, 3, 4, 5]);
    let has_new = [false, false, false, false, false, true];
    assert_eq!(batch.dense::<bool>("new.mask").unwrap(), has_new);
}

#[test]
fn files_that_no_features_fit_together_are_an_error() {
    let folder = Folder::new();
    for (name, id, record) in [
        ("0.avro", "int", vec![2]),
        ("1.avro", "string", vec![2, b'x']),
    ] {
        let schema = format!(
            r#"{{"type": "record", "name": "R", "fields": [{{"name": "id", "type": "{id}"}}]}}"#
        );
        folder.write(name, &container(&schema, Codec::Null, [(1, record)]));
    }
    let error = inspect_features(folder.path(), &InspectOptions::default()).unwrap_err();
    let message = folder.message(&error);
    assert!(message.starts_with("1.avro: feature 'id': "), "{message}");
}
