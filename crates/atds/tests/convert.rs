//! Conversion of files: round trips, what has no place, and other implementations as readers.

#![allow(clippy::unwrap_used)]

#[path = "common/convert.rs"]
mod common;
#[path = "../../tfrecord/tests/common/twin.rs"]
mod twin;

use std::fs;

use apache_avro::types::Value as Apache;
use atds::convert::{ConvertError, ConvertOptions, LossKind, convert};
use atds_generate::{GenerateOptions, Preset, generate};
use atds_tfrecord::FeatureValues;
use avro_decode::Value;
use common::{all, avro, example, fault, no_place, tfrecord, with, write};
use prost::Message;
use serde_json::{Value as Json, json};
use tempfile::TempDir;

fn scalars() -> (Json, Vec<Value>) {
    let symbols = json!({"type": "enum", "name": "E", "symbols": ["A", "B"]});
    let fixed = json!({"type": "fixed", "name": "F", "size": 2});
    let array = |items: Json| json!({"type": "array", "items": items});
    let schema = json!({"type": "record", "name": "R", "fields": [
        {"name": "b", "type": "boolean"},
        {"name": "i", "type": "int"},
        {"name": "l", "type": "long"},
        {"name": "f", "type": "float"},
        {"name": "d", "type": "double"},
        {"name": "s", "type": "string"},
        {"name": "y", "type": "bytes"},
        {"name": "e", "type": symbols},
        {"name": "x", "type": fixed},
        {"name": "n", "type": ["null", "string"]},
        {"name": "m", "type": ["long", "null"]},
        {"name": "list", "type": array(json!("int"))},
        {"name": "maybe", "type": ["null", array(json!("string"))]},
        {"name": "steps", "type": array(array(json!("double")))},
    ]});
    let record = |i: i64, is_null: bool| {
        let null = |branch| Value::Union(branch, Box::new(Value::Null));
        let some = |branch, value| Value::Union(branch, Box::new(value));
        Value::Record(vec![
            Value::Boolean(is_null),
            Value::Int(i as i32 - 3),
            Value::Long(i64::MIN + i),
            Value::Float(if is_null { f32::INFINITY } else { 0.1 }),
            Value::Double(i as f64 / 4.0),
            Value::String(format!("t\u{e4}xt {i}")),
            Value::Bytes(vec![0xff, i as u8]),
            Value::Enum((i % 2) as u32),
            Value::Fixed(vec![i as u8, 0x80]),
            if is_null {
                null(0)
            } else {
                some(1, Value::String(String::new()))
            },
            if is_null {
                null(1)
            } else {
                some(0, Value::Long(-i))
            },
            Value::Array((0..i % 3).map(|n| Value::Int(n as i32)).collect()),
            if is_null {
                null(0)
            } else {
                some(1, Value::Array(vec![Value::String("w".to_owned())]))
            },
            Value::Array(
                (0..i % 4)
                    .map(|n| Value::Array(vec![Value::Double(n as f64); n as usize]))
                    .collect(),
            ),
        ])
    };
    (schema, (0..20).map(|i| record(i, i % 5 == 0)).collect())
}

#[test]
fn avro_to_tfrecord_and_back_with_the_schema_is_the_same() {
    let dir = TempDir::new().unwrap();
    let (schema, values) = scalars();
    let first = avro(dir.path(), "a.avro", &schema, &values);
    for name in ["b.tfrecord", "b.tfrecord.gz", "b.tfrecord.zlib"] {
        let records = dir.path().join(name);
        let converted = convert(&first, &records).unwrap();
        assert_eq!((converted.records, converted.losses), (20, vec![]));
        let size = fs::metadata(&records).unwrap().len();
        assert_eq!(converted.file_bytes, size);
        let back = dir.path().join(format!("{name}.avro"));
        let give = |options: &mut ConvertOptions| options.schema = Some(schema.to_string().into());
        let converted = with(&records, &back, give).unwrap();
        assert_eq!((converted.records, converted.losses), (20, vec![]));
        assert_eq!(all(&back), all(&first));
    }
}

