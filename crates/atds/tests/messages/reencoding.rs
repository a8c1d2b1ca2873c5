//! Re-encoding, compared with decoding directly with the reader's schema.

use atds::avro::Schema;
use atds::avro::messages::{Framing, MessageDecoder, Reencoder};
use atds::{ColumnSpec, DType};

use crate::common::SCHEMA;
use crate::{everything, messages};

/// [`SCHEMA`] with fields renamed, promoted, reordered, added and left out.
const READER: &str = r#"{"type": "record", "name": "Row", "fields": [
    {"name": "cells", "type": {"type": "record", "name": "Cells", "fields": [
        {"name": "values", "type": {"type": "array", "items": "double"}},
        {"name": "indices0", "type": {"type": "array", "items": "long"}}]}},
    {"name": "added", "type": ["long", "null"], "default": 5},
    {"name": "numbers", "aliases": ["list"], "type": {"type": "array", "items": "double"}},
    {"name": "id", "type": "float"},
    {"name": "text", "type": "bytes"}]}"#;

fn features() -> [ColumnSpec; 5] {
    [
        ColumnSpec::sparse("cells", &[100], DType::Float64),
        ColumnSpec::dense("added", &[], DType::Int64),
        ColumnSpec::varlen("numbers", &[-1], DType::Float64),
        ColumnSpec::dense("id", &[], DType::Float32),
        ColumnSpec::dense("text", &[], DType::String),
    ]
}

#[test]
fn reencoded_and_decoded_is_decoded_by_the_readers_schema() {
    let writer = Schema::parse(SCHEMA).unwrap();
    let reader = Schema::parse(READER).unwrap();
    let messages = messages(0..60);

    let reencoder = Reencoder::new(writer.clone(), reader.clone()).unwrap();
    let mut out = Vec::new();
    let reencoded: Vec<Vec<u8>> = messages
        .iter()
        .map(|message| {
            out.clear();
            reencoder.reencode(message, &mut out).unwrap();
            out.clone()
        })
        .collect();
    let mut plain = MessageDecoder::builder(reader.clone(), features())
        .build()
        .unwrap();
    let found = plain.decode(&reencoded).unwrap();

    let mut resolving = MessageDecoder::builder(writer, features())
        .reader_schema(reader)
        .build()
        .unwrap();
    let expected = resolving.decode(&messages).unwrap();
    assert_eq!(everything(&found), everything(&expected));
    assert_eq!(found.dense::<i64>("added").unwrap(), [5; 60]);
    assert_eq!(found.dense::<f32>("id").unwrap()[59], 59.0);
}

#[test]
fn framings() {
    let writer = Schema::parse(SCHEMA).unwrap();
    let reader = Schema::parse(READER).unwrap();
    let header = |schema: &Schema| {
        let mut header = vec![0xc3, 0x01];
        header.extend(schema.fingerprint().to_le_bytes());
        header
    };
    let record = &messages([17])[0];
    let mut expected = Vec::new();
    Reencoder::new(writer.clone(), reader.clone())
        .unwrap()
        .reencode(record, &mut expected)
        .unwrap();
    let both = [Framing::Raw, Framing::SingleObject];
    for (input, output) in both.into_iter().flat_map(|i| both.map(|o| (i, o))) {
        let mut message = match input {
            Framing::SingleObject => header(&writer),
            _ => Vec::new(),
        };
        message.extend_from_slice(record);
        // Bytes that are already in the output stay.
        let mut all = b"before".to_vec();
        if output == Framing::SingleObject {
            all.extend(header(&reader));
        }
        all.extend(&expected);
        let reencoder = Reencoder::builder(writer.clone(), reader.clone())
            .input_framing(input)
            .output_framing(output)
            .build()
            .unwrap();
        let mut out = b"before".to_vec();
        reencoder.reencode(&message, &mut out).unwrap();
        assert_eq!(out, all, "{input:?} to {output:?}");
    }
}
