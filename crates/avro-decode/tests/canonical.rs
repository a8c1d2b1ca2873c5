//! The canonical form, the fingerprint and single objects: compared with the specification and with
//! the `apache-avro` crate.

#![allow(clippy::unwrap_used)]

mod common;

use apache_avro::rabin::Rabin;
use avro_decode::single_object::{self, HEADER_LEN, SingleObjectError};
use avro_decode::{Schema, SchemaError};
use common::arb_schema_json;
use proptest::prelude::*;

fn canonical(text: &str) -> Result<String, SchemaError> {
    Ok(Schema::parse(text)?.canonical_form())
}

#[test]
fn each_transformation() {
    let check = |text: &str, expected: &str| assert_eq!(canonical(text).unwrap(), expected);
    // PRIMITIVES, and STRIP for the logical type.
    check(r#"{"type": "int"}"#, r#""int""#);
    check(r#"{"type": "int", "logicalType": "date"}"#, r#""int""#);
    // FULLNAMES, for definitions and references.
    check(
        r#"{"type": "record", "name": "A", "namespace": "x.y", "fields": [
            {"name": "a", "type": ["null", "A"]},
            {"name": "b", "type": {"type": "fixed", "name": "z.F", "size": 3}},
            {"name": "c", "type": "z.F"}
        ]}"#,
        concat!(
            r#"{"name":"x.y.A","type":"record","fields":["#,
            r#"{"name":"a","type":["null","x.y.A"]},"#,
            r#"{"name":"b","type":{"name":"z.F","type":"fixed","size":3}},"#,
            r#"{"name":"c","type":"z.F"}]}"#
        ),
    );
    // STRIP and ORDER.
    check(
        r#"{"symbols": ["A", "B"], "default": "A", "doc": "d", "aliases": ["X"], "name": "E", "type": "enum", "extra": 1}"#,
        r#"{"name":"E","type":"enum","symbols":["A","B"]}"#,
    );
    check(
        r#"{"fields": [{"order": "ignore", "default": 1, "doc": "d", "type": "int", "aliases": ["g"], "name": "f"}],
            "name": "R", "type": "record"}"#,
        r#"{"name":"R","type":"record","fields":[{"name":"f","type":"int"}]}"#,
    );
    check(
        r#"{"items": "int", "type": "array"}"#,
        r#"{"type":"array","items":"int"}"#,
    );
    check(
        r#"{"values": "int", "type": "map"}"#,
        r#"{"type":"map","values":"int"}"#,
    );
    // STRINGS, INTEGERS and WHITESPACE.
    check(
        "{ \"\\u0074ype\" : \"fixed\" ,\n \"name\": \"\\u0046\", \"size\": 16 }",
        r#"{"name":"F","type":"fixed","size":16}"#,
    );
    check(
        r#"{"type": "record", "name": "R", "fields": []}"#,
        r#"{"name":"R","type":"record","fields":[]}"#,
    );
}

/// Data from Apache Avro's own tests of schema normalization.
#[test]
fn fingerprints_that_are_known() {
    for (text, fingerprint) in [
        (r#""null""#, 7195948357588979594_i64),
        (r#"{"type": "null"}"#, 7195948357588979594),
        (r#""boolean""#, -6970731678124411036),
        (r#""int""#, 8247732601305521295),
        (
            r#"{"type": "fixed", "name": "foo", "size": 15}"#,
            1756455273707447556,
        ),
        (
            r#"{"fields": [{"type": ["null", "int", "long", "PigValue"], "name": "value"}], "type": "record", "name": "PigValue"}"#,
            -1759257747318642341,
        ),
    ] {
        let schema = Schema::parse(text).unwrap();
        assert_eq!(schema.fingerprint() as i64, fingerprint, "{text}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn apache_has_the_same(json in arb_schema_json()) {
        let text = json.to_string();
        let (ours, theirs) = (Schema::parse(&text).unwrap(), apache_avro::Schema::parse_str(&text).unwrap());
        prop_assert_eq!(ours.canonical_form(), theirs.canonical_form());
        let fingerprint = theirs.fingerprint::<Rabin>();
        prop_assert_eq!(ours.fingerprint().to_le_bytes().to_vec(), fingerprint.bytes);
    }

    #[test]
    fn the_canonical_form_is_its_own(json in arb_schema_json()) {
        let form = canonical(&json.to_string()).unwrap();
        prop_assert_eq!(canonical(&form).unwrap(), form);
    }
}

#[test]
fn single_objects() {
    let schema = r#"{"type": "record", "name": "R", "fields": [{"name": "a", "type": "long"}]}"#;
    let fingerprint = Schema::parse(schema).unwrap().fingerprint();
    let theirs = apache_avro::Schema::parse_str(schema).unwrap();
    let mut writer =
        apache_avro::GenericSingleObjectWriter::new_with_capacity(&theirs, 16).unwrap();
    let record =
        apache_avro::types::Value::Record(vec![("a".into(), apache_avro::types::Value::Long(5))]);
    let mut message = Vec::new();
    writer.write_value(record, &mut message).unwrap();
    assert_eq!(message[..HEADER_LEN], single_object::header(fingerprint));
    assert_eq!(single_object::split(&message), Ok((fingerprint, &[10][..])));
    assert_eq!(single_object::strip(&message, fingerprint), Ok(&[10][..]));
    // A record may have no bytes.
    assert_eq!(
        single_object::strip(&message[..HEADER_LEN], fingerprint),
        Ok(&[][..])
    );
}

#[test]
fn messages_that_are_no_single_objects() {
    let refused =
        |message: &[u8]| single_object::strip(message, 0x0123_4567_89ab_cdef).unwrap_err();
    let good = single_object::header(0x0123_4567_89ab_cdef);
    assert_eq!(
        good,
        [0xc3, 0x01, 0xef, 0xcd, 0xab, 0x89, 0x67, 0x45, 0x23, 0x01]
    );

    let error = refused(&good[..9]);
    assert_eq!(error, SingleObjectError::TooShort { len: 9 });
    assert_eq!(
        error.to_string(),
        "9 bytes, fewer than the 10 of a single object's header"
    );

    let error = refused(&[&[0xc3, 0x0a], &good[2..]].concat());
    assert_eq!(
        error,
        SingleObjectError::BadMarker {
            found: [0xc3, 0x0a]
        }
    );
    assert_eq!(
        error.to_string(),
        "the first bytes are c3 0a, not the marker c3 01 of a single object"
    );

    let error = refused(&single_object::header(0xff));
    assert_eq!(
        error,
        SingleObjectError::OtherSchema {
            expected: 0x0123_4567_89ab_cdef,
            found: 0xff
        }
    );
    assert_eq!(
        error.to_string(),
        "the schema's fingerprint is 00000000000000ff, not 0123456789abcdef"
    );
}