/// `prost` and the Apache library read the files.
#[test]
fn others_read_what_is_written() {
    let dir = TempDir::new().unwrap();
    let (schema, values) = scalars();
    let first = avro(dir.path(), "a.avro", &schema, &values);
    let records = dir.path().join("b.tfrecord");
    convert(&first, &records).unwrap();

    let file = fs::File::open(&records).unwrap();
    let mut reader = atds_tfrecord::RecordReader::new(file, Default::default()).unwrap();
    let mut read = 0;
    while let Some(record) = reader.next().unwrap() {
        let message = twin::SequenceExample::decode(record).unwrap();
        let context = message.context.unwrap().feature;
        let lists = message.feature_lists.unwrap().feature_list;
        let Value::Record(fields) = &values[read] else {
            unreachable!()
        };
        let Some(twin::Kind::Int64(found)) = &context["l"].kind else {
            panic!("{context:?}")
        };
        assert_eq!(Value::Long(found.value[0]), fields[2]);
        let Some(twin::Kind::Bytes(found)) = &context["e"].kind else {
            panic!("{context:?}")
        };
        assert_eq!(found.value, [if read % 2 == 0 { b"A" } else { b"B" }]);
        assert_eq!(context.contains_key("n"), read % 5 != 0);
        assert_eq!(lists["steps"].feature.len(), read % 4);
        read += 1;
    }
    assert_eq!(read, 20);

    let back = dir.path().join("c.avro");
    convert(&records, &back).unwrap();
    let reader = apache_avro::Reader::new(fs::File::open(&back).unwrap()).unwrap();
    for (i, record) in reader.enumerate() {
        let Apache::Record(fields) = record.unwrap() else {
            panic!("no record")
        };
        let field = |name: &str| &fields.iter().find(|(key, _)| key == name).unwrap().1;
        assert_eq!(*field("l"), Apache::Long(i64::MIN + i as i64));
        assert_eq!(
            *field("s"),
            Apache::Bytes(format!("t\u{e4}xt {i}").into_bytes())
        );
        let null = Apache::Union(0, Box::new(Apache::Null));
        assert_eq!(*field("n") == null, i % 5 == 0);
    }
}

/// Without a schema, the values stay, and their types are those that TFRecord tells apart.
#[test]
fn a_schema_is_made_of_the_keys() {
    let dir = TempDir::new().unwrap();
    let steps = |n: usize| vec![Some(FeatureValues::Float(vec![0.5; n])); n];
    let record = |id: i64, name: Option<&str>, n: usize| {
        let mut record = example(&[
            ("id", FeatureValues::Int64(vec![id])),
            ("a/b", FeatureValues::Float(vec![1.5; n])),
            ("a.b", FeatureValues::Bytes(vec![b"\xff".to_vec()])),
        ]);
        if let Some(name) = name {
            let values = FeatureValues::Bytes(vec![name.as_bytes().to_vec()]);
            record.features.push(("name".to_owned(), values));
        }
        record.feature_lists = Some(vec![("id".to_owned(), steps(n))]);
        record
    };
    let examples = [
        record(1, Some("x"), 2),
        record(2, None, 0),
        record(3, Some("z"), 1),
    ];
    let first = tfrecord(dir.path(), "a.tfrecord", &examples);
    let back = dir.path().join("b.avro");
    convert(&first, &back).unwrap();
    let records = atds::avro::records::Records::open(&back).unwrap();
    let schema: Json = serde_json::from_str(records.schema_text()).unwrap();
    let array = |items: Json| json!({"type": "array", "items": items});
    assert_eq!(
        schema["fields"],
        json!([
            {"name": "id", "type": "long"},
            {"name": "a_b", "type": array(json!("float")), "atds.name": "a/b"},
            {"name": "a_b_2", "type": "bytes", "atds.name": "a.b"},
            {"name": "name", "type": ["null", "bytes"], "default": null},
            {"name": "id_2", "type": array(array(json!("float"))), "atds.name": "id"},
        ])
    );
    assert_eq!(
        all(&back)[1],
        json!({"id": 2, "a_b": [], "a_b_2": "\u{ff}", "name": null, "id_2": []})
    );
    // The names of keys come back.
    let again = dir.path().join("c.tfrecord");
    convert(&back, &again).unwrap();
    assert_eq!(all(&again), all(&first));
}

