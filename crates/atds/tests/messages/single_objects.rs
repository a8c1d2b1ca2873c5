//! Single-object encoding, compared with the `apache-avro` crate.

use apache_avro::types::Value;
use apache_avro::{GenericSingleObjectReader, GenericSingleObjectWriter};
use atds::avro::Schema;
use atds::avro::messages::{Framing, MessageDecoder, Reencoder};
use atds::{ColumnSpec, DType, Feature, Fill, Scalar};

use crate::common::{Row, SCHEMA, rows};
use crate::{everything, messages, rows_decoder};

const OLD: &str = r#"{"type": "record", "name": "R", "namespace": "x.y", "fields": [
    {"name": "id", "type": "int"}, {"name": "text", "type": "string"}]}"#;
const NEW: &str = r#"{"type": "record", "name": "R", "namespace": "x.y", "doc": "More of it.",
    "fields": [{"name": "weight", "type": "double", "default": 0.5},
        {"name": "text", "type": "string"}, {"name": "id", "type": "long"}]}"#;

/// The message that the `apache-avro` crate writes for a record.
fn written(schema: &str, record: &[(&str, Value)]) -> Vec<u8> {
    let schema = apache_avro::Schema::parse_str(schema).unwrap();
    let mut writer = GenericSingleObjectWriter::new_with_capacity(&schema, 64).unwrap();
    let fields = record.iter();
    let fields = fields.map(|(name, value)| ((*name).to_owned(), value.clone()));
    let mut out = Vec::new();
    writer
        .write_value(Value::Record(fields.collect()), &mut out)
        .unwrap();
    out
}

fn old(id: i32) -> Vec<u8> {
    let text = Value::String(format!("old {id}"));
    written(OLD, &[("id", Value::Int(id)), ("text", text)])
}

fn new(id: i64, weight: f64) -> Vec<u8> {
    let text = Value::String(format!("new {id}"));
    let weight = ("weight", Value::Double(weight));
    written(NEW, &[weight, ("text", text), ("id", Value::Long(id))])
}

#[test]
fn apaches_messages_of_one_schema() {
    let schema = Schema::parse(OLD).unwrap();
    let features = [
        ColumnSpec::dense("id", &[], DType::Int32),
        ColumnSpec::dense("text", &[], DType::String),
    ];
    let decoder = MessageDecoder::builder(schema, features).framing(Framing::SingleObject);
    let batch = decoder.build().unwrap().decode(&[old(4), old(-5)]).unwrap();
    assert_eq!(batch.dense::<i32>("id").unwrap(), [4, -5]);
    let texts: Vec<&[u8]> = batch.strings("text").unwrap().iter().collect();
    assert_eq!(texts, [b"old 4" as &[u8], b"old -5"]);
}

#[test]
fn messages_of_several_schemas_mix() {
    let features = [
        ColumnSpec::dense("id", &[], DType::Int64),
        ColumnSpec::dense("weight", &[], DType::Float64),
        ColumnSpec::dense("text", &[], DType::String),
    ];
    let decoder = MessageDecoder::builder(Schema::parse(OLD).unwrap(), features)
        .writer_schema(Schema::parse(NEW).unwrap())
        .reader_schema(Schema::parse(NEW).unwrap())
        .framing(Framing::SingleObject);
    let messages = [
        old(0),
        new(1, 1.5),
        new(2, 2.5),
        old(3),
        old(4),
        new(5, 5.5),
    ];
    let batch = decoder.build().unwrap().decode(&messages).unwrap();
    assert_eq!(batch.dense::<i64>("id").unwrap(), [0, 1, 2, 3, 4, 5]);
    let weights = batch.dense::<f64>("weight").unwrap();
    assert_eq!(weights, [0.5, 1.5, 2.5, 0.5, 0.5, 5.5]);
    let texts: Vec<&[u8]> = batch.strings("text").unwrap().iter().collect();
    let expected = ["old 0", "new 1", "new 2", "old 3", "old 4", "new 5"];
    assert_eq!(texts, expected.map(str::as_bytes));
}

