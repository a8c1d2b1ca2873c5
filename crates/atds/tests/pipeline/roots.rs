//! Files whose schemas are not plain records: unions at the root, numbers, unions of numbers and
//! text, decimals, maps with their keys.

use std::path::PathBuf;

use atds::tensors::batch_to_json;

use atds::avro::{self, inspect};
use atds::{Codec, DType, Dataset, Error, Feature};
use avro_decode::encode::{EncodeOptions, encode};
use avro_decode::{Schema, Value};
use serde_json::{Value as Json, json};

use crate::common::{Folder, container};

fn file(folder: &Folder, schema: &str, values: &[Value]) -> PathBuf {
    let parsed = Schema::parse(schema).unwrap();
    let mut payload = Vec::new();
    for value in values {
        let options = EncodeOptions::default();
        encode(&parsed, parsed.root(), value, &mut payload, &options).unwrap();
    }
    let blocks = [(values.len() as u64, payload)];
    folder.write("0.avro", &container(schema, Codec::Null, blocks))
}

fn branch(branch: usize, value: Value) -> Value {
    Value::Union(branch, Box::new(value))
}

fn text(text: &str) -> Value {
    Value::String(text.to_owned())
}

/// The only batch of a file.
fn read(path: &PathBuf, features: Option<Vec<Feature>>) -> Result<Json, Error> {
    let builder = Dataset::builder(path, 100);
    let dataset = match features {
        Some(features) => builder.features(features),
        None => builder,
    };
    let batch = dataset.build()?.iter().next().unwrap()?;
    Ok(batch_to_json(&batch))
}

/// The values of a column.
fn values<'a>(batch: &'a Json, column: &str) -> &'a Json {
    &batch[column]["values"]
}

/// The batch of the features inferred from the schema. Checks that the features of `inspect` read
/// the file too and have the same names.
fn inferred(path: &PathBuf) -> Json {
    let batch = read(path, None).unwrap();
    let found = inspect(path).unwrap();
    let again = read(path, Some(found.features)).unwrap();
    let names = |batch: &Json| {
        let columns = batch.as_object().unwrap();
        columns.keys().cloned().collect::<Vec<_>>()
    };
    assert_eq!(names(&batch), names(&again));
    batch
}

const RECORD: &str = r#"{"type": "record", "name": "n.Rec", "fields": [
    {"name": "kind", "type": "int"}]}"#;

#[test]
fn a_record_or_null() {
    let folder = Folder::new();
    let record = |kind| Value::Record(vec![Value::Int(kind)]);
    let values_of = [
        branch(1, record(3)),
        branch(0, Value::Null),
        branch(1, record(5)),
    ];
    let path = file(&folder, &format!("[\"null\", {RECORD}]"), &values_of);
    let batch = inferred(&path);
    assert_eq!(*values(&batch, "kind"), json!([3, 0, 5]));
    assert_eq!(*values(&batch, "kind.mask"), json!([true, false, true]));
    let kind = Feature::dense("kind", &[], DType::Int32).with_mask("there");
    let batch = read(&path, Some(vec![kind])).unwrap();
    assert_eq!(*values(&batch, "there"), json!([true, false, true]));
    let kind = Feature::dense("kind", &[], DType::Int32);
    let dataset = Dataset::builder(&path, 100)
        .features([kind])
        .build()
        .unwrap();
    let error = dataset.iter().find_map(Result::err).unwrap();
    assert_eq!(error.place.record, Some(1), "{error}");
    // If the reader's schema is the record alone, only the null is an error.
    let reader = Schema::parse(RECORD).unwrap();
    let dataset = Dataset::builder(&path, 1).reader_schema(reader);
    let mut batches = dataset.build().unwrap().iter();
    let first = batch_to_json(&batches.next().unwrap().unwrap());
    assert_eq!(*values(&first, "kind"), json!([3]));
    assert!(batches.next().unwrap().is_err());
}

#[test]
fn one_of_several_records() {
    let folder = Folder::new();
    let schema = r#"[
        {"type": "record", "name": "Foo", "fields": [
            {"name": "x", "type": "long"}, {"name": "both", "type": "int"},
            {"name": "other", "type": "int"}]},
        {"type": "record", "name": "Bar", "fields": [
            {"name": "y", "type": "string"}, {"name": "both", "type": "int"},
            {"name": "other", "type": "string"}]}]"#;
    let foo = Value::Record(vec![Value::Long(5), Value::Int(1), Value::Int(2)]);
    let bar = Value::Record(vec![text("q"), Value::Int(3), text("z")]);
    let path = file(&folder, schema, &[branch(0, foo), branch(1, bar)]);
    let batch = inferred(&path);
    assert_eq!(*values(&batch, ":Foo.x"), json!([5, 0]));
    assert_eq!(*values(&batch, ":Foo.x.mask"), json!([true, false]));
    assert_eq!(*values(&batch, ":Bar.y"), json!(["", "q"]));
    // A field needs no branch if all records that have it give it the same type.
    let x = Feature::dense("x", &[], DType::Int64).with_mask("is_foo");
    let both = Feature::dense("both", &[], DType::Int32);
    let batch = read(&path, Some(vec![x, both])).unwrap();
    assert_eq!(*values(&batch, "x"), json!([5, 0]));
    assert_eq!(*values(&batch, "is_foo"), json!([true, false]));
    assert_eq!(*values(&batch, "both"), json!([1, 3]));
    let other = Feature::dense("other", &[], DType::Int32).with_mask("m");
    let error = read(&path, Some(vec![other])).unwrap_err().to_string();
    assert!(error.contains("':Foo.other', ':Bar.other'"), "{error}");
    let none = Feature::dense("z", &[], DType::Int32);
    let error = read(&path, Some(vec![none])).unwrap_err().to_string();
    assert!(error.contains("':Foo.x', ':Foo.both'"), "{error}");
}