#[test]
fn btable_to_avro_and_back_is_the_same_file() {
    let dir = TempDir::new().unwrap();
    let labels = ["a", "b c", "b.c", "", "", "\u{1f642}"];
    let first = dir.path().join("a.btable");
    let mut file = atds_btable::FileWriter::create(&first, &labels).unwrap();
    let rows = [
        [0.1, 0.0, f64::NAN, 4.0, 0.0, f64::MIN_POSITIVE],
        [0.0; 6],
        [1.0, 2.0, 3.0, f64::NEG_INFINITY, 5.0, 1e300],
    ];
    for row in &rows {
        file.writer().write_dense_row(row).unwrap();
    }
    file.finish().unwrap();
    let middle = dir.path().join("b.avro");
    let converted = convert(&first, &middle).unwrap();
    assert_eq!((converted.records, converted.losses), (3, vec![]));
    let names: Vec<_> = all(&middle)[0]
        .as_object()
        .unwrap()
        .keys()
        .cloned()
        .collect();
    assert_eq!(names, ["a", "b_c", "b_c_2", "_", "__2", "__3"]);
    let reader = apache_avro::Reader::new(fs::File::open(&middle).unwrap()).unwrap();
    assert_eq!(reader.map(Result::unwrap).count(), 3);
    let back = dir.path().join("c.btable");
    convert(&middle, &back).unwrap();
    assert_eq!(fs::read(&back).unwrap(), fs::read(&first).unwrap());
    let packed = dir.path().join("c.btable.zst");
    convert(&middle, &packed).unwrap();
    assert_eq!(all(&packed)[2]["b c"], 2.0);

    // Two columns have no label, but keys are different.
    let records = dir.path().join("d.tfrecord");
    let (error, ..) = fault(convert(&first, &records));
    assert!(matches!(error, ConvertError::SameKey { .. }), "{error}");
    let labels = ["a", "b c", "b.c", "", "d", "\u{1f642}"];
    let first = dir.path().join("d.btable");
    let mut file = atds_btable::FileWriter::create(&first, &labels).unwrap();
    for row in &rows {
        file.writer().write_dense_row(row).unwrap();
    }
    file.finish().unwrap();
    // Floats do not hold 0.1 and 1e300.
    assert_eq!(
        no_place(convert(&first, &records)),
        (LossKind::Rounded, 0, "a".to_owned())
    );
    let converted = with(&first, &records, |options| options.allow_loss = true).unwrap();
    let fields: Vec<_> = converted
        .losses
        .iter()
        .map(|loss| (&*loss.field, loss.kind, loss.values))
        .collect();
    let face = "\u{1f642}";
    let (rounded, infinite) = (LossKind::Rounded, LossKind::Infinite);
    assert_eq!(
        fields,
        [("a", rounded, 1), (face, rounded, 1), (face, infinite, 1)]
    );
    assert_eq!(all(&records)[0]["a"], json!([0.1]));
}

#[test]
fn tfrecord_to_btable() {
    let dir = TempDir::new().unwrap();
    let record = |id: i64, x: Option<f32>| {
        let mut record = example(&[("id", FeatureValues::Int64(vec![id]))]);
        if let Some(x) = x {
            record
                .features
                .push(("x/y".to_owned(), FeatureValues::Float(vec![x])));
        }
        record
    };
    let whole = [record(0, Some(0.5)), record(7, Some(0.0))];
    let first = tfrecord(dir.path(), "a.tfrecord", &whole);
    let table = dir.path().join("a.btable");
    convert(&first, &table).unwrap();
    assert_eq!(all(&table), [json!({"x/y": 0.5}), json!({"id": 7.0})]);
    // A missing key, and an integer that no double is.
    let first = tfrecord(
        dir.path(),
        "b.tfrecord",
        &[record(1, Some(1.0)), record(2, None)],
    );
    let table = dir.path().join("b.btable");
    assert_eq!(
        no_place(convert(&first, &table)),
        (LossKind::Null, 1, "x/y".to_owned())
    );
    for (id, is_held) in [(1 << 53, true), ((1 << 53) + 1, false), (i64::MAX, false)] {
        let first = tfrecord(dir.path(), "c.tfrecord", &[record(id, None)]);
        let table = dir.path().join(format!("{id}.btable"));
        match convert(&first, &table) {
            Ok(_) => assert!(is_held, "{id}"),
            found => assert_eq!(
                (no_place(found), is_held),
                ((LossKind::Rounded, 0, "id".to_owned()), false)
            ),
        }
    }
}