/// A field that one writer lacks is missing in its messages.
#[test]
fn a_field_that_one_writer_lacks() {
    let weight = || Feature::dense("weight", &[], DType::Float64);
    let or_2 = || weight().with_default(Fill::Scalar(Scalar::Float64(2.0)));
    let build = |schemas: [&str; 2], feature: Feature| {
        let [first, second] = schemas.map(|schema| Schema::parse(schema).unwrap());
        let decoder = MessageDecoder::builder(first, [feature]).writer_schema(second);
        decoder.framing(Framing::SingleObject).build()
    };
    for schemas in [[OLD, NEW], [NEW, OLD]] {
        let mut decoder = build(schemas, or_2()).unwrap();
        let batch = decoder.decode(&[old(1), new(2, 3.0)]).unwrap();
        assert_eq!(batch.dense::<f64>("weight").unwrap(), [2.0, 3.0]);
        let error = build(schemas, weight()).unwrap_err().to_string();
        assert!(
            error.ends_with(
                "feature 'weight': the schema has no field 'weight': the record 'x.y.R' has 'id', \
                 'text'; another writer's schema has it: give the feature a `default` or a \
                 `mask`, or read all files with a `reader_schema` that has a default for the field"
            ),
            "{error}"
        );
    }
    // A field that all schemas lack is misspelled.
    let error = build([OLD, NEW], or_2().at("wait")).unwrap_err();
    assert!(error.to_string().contains("no field 'wait'"), "{error}");
}

#[test]
fn the_header_makes_no_difference_to_the_batch() {
    let raw = messages(0..30);
    let mut header = vec![0xc3, 0x01];
    header.extend(Schema::parse(SCHEMA).unwrap().fingerprint().to_le_bytes());
    let framed: Vec<Vec<u8>> = raw
        .iter()
        .map(|record| [&header[..], record].concat())
        .collect();
    let mut single_objects = rows_decoder()
        .framing(Framing::SingleObject)
        .build()
        .unwrap();
    let batch = single_objects.decode(&framed).unwrap();
    assert_eq!(rows(&batch), (0..30).map(Row::new).collect::<Vec<_>>());
    let expected = rows_decoder().build().unwrap().decode(&raw).unwrap();
    assert_eq!(everything(&batch), everything(&expected));
}

/// If schemas differ only in documentation, any one of them is enough.
#[test]
fn schemas_of_one_fingerprint() {
    let documented = OLD.replace(
        "{\"name\": \"id\"",
        "{\"doc\": \"Whose.\", \"name\": \"id\"",
    );
    let documented = Schema::parse(&documented).unwrap();
    let schema = Schema::parse(OLD).unwrap();
    assert_eq!(documented.fingerprint(), schema.fingerprint());
    let features = [ColumnSpec::dense("id", &[], DType::Int32)];
    let decoder = MessageDecoder::builder(documented, features)
        .writer_schema(schema)
        .framing(Framing::SingleObject);
    let batch = decoder.build().unwrap().decode(&[old(9)]).unwrap();
    assert_eq!(batch.dense::<i32>("id").unwrap(), [9]);
}

#[test]
fn apache_reads_what_is_reencoded() {
    let reencoder = Reencoder::builder(Schema::parse(OLD).unwrap(), Schema::parse(NEW).unwrap())
        .writer_schema(Schema::parse(NEW).unwrap())
        .input_framing(Framing::SingleObject)
        .output_framing(Framing::SingleObject);
    let reencoder = reencoder.build().unwrap();
    let schema = apache_avro::Schema::parse_str(NEW).unwrap();
    let reader = GenericSingleObjectReader::builder()
        .schema(schema)
        .build()
        .unwrap();
    for (message, weight, text, id) in [
        (old(7), 0.5, "old 7", 7),
        (new(1 << 40, -2.0), -2.0, "new 1099511627776", 1 << 40),
    ] {
        let mut out = Vec::new();
        reencoder.reencode(&message, &mut out).unwrap();
        let found = reader.read_value(&mut out.as_slice()).unwrap();
        let expected = [
            ("weight", Value::Double(weight)),
            ("text", Value::String(text.to_owned())),
            ("id", Value::Long(id)),
        ];
        let expected = expected.map(|(name, value)| (name.to_owned(), value));
        assert_eq!(found, Value::Record(expected.to_vec()));
    }
}
