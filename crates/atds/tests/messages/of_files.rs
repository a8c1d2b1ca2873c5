//! The records of files as messages.

use std::path::Path;
use std::sync::Arc;

use atds::avro::Schema;
use atds::avro::messages::Reencoder;
use atds::avro::records::{EncodedRecords, RecordOptions};
use atds::{Codec, Error, ErrorKind, avro};

use crate::common::{CODECS, Folder, SCHEMA, container, rows_file};
use crate::messages;

/// A schema of fewer fields, in another order.
const READER: &str = r#"{"type": "record", "name": "Row", "fields": [
    {"name": "text", "type": "string"},
    {"name": "id", "type": "double"}]}"#;

/// The records before the first error, and the error.
fn read(path: &Path, reader: Option<&str>) -> (Vec<Vec<u8>>, Option<Error>) {
    let reader = reader.map(|text| Arc::new(Schema::parse(text).unwrap()));
    let mut records = match EncodedRecords::open(path, reader) {
        Ok(records) => records,
        Err(error) => return (Vec::new(), Some(error)),
    };
    let mut all = Vec::new();
    loop {
        let mut record = Vec::new();
        match records.next_into(&mut record) {
            Ok(true) => all.push(record),
            Ok(false) => return (all, None),
            Err(error) => {
                assert!(record.is_empty());
                assert!(!records.next_into(&mut record).unwrap(), "it is over");
                return (all, Some(error));
            }
        }
    }
}

/// The messages, re-encoded with the schema `reader`.
fn reencoded(messages: &[Vec<u8>], reader: &str) -> Vec<Vec<u8>> {
    let schema = |text| Schema::parse(text).unwrap();
    let reencoder = Reencoder::new(schema(SCHEMA), schema(reader)).unwrap();
    let reencode = |message: &Vec<u8>| {
        let mut out = Vec::new();
        reencoder.reencode(message, &mut out).unwrap();
        out
    };
    messages.iter().map(reencode).collect()
}

#[test]
fn records_are_encoded_by_their_schema_or_a_readers() {
    let folder = Folder::new();
    for codec in CODECS {
        let path = folder.write("rows.avro", &rows_file(0..100, 7, codec));
        for reader in [None, Some(SCHEMA), Some(READER)] {
            let (found, error) = read(&path, reader);
            assert!(error.is_none(), "{codec:?}: {error:?}");
            let expected = reencoded(&messages(0..100), reader.unwrap_or(SCHEMA));
            assert_eq!(found, expected, "{codec:?}, {reader:?}");
        }
    }
}

#[test]
fn an_error_comes_behind_the_records_before_it() {
    let folder = Folder::new();
    let mut block: Vec<u8> = messages(0..3).concat();
    block.truncate(block.len() - 1);
    let blocks = [(3, messages(3..6).concat()), (3, block)];
    let path = folder.write("cut.avro", &container(SCHEMA, Codec::Null, blocks));
    let (found, error) = read(&path, None);
    assert_eq!(found.len(), 5);
    let error = error.unwrap();
    assert!(
        matches!(error.kind.avro(), Some(avro::ErrorKind::Decode(_))),
        "{error}"
    );
    let place = &error.place;
    assert_eq!((place.block, place.record), (Some(1), Some(2)));
    assert_eq!(place.location, Some(path.into()));
}

#[test]
fn what_cannot_be_opened() {
    let folder = Folder::new();
    let missing = read(&folder.join("missing.avro"), None).1.unwrap();
    assert!(matches!(missing.kind, ErrorKind::Io(_)), "{missing}");
    let path = folder.write("rows.avro", &rows_file(0..1, 1, Codec::Null));
    let other = r#"{"type": "record", "name": "Row", "fields": [{"name": "q", "type": "int"}]}"#;
    let error = read(&path, Some(other)).1.unwrap();
    assert!(
        matches!(error.kind.avro(), Some(avro::ErrorKind::Resolve(_))),
        "{error}"
    );
    for size in [0, usize::MAX] {
        let mut options = RecordOptions::default();
        options.buffer_size = size;
        let error = EncodedRecords::open_with(&path, None, &options).unwrap_err();
        assert!(matches!(error.kind, ErrorKind::Option { .. }), "{error}");
    }
}