#[test]
fn what_has_no_place_is_an_error_or_counted() {
    let dir = TempDir::new().unwrap();
    let inner = json!({"type": "record", "name": "I", "fields": [
        {"name": "age", "type": "int"},
        {"name": "tags", "type": {"type": "array", "items": "string"}},
    ]});
    let values = [
        (
            inner.clone(),
            Value::Record(vec![Value::Int(4), Value::Array(vec![])]),
        ),
        (json!({"type": "map", "values": "int"}), Value::Map(vec![])),
        (
            json!(["int", "string"]),
            Value::Union(0, Box::new(Value::Int(1))),
        ),
        (
            json!({"type": "array", "items": ["null", "int"]}),
            Value::Array(vec![
                Value::Union(0, Box::new(Value::Null)),
                Value::Union(1, Box::new(Value::Int(5))),
            ]),
        ),
        (json!("double"), Value::Double(0.1)),
        (
            json!({"type": "array", "items": {"type": "map", "values": "int"}}),
            Value::Array(vec![]),
        ),
        (
            json!({"type": "array", "items": {"type": "array", "items":
                {"type": "array", "items": "int"}}}),
            Value::Array(vec![]),
        ),
    ];
    let kinds = [
        (LossKind::NestedRecord, LossKind::NestedRecord),
        (LossKind::Map, LossKind::Map),
        (LossKind::Union, LossKind::Union),
        (LossKind::Null, LossKind::Array),
        (LossKind::Rounded, LossKind::Rounded),
        (LossKind::Map, LossKind::Array),
        (LossKind::Array, LossKind::Array),
    ];
    let records = dir.path().join("x.tfrecord");
    let table = dir.path().join("x.btable");
    for ((ty, value), (in_tfrecord, in_btable)) in values.into_iter().zip(kinds) {
        let fields = json!([{"name": "k", "type": "int"}, {"name": "v", "type": ty}]);
        let schema = json!({"type": "record", "name": "R", "fields": fields});
        let record = Value::Record(vec![Value::Int(1), value]);
        let file = avro(dir.path(), "x.avro", &schema, &[record.clone(), record]);
        let at_fault = |kind| (kind, 0, "v".to_owned());
        assert_eq!(no_place(convert(&file, &records)), at_fault(in_tfrecord));
        assert!(!records.exists());
        let allow = |options: &mut ConvertOptions| {
            options.allow_loss = true;
            options.force = true;
        };
        let found = with(&file, &records, allow).unwrap().losses;
        assert_eq!(
            (found.len(), found[0].kind, found[0].values),
            (1, in_tfrecord, 2)
        );
        let expected = match in_tfrecord {
            LossKind::Null => json!({"k": [1], "v": [5]}),
            LossKind::Rounded => json!({"k": [1], "v": [0.1]}),
            _ => json!({"k": [1]}),
        };
        assert_eq!(all(&records), [expected.clone(), expected]);
        fs::remove_file(&records).unwrap();
        if in_btable != LossKind::Rounded {
            assert_eq!(no_place(convert(&file, &table)), at_fault(in_btable));
        }
        with(&file, &table, allow).unwrap();
        assert_eq!(all(&table)[1]["k"], 1.0);
        fs::remove_file(&table).unwrap();
    }

    // Fields of nested records.
    let schema = json!({"type": "record", "name": "R", "fields": [
        {"name": "user", "type": ["null", inner]},
    ]});
    let user = Value::Record(vec![Value::Int(4), Value::Array(vec![])]);
    let user = Value::Record(vec![Value::Union(1, Box::new(user))]);
    let none = Value::Record(vec![Value::Union(0, Box::new(Value::Null))]);
    let file = avro(dir.path(), "n.avro", &schema, &[user, none]);
    with(&file, &records, |options| options.flatten = true).unwrap();
    assert_eq!(
        all(&records),
        [json!({"user.age": [4], "user.tags": []}), json!({})]
    );
    let allow = |options: &mut ConvertOptions| {
        options.flatten = true;
        options.allow_loss = true;
    };
    let losses = with(&file, &table, allow).unwrap().losses;
    let losses: Vec<_> = losses
        .iter()
        .map(|loss| (&*loss.field, loss.kind))
        .collect();
    assert_eq!(
        losses,
        [("user", LossKind::Null), ("user.tags", LossKind::Array)]
    );
    assert_eq!(all(&table), [json!({"user.age": 4.0}), json!({})]);
}

