//! A column has one meaning in the messages of all writers.

use atds::avro::Schema;
use atds::avro::messages::{Framing, MessageDecoder, Reencoder};
use atds::avro::records::EncodedRecords;
use atds::{Codec, Error};
use avro_decode::single_object;

use crate::common::meanings::{KINDS, Kind, READ_AS, ReadAs, SAMPLES};
use crate::common::{Folder, container};

fn schema(kind: Kind) -> Schema {
    // A fingerprint leaves out logical types, so a field with a name of its own tells the schemas
    // apart.
    let mark = KINDS.iter().position(|known| *known == kind).unwrap();
    let schema = kind.schema();
    let fields = r#""fields": ["#;
    let with_mark = format!(r#"{fields}{{"name": "m{mark}", "type": "null"}}, "#);
    Schema::parse(&schema.replace(fields, &with_mark)).unwrap()
}

fn messages(kind: Kind) -> Vec<Vec<u8>> {
    let header = single_object::header(schema(kind).fingerprint());
    let message = |sample| [&header[..], &kind.record(sample)].concat();
    SAMPLES.map(message).into()
}

fn read(first: Kind, second: Kind, form: ReadAs) -> Result<Vec<String>, Error> {
    let decoder = MessageDecoder::builder(schema(first), [form.feature()])
        .framing(Framing::SingleObject)
        .writer_schema(schema(second));
    let messages = [messages(first), messages(second)].concat();
    Ok(form.column(&decoder.build()?.decode(&messages)?))
}

#[test]
fn every_pair_of_types_is_converted_or_an_error_that_names_both_schemas() {
    for form in READ_AS {
        for first in KINDS.into_iter().filter(|&kind| form.reads(kind)) {
            for second in KINDS.into_iter().filter(|&kind| form.reads(kind)) {
                let pair = format!("{first:?}, then {second:?}, as {form:?}");
                let kinds = [first, second].into_iter();
                let kinds = kinds.flat_map(|kind| SAMPLES.map(|sample| (kind, sample)));
                let expected: Option<Vec<_>> = kinds
                    .map(|(kind, sample)| form.expected(first, kind, sample))
                    .collect();
                match (read(first, second, form), expected) {
                    (Ok(found), Some(expected)) => assert_eq!(found, expected, "{pair}"),
                    (Err(error), None) => {
                        let [first, second] =
                            [first, second].map(|kind| schema(kind).fingerprint());
                        let error = error.to_string();
                        let start = format!("schema {second:016x}: feature 'x': the values are ");
                        let origin = format!(" in schema {first:016x}, which fixed");
                        assert!(error.starts_with(&start), "{pair}: {error}");
                        assert!(error.contains(&origin), "{pair}: {error}");
                    }
                    (found, expected) => panic!("{pair}: {found:?}, not {expected:?}"),
                }
            }
        }
    }
}

#[test]
fn a_reader_s_schema_says_what_the_column_holds() {
    let decoder = MessageDecoder::builder(
        schema(Kind::Time("timestamp-millis")),
        [ReadAs::Int64.feature()],
    )
    .framing(Framing::SingleObject)
    .writer_schema(schema(Kind::Time("timestamp-micros")))
    .reader_schema(Schema::parse(&Kind::Time("timestamp-nanos").schema()).unwrap());
    let messages = [
        messages(Kind::Time("timestamp-millis")),
        messages(Kind::Time("timestamp-micros")),
    ];
    let batch = decoder.build().unwrap().decode(&messages.concat()).unwrap();
    let found = ReadAs::Int64.column(&batch);
    assert_eq!(found, ["0", "1000000", "2000000", "0", "1000", "2000"]);
}

#[test]
fn the_records_of_a_file_are_in_the_reader_s_unit() {
    let folder = Folder::new();
    let millis = Kind::Time("timestamp-millis");
    let records = SAMPLES.map(|sample| millis.record(sample)).concat();
    let file = container(&millis.schema(), Codec::Null, [(3, records)]);
    let path = folder.write("a.avro", &file);
    let reader = Schema::parse(&Kind::Time("timestamp-micros").schema()).unwrap();
    let mut records = EncodedRecords::open(&path, Some(reader.into())).unwrap();
    let mut found = Vec::new();
    while records.next_into(&mut found).unwrap() {}
    // The zig-zag encodings of 0, 1000 and 2000.
    assert_eq!(found, [0, 0xd0, 0x0f, 0xa0, 0x1f]);
    write_and_refuse(&folder);
}

/// A time that would have to be rounded is an error.
fn write_and_refuse(folder: &Folder) {
    let micros = Kind::Time("timestamp-micros");
    let file = container(&micros.schema(), Codec::Null, [(1, micros.record(1))]);
    let path = folder.write("b.avro", &file);
    let reader = Schema::parse(&Kind::Time("timestamp-millis").schema()).unwrap();
    let error = EncodedRecords::open(&path, Some(reader.into())).unwrap_err();
    let error = folder.message(&error);
    assert!(error.starts_with("b.avro: field 'x': "), "{error}");
}

#[test]
fn re_encoded_times_are_in_the_reader_s_unit() {
    let parse = |name| Schema::parse(&Kind::Time(name).schema()).unwrap();
    let record = |name, sample| Kind::Time(name).record(sample);
    let reencoder = Reencoder::new(parse("timestamp-millis"), parse("timestamp-micros")).unwrap();
    let mut out = Vec::new();
    reencoder
        .reencode(&record("timestamp-millis", 2), &mut out)
        .unwrap();
    // The zig-zag encoding of 2000.
    assert_eq!(out, [0xa0, 0x1f]);
    let error = Reencoder::new(parse("timestamp-micros"), parse("timestamp-millis")).unwrap_err();
    assert_eq!(
        error.to_string(),
        "field 'x': long cannot be read as long: timestamp-micros does not become \
         timestamp-millis without a loss; the reader's type must have the finer unit"
    );
}