#[test]
fn what_is_no_record() {
    let folder = Folder::new();
    let longs = [Value::Long(0), Value::Long(-1)];
    let path = file(&folder, "\"long\"", &longs);
    assert_eq!(*values(&inferred(&path), "@"), json!([0, -1]));
    let path = file(
        &folder,
        r#"["null", "int", "double"]"#,
        &[
            branch(1, Value::Int(2)),
            branch(2, Value::Double(0.5)),
            branch(0, Value::Null),
        ],
    );
    assert_eq!(*values(&inferred(&path), "@"), json!([2.0, 0.5, 0.0]));
    let array = Value::Array(vec![Value::Int(1), Value::Int(2)]);
    let path = file(&folder, r#"{"type": "array", "items": "int"}"#, &[array]);
    assert_eq!(*values(&inferred(&path), "@"), json!([[1, 2]]));
    let first = Feature::dense("first", &[], DType::Int32).at("[0]");
    let batch = read(&path, Some(vec![first])).unwrap();
    assert_eq!(*values(&batch, "first"), json!([1]));
    let map = Value::Map(vec![("k".to_owned(), Value::Int(1))]);
    let path = file(&folder, r#"{"type": "map", "values": "int"}"#, &[map]);
    let batch = inferred(&path);
    assert_eq!(*values(&batch, ".keys()"), json!(["k"]));
    assert_eq!(*values(&batch, "[*]"), json!([1]));
}

#[test]
fn nothing_can_be_inferred() {
    let folder = Folder::new();
    let path = file(&folder, "\"null\"", &[]);
    let error = read(&path, None).unwrap_err();
    assert!(matches!(
        error.kind.avro(),
        Some(avro::ErrorKind::NoFeatures { .. })
    ));
    let expected = "nothing can be inferred: the schema is null; in it '@' is null (it holds no \
                    value)";
    assert_eq!(folder.message(&error), format!("0.avro: {expected}"));
    let fields: Vec<String> = (0..20)
        .map(|i| format!(r#"{{"name": "f{i}", "type": "null"}}"#))
        .collect();
    let schema = format!(
        r#"{{"type": "record", "name": "R", "fields": [{}]}}"#,
        fields.join(", ")
    );
    let path = file(&folder, &schema, &[]);
    let error = read(&path, None).unwrap_err().to_string();
    assert!(
        error.contains("the schema is record 'R'; in it 'f0' is null"),
        "{error}"
    );
    assert!(error.ends_with(" and 12 more"), "{error}");
}

#[test]
fn unions_of_numbers_and_text() {
    let folder = Folder::new();
    let schema = r#"{"type": "record", "name": "R", "fields": [
        {"name": "n", "type": ["null", "int", "long", "float", "double"]},
        {"name": "i", "type": ["int", "long"]},
        {"name": "t", "type": ["null", "string", "long", "double", "boolean"]},
        {"name": "u", "type": ["null", "string", "long", "int"]}]}"#;
    let record = |n, i, t, u| Value::Record(vec![n, i, t, u]);
    let null = || branch(0, Value::Null);
    let records = [
        record(
            branch(1, Value::Int(5)),
            branch(0, Value::Int(-7)),
            null(),
            null(),
        ),
        record(
            branch(2, Value::Long(6)),
            branch(1, Value::Long(1 << 40)),
            branch(1, text("a")),
            branch(1, text("u1")),
        ),
        record(
            branch(3, Value::Float(1.5)),
            branch(0, Value::Int(0)),
            branch(2, Value::Long(12)),
            branch(2, Value::Long(5)),
        ),
        record(
            branch(4, Value::Double(2.5)),
            branch(0, Value::Int(1)),
            branch(4, Value::Boolean(true)),
            branch(3, Value::Int(6)),
        ),
    ];
    let path = file(&folder, schema, &records);
    let batch = inferred(&path);
    assert_eq!(*values(&batch, "n"), json!([5.0, 6.0, 1.5, 2.5]));
    assert_eq!(*values(&batch, "i"), json!([-7, 1_i64 << 40, 0, 1]));
    assert_eq!(*values(&batch, "u"), json!(["", "u1", "5", "6"]));
    let ids = |name: &str, expression: &str| {
        let feature = Feature::dense(name, &[], DType::Int64).at(expression);
        let feature = feature.with_convert(atds::Convert::HashBuckets(1000));
        feature.with_mask(format!("{name}.mask"))
    };
    let batch = read(&path, Some(vec![ids("t_id", "t"), ids("u_id", "u")])).unwrap();
    let hashed = |text: &str| {
        let folder = Folder::new();
        let schema =
            r#"{"type": "record", "name": "R", "fields": [{"name": "s", "type": "string"}]}"#;
        let path = file(
            &folder,
            schema,
            &[Value::Record(vec![Value::String(text.to_owned())])],
        );
        values(&read(&path, Some(vec![ids("id", "s")])).unwrap(), "id")[0].clone()
    };
    assert_eq!(
        *values(&batch, "t_id"),
        json!([0, hashed("a"), hashed("12"), hashed("true")])
    );
    assert_eq!(
        *values(&batch, "u_id"),
        json!([0, hashed("u1"), hashed("5"), hashed("6")])
    );
    let cast = Feature::dense("n", &[], DType::Float32).with_convert(atds::Convert::Cast);
    let batch = read(&path, Some(vec![cast.with_mask("m")])).unwrap();
    assert_eq!(*values(&batch, "n"), json!([5.0, 6.0, 1.5, 2.5]));
    let other = Feature::dense("n", &[], DType::Int64).with_mask("m");
    let error = read(&path, Some(vec![other])).unwrap_err().to_string();
    assert!(error.contains("read as float64, not int64"), "{error}");
}

#[test]
fn decimals_without_a_fraction_are_exact() {
    let folder = Folder::new();
    let schema = r#"{"type": "record", "name": "R", "fields": [
        {"name": "id", "type": {"type": "bytes", "logicalType": "decimal", "precision": 38}},
        {"name": "list", "type": {"type": "array", "items":
            {"type": "fixed", "name": "F", "size": 9, "logicalType": "decimal", "precision": 19}}}]}"#;
    let id = 9_007_199_254_740_993_i64;
    let bytes = |id: i64| {
        let mut bytes = vec![0];
        bytes.extend(id.to_be_bytes());
        bytes
    };
    let record = |id: Vec<u8>| {
        let list = vec![Value::Fixed(bytes(9_007_199_254_740_993))];
        Value::Record(vec![Value::Bytes(id), Value::Array(list)])
    };
    let path = file(&folder, schema, &[record(bytes(id))]);
    let batch = inferred(&path);
    assert_eq!(*values(&batch, "id"), json!([id]));
    assert_eq!(*values(&batch, "list"), json!([[id]]));
    // A value outside int64 is an error with the field. `inspect` notices it and reads the bytes.
    let large = vec![1, 0, 0, 0, 0, 0, 0, 0, 0];
    let path = file(&folder, schema, &[record(large)]);
    let error = read(&path, None).unwrap_err();
    assert_eq!(error.place.field.as_deref(), Some("id"), "{error}");
    let found = inspect(&path).unwrap();
    assert_eq!(found.features[0].dtype, DType::String);
    assert_eq!(found.binary, ["id"]);
    read(&path, Some(found.features)).unwrap();
}

