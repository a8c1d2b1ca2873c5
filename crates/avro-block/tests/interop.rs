//! This crate reads files of the `apache-avro` crate, and that crate reads files of this one.
#![allow(clippy::unwrap_used)]

use apache_avro::types::{Record, Value};
use apache_avro::{Bzip2Settings, DeflateSettings, Schema, XzSettings, ZstandardSettings};
use avro_block::{
    BlockIndex, BlockReader, Codec, DecompressBuffer, Decompressor, Writer, WriterOptions,
};

const SCHEMA: &str = r#"{
    "type": "record", "name": "r", "fields": [
        {"name": "id", "type": "long"},
        {"name": "text", "type": "string"},
        {"name": "values", "type": {"type": "array", "items": "double"}}
    ]
}"#;

fn theirs(codec: Codec) -> apache_avro::Codec {
    match codec {
        Codec::Null => apache_avro::Codec::Null,
        Codec::Deflate => apache_avro::Codec::Deflate(DeflateSettings::default()),
        Codec::Snappy => apache_avro::Codec::Snappy,
        Codec::Zstandard => apache_avro::Codec::Zstandard(ZstandardSettings::default()),
        Codec::Bzip2 => apache_avro::Codec::Bzip2(Bzip2Settings::default()),
        Codec::Xz => apache_avro::Codec::Xz(XzSettings::default()),
        other => panic!("{other} has no counterpart"),
    }
}

fn records(schema: &Schema) -> Vec<Value> {
    let record = |i: i64| {
        let mut record = Record::new(schema).unwrap();
        record.put("id", i * 1_000_003 - 77);
        record.put("text", format!("record {i}, später"));
        let values = (0..i % 9).map(|v| Value::Double(v as f64 / 3.0));
        record.put("values", Value::Array(values.collect()));
        record.into()
    };
    (0..400).map(record).collect()
}

fn encoded(schema: &Schema, records: &[Value]) -> Vec<Vec<u8>> {
    let encode = |value: &Value| {
        let writer = apache_avro::writer::datum::GenericDatumWriter::builder(schema)
            .build()
            .unwrap();
        writer.write_value_to_vec(value.clone()).unwrap()
    };
    records.iter().map(encode).collect()
}

#[test]
fn their_files_are_read() {
    let schema = Schema::parse_str(SCHEMA).unwrap();
    let records = records(&schema);
    let expected = encoded(&schema, &records).concat();
    for codec in Codec::ALL.into_iter().filter(|codec| codec.is_enabled()) {
        let mut writer =
            apache_avro::Writer::with_codec(&schema, Vec::new(), theirs(codec)).unwrap();
        writer.add_user_metadata("who".into(), b"they").unwrap();
        for chunk in records.chunks(150) {
            writer.extend_from_slice(chunk).unwrap();
            writer.flush().unwrap();
        }
        let file = writer.into_inner().unwrap();

        let blocks = BlockReader::new(&file[..]).unwrap();
        assert_eq!(blocks.header().codec(), codec);
        assert_eq!(blocks.header().get("who"), Some(&b"they"[..]));
        assert_eq!(Schema::parse_str(blocks.header().schema()).unwrap(), schema);
        let (mut decompressor, mut out) = (Decompressor::new(), DecompressBuffer::new());
        let (mut bytes, mut counts) = (Vec::new(), Vec::new());
        for block in blocks {
            let block = block.unwrap();
            decompressor
                .decompress(codec, &block.payload, &mut out, 1 << 20)
                .unwrap();
            bytes.extend_from_slice(&out);
            counts.push(block.count);
        }
        assert!(bytes == expected, "{codec}");
        assert_eq!(counts.iter().sum::<u64>(), 400, "{codec}");
        assert!(counts.len() >= 3, "{codec}: {counts:?}");

        let index = BlockIndex::from_bytes(&file.into()).unwrap();
        let indexed: Vec<_> = index.entries.iter().map(|entry| entry.count).collect();
        assert_eq!(indexed, counts);
    }
}

#[test]
fn our_files_are_read_by_them() {
    let schema = Schema::parse_str(SCHEMA).unwrap();
    let records = records(&schema);
    for codec in Codec::ALL.into_iter().filter(|codec| codec.is_enabled()) {
        let mut options = WriterOptions::with_codec(codec);
        options.block_bytes = 3000;
        options.metadata = vec![("who".into(), b"we".to_vec())];
        let mut writer = Writer::new(Vec::new(), SCHEMA, options).unwrap();
        for record in encoded(&schema, &records) {
            writer.append(&record).unwrap();
        }
        let file = writer.finish().unwrap();

        let reader = apache_avro::Reader::new(&file[..]).unwrap();
        assert_eq!(reader.writer_schema(), &schema);
        assert_eq!(reader.user_metadata()["who"], b"we");
        let read: Result<Vec<Value>, _> = reader.collect();
        assert!(read.unwrap() == records, "{codec}");
    }
}