#[test]
fn keys_that_fit_no_schema() {
    let dir = TempDir::new().unwrap();
    let first = example(&[("k", FeatureValues::Int64(vec![1]))]);
    let second = example(&[("k", FeatureValues::Float(vec![1.0]))]);
    let file = tfrecord(dir.path(), "a.tfrecord", &[first.clone(), second]);
    let back = dir.path().join("a.avro");
    assert_eq!(
        no_place(convert(&file, &back)),
        (LossKind::SeveralKinds, 0, "k".to_owned())
    );
    let found = with(&file, &back, |options| options.allow_loss = true).unwrap();
    assert_eq!(found.losses[0].values, 2);
    assert_eq!(all(&back), [json!({}), json!({})]);

    let file = tfrecord(dir.path(), "b.tfrecord", &[first]);
    let give = |fields: Json| {
        let schema = json!({"type": "record", "name": "R", "fields": fields}).to_string();
        move |options: &mut ConvertOptions| {
            options.schema = Some(schema.into());
            options.force = true;
        }
    };
    let unknown = with(&file, &back, give(json!([])));
    assert_eq!(no_place(unknown), (LossKind::UnknownKey, 0, "k".to_owned()));
    for (ty, said) in [
        (json!("string"), "string, but the record has the int64 1"),
        (
            json!({"type": "array", "items": "float"}),
            "float, but the record has the int64 1",
        ),
        (
            json!({"type": "enum", "name": "E", "symbols": ["A"]}),
            "but the record has the int64 1",
        ),
    ] {
        let found = with(&file, &back, give(json!([{"name": "k", "type": ty}])));
        let (error, record, field) = fault(found);
        assert!(matches!(error, ConvertError::DoesNotFit { .. }));
        assert!(error.to_string().contains(said), "{error}");
        assert_eq!((record, field.as_deref()), (Some(0), Some("k")));
    }
    let missing = give(json!([{"name": "k", "type": "int"}, {"name": "l", "type": "int"}]));
    let (error, _, field) = fault(with(&file, &back, missing));
    assert_eq!(field.as_deref(), Some("l"));
    assert!(error.to_string().contains("no such key"), "{error}");
    let raw = write(dir.path(), "raw.tfrecord", {
        let mut writer = atds_tfrecord::Writer::new(Vec::new());
        writer.write(b"\xff").unwrap();
        writer.finish().unwrap()
    });
    let error = with(&raw, &back, |options| options.force = true).unwrap_err();
    assert!(error.to_string().contains("record 0 at byte 0"), "{error}");
}

#[test]
fn generated_files_stay_what_they_are() {
    let dir = TempDir::new().unwrap();
    for preset in [
        Preset::Wide,
        Preset::Strings,
        Preset::Varlen,
        Preset::AdsNullable,
    ] {
        let folder = dir.path().join(preset.name());
        let file = generate(&folder, &GenerateOptions::new(preset, 30))
            .unwrap()
            .files
            .remove(0);
        let (records, back) = (folder.join("a.tfrecord"), folder.join("back.avro"));
        let allow = |options: &mut ConvertOptions| options.allow_loss = true;
        let lost = with(&file, &records, allow).unwrap().losses;
        let give = |options: &mut ConvertOptions| options.schema = Some(preset.schema().into());
        if lost.iter().any(|loss| loss.kind != LossKind::Rounded) {
            continue;
        }
        with(&records, &back, give).unwrap();
        let is_lost = |name: &str| lost.iter().any(|loss| loss.field == name);
        for (before, after) in all(&file).into_iter().zip(all(&back)) {
            for (name, value) in before.as_object().unwrap() {
                assert!(is_lost(name) || after[name] == *value, "{name}");
            }
        }
    }
}

#[test]
fn files_that_are_there_stay() {
    let dir = TempDir::new().unwrap();
    let first = tfrecord(dir.path(), "a.tfrecord", &[example(&[])]);
    let there = write(dir.path(), "there.avro", "precious");
    assert!(matches!(
        fault(convert(&first, &there)).0,
        ConvertError::Exists
    ));
    let bad = write(dir.path(), "bad.tfrecord", "not one");
    assert!(with(&bad, &there, |options| options.force = true).is_err());
    assert_eq!(fs::read(&there).unwrap(), b"precious");
    with(&first, &there, |options| options.force = true).unwrap();
    assert_eq!(all(&there), [json!({})]);
    let same = with(&first, &first, |options| {
        options.force = true;
        options.to = Some(atds::FileFormat::Avro);
    });
    assert!(matches!(fault(same).0, ConvertError::InPlace));
    for (name, expected) in [
        ("x", "its name tells no format"),
        ("x.tfrecord", "both files have the format tfrecord"),
        ("x.btable", "no field has a place in BTable"),
    ] {
        let (error, ..) = fault(convert(&first, dir.path().join(name)));
        assert!(error.to_string().starts_with(expected), "{error}");
    }
    let packed = with(&first, &dir.path().join("x.gz"), |options| {
        options.to = Some(atds::FileFormat::Avro);
    });
    assert!(matches!(fault(packed).0, ConvertError::Packing { .. }));
    // No temporary file is left.
    let mut names: Vec<_> = fs::read_dir(dir.path())
        .unwrap()
        .map(|e| e.unwrap().file_name())
        .collect();
    names.sort();
    assert_eq!(names, ["a.tfrecord", "bad.tfrecord", "there.avro"]);
}