#[test]
fn maps_have_keys_beside_values() {
    let folder = Folder::new();
    let schema = r#"{"type": "record", "name": "R", "fields": [
        {"name": "m", "type": ["null", {"type": "map", "values": ["null", "double"]}]},
        {"name": "deep", "type": {"type": "map", "values": {"type": "map", "values": "int"}}}]}"#;
    let number = |key: &str, value: f64| (key.to_owned(), branch(1, Value::Double(value)));
    let map = vec![
        number("age", 30.0),
        ("no".to_owned(), branch(0, Value::Null)),
    ];
    let inner = Value::Map(vec![
        ("x".to_owned(), Value::Int(1)),
        ("y".to_owned(), Value::Int(2)),
    ]);
    let empty = Value::Map(Vec::new());
    let deep = vec![("a".to_owned(), inner), ("b".to_owned(), empty.clone())];
    let records = [
        Value::Record(vec![branch(1, Value::Map(map)), Value::Map(deep)]),
        Value::Record(vec![branch(0, Value::Null), empty]),
    ];
    let path = file(&folder, schema, &records);
    let batch = inferred(&path);
    assert_eq!(*values(&batch, "m.keys()"), json!(["age", "no"]));
    assert_eq!(*values(&batch, "m[*]"), json!([30.0, 0.0]));
    assert_eq!(batch["m[*]"]["indices"], batch["m.keys()"]["indices"]);
    assert_eq!(*values(&batch, "deep.keys()"), json!(["a", "b"]));
    assert_eq!(*values(&batch, "deep[*].keys()"), json!(["x", "y"]));
    assert_eq!(
        batch["deep[*].keys()"]["indices"],
        batch["deep[*][*]"]["indices"]
    );
    let bad = Feature::var_len("m.keys().x", DType::String);
    assert!(read(&path, Some(vec![bad])).is_err());
    let of_record = Feature::var_len("deep[*][*].keys()", DType::String);
    let error = read(&path, Some(vec![of_record])).unwrap_err().to_string();
    assert!(
        error.contains("to which '.keys()' does not apply"),
        "{error}"
    );
}
