//! Reads values of one schema as another's, with the reference and the transcoder.

use std::sync::Arc;

use avro_decode::encode::{EncodeOptions, encode};
use avro_decode::{
    DecodeError, Resolution, ResolveError, Schema, Transcoder, Value, ValueError, reference,
};

use super::agreement::agree;

pub(crate) fn schema(json: &str) -> Arc<Schema> {
    Arc::new(Schema::parse(json).unwrap())
}

/// A record `R` with these fields.
pub(crate) fn record(fields: &str) -> String {
    format!(r#"{{"type": "record", "name": "R", "fields": [{fields}]}}"#)
}

pub(crate) fn resolution(writer: &str, reader: &str) -> Resolution {
    Resolution::new(schema(writer), schema(reader)).unwrap()
}

pub(crate) fn refused(writer: &str, reader: &str) -> ResolveError {
    match Resolution::new(schema(writer), schema(reader)) {
        Ok(_) => panic!("{writer} is read as {reader}"),
        Err(error) => error,
    }
}

/// The value, resolved to the reader's schema.
#[track_caller]
pub(crate) fn read(writer: &str, reader: &str, value: &Value) -> Value {
    let resolution = resolution(writer, reader);
    let data = encoded(&resolution.writer, value);
    agree(&resolution, &data).expect("the value can be read")
}

/// The errors of the reference and the transcoder for a value that cannot be read.
pub(crate) fn fails(writer: &str, reader: &str, value: &Value) -> (ValueError, DecodeError) {
    let resolution = resolution(writer, reader);
    let data = encoded(&resolution.writer, value);
    let slow = reference::resolve(&resolution, value).unwrap_err();
    let fast = Transcoder::new(&resolution).transcode(&data, &mut Vec::new());
    (slow, fast.unwrap_err())
}

pub(crate) fn encoded(schema: &Schema, value: &Value) -> Vec<u8> {
    let mut data = Vec::new();
    encode(
        schema,
        schema.root(),
        value,
        &mut data,
        &EncodeOptions::default(),
    )
    .unwrap();
    data
}
