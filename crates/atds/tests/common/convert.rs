//! Files to convert, and what comes of it.

// Each test binary uses a part of this module.
#![allow(dead_code, unreachable_pub)]

use std::fs;
use std::path::{Path, PathBuf};

use atds::convert::{ConvertError, ConvertOptions, Converted, LossKind, convert_with};
use atds::records::Records;
use atds::write::{AvroFile, AvroOptions, Value};
use atds::{Error, ErrorKind};
use atds_tfrecord::{Example, FeatureValues};
use serde_json::Value as Json;

/// An Avro file of these values.
pub fn avro(dir: &Path, name: &str, schema: &Json, values: &[Value]) -> PathBuf {
    let path = dir.join(name);
    let mut options = AvroOptions::default();
    options.block_bytes = 64;
    let mut file = AvroFile::create(&path, &schema.to_string(), &options).unwrap();
    for value in values {
        file.write(value).unwrap();
    }
    file.finish().unwrap();
    path
}

pub fn write(dir: &Path, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
    let path = dir.join(name);
    fs::write(&path, bytes).unwrap();
    path
}

pub fn tfrecord(dir: &Path, name: &str, examples: &[Example]) -> PathBuf {
    let mut writer = atds_tfrecord::Writer::new(Vec::new());
    for example in examples {
        let mut record = Vec::new();
        example.encode(&mut record);
        writer.write(&record).unwrap();
    }
    write(dir, name, writer.finish().unwrap())
}

pub fn example(features: &[(&str, FeatureValues)]) -> Example {
    let mut example = Example::default();
    let features = features.iter();
    example.features = features
        .map(|(key, values)| ((*key).to_owned(), values.clone()))
        .collect();
    example
}

pub fn all(path: impl AsRef<Path>) -> Vec<Json> {
    Records::open(path).unwrap().map(Result::unwrap).collect()
}

pub fn with(
    input: &Path,
    output: &Path,
    set: impl FnOnce(&mut ConvertOptions),
) -> Result<Converted, Error> {
    let mut options = ConvertOptions::default();
    set(&mut options);
    convert_with(input, output, &options, |_| ())
}

/// The kind of a conversion's error, its record and its field.
#[track_caller]
pub fn fault(result: Result<Converted, Error>) -> (ConvertError, Option<u64>, Option<String>) {
    let error = result.unwrap_err();
    match error.kind {
        ErrorKind::Convert(kind) => (*kind, error.place.record, error.place.field),
        _ => panic!("{error}"),
    }
}

#[track_caller]
pub fn no_place(result: Result<Converted, Error>) -> (LossKind, u64, String) {
    match fault(result) {
        (ConvertError::NoPlace { kind, .. }, record, field) => {
            (kind, record.unwrap(), field.unwrap())
        }
        other => panic!("{other:?}"),
    }
}
