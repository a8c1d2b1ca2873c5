//! Every error of decoding messages, with its whole message.

use atds::avro::Schema;
use atds::avro::messages::{Framing, MessageDecoder, MessageDecoderBuilder, Reencoder};
use atds::{ColumnSpec, DType, Feature, avro};

fn schema(fields: &str) -> Schema {
    let text = format!(r#"{{"type": "record", "name": "R", "fields": [{fields}]}}"#);
    Schema::parse(&text).unwrap()
}

const X: &str = r#"{"name": "x", "type": "int"}"#;
const Y: &str = r#"{"name": "y", "type": "int"}"#;

fn x_decoder(writer: Schema) -> MessageDecoderBuilder {
    MessageDecoder::builder(writer, [ColumnSpec::dense("x", &[], DType::Int32)])
}

fn build_error(decoder: MessageDecoderBuilder) -> String {
    decoder.build().unwrap_err().to_string()
}

#[test]
fn features_that_cannot_be() {
    let none = MessageDecoder::builder(schema(X), [] as [Feature; 0]);
    assert_eq!(build_error(none), "`features` must be at least one");
    let twice = [
        ColumnSpec::dense("x", &[], DType::Int32),
        ColumnSpec::dense("x", &[], DType::Int64),
    ];
    assert_eq!(
        build_error(MessageDecoder::builder(schema(X), twice)),
        "feature 'x': the name is given twice"
    );
    let x = |mask: &str| {
        let x = Feature::from(ColumnSpec::dense("x", &[], DType::Int32));
        x.with_mask(mask)
    };
    let a = Feature::from(ColumnSpec::dense("a", &[], DType::Int32)).with_row_mask("m");
    for (features, expected) in [
        (
            vec![x("a"), a.clone()],
            "feature 'x': its mask 'a' has the name of another column: give it a name of its own",
        ),
        (
            vec![x("m"), a],
            "feature 'a': its mask 'm' has the name of another column: give it a name of its own",
        ),
        (
            vec![x("x")],
            "feature 'x': its mask 'x' has the name of another column: give it a name of its own",
        ),
    ] {
        let builder = MessageDecoder::builder(schema(X), features);
        assert_eq!(build_error(builder), expected);
    }
}

#[test]
fn schemas_without_the_features() {
    assert_eq!(
        build_error(x_decoder(schema(Y))),
        "feature 'x': the schema has no field 'x': the record 'R' has 'y'"
    );
    let reader = schema(r#"{"name": "x", "type": "string"}"#);
    assert_eq!(
        build_error(x_decoder(schema(X)).reader_schema(reader)),
        "field 'x': int cannot be read as string"
    );
}

#[test]
fn one_of_several_schemas_without_the_features() {
    let other = schema(Y);
    let fingerprint = other.fingerprint();
    let decoder = x_decoder(schema(X)).writer_schema(other);
    assert_eq!(
        build_error(decoder.clone().framing(Framing::SingleObject)),
        format!(
            "schema {fingerprint:016x}: feature 'x': the schema has no field 'x': the record \
             'R' has 'y'; another \
         writer's schema has it: give the feature a `default` or a `mask`, or read all \
         files with a `reader_schema` that has a default for the field"
        )
    );
    assert_eq!(
        build_error(decoder),
        "`writer_schema` must be one only, unless messages are single objects, whose header names their schema"
    );
}

/// A fingerprint is that of the canonical form, which leaves out logical types.
#[test]
fn schemas_that_messages_do_not_tell_apart() {
    let millis = schema(
        r#"{"name": "x", "type": "int"},
           {"name": "t", "type": {"type": "long", "logicalType": "timestamp-millis"}}"#,
    );
    let micros = schema(
        r#"{"name": "x", "type": "int"},
           {"name": "t", "type": {"type": "long", "logicalType": "timestamp-micros"}}"#,
    );
    let fingerprint = millis.fingerprint();
    assert_eq!(micros.fingerprint(), fingerprint);
    let decoder = x_decoder(millis).writer_schema(micros);
    assert_eq!(
        build_error(decoder.framing(Framing::SingleObject)),
        format!(
            "schema {fingerprint:016x}: two writer schemas have this fingerprint but differ \
             in their logical types, and messages do not say which one they have"
        )
    );
}

#[test]
fn headers() {
    let known = schema(X);
    let mut good = vec![0xc3, 0x01];
    good.extend(known.fingerprint().to_le_bytes());
    good.push(84);
    let mut decoder = x_decoder(known.clone())
        .framing(Framing::SingleObject)
        .build()
        .unwrap();
    let reencoder = Reencoder::builder(known.clone(), known)
        .input_framing(Framing::SingleObject)
        .build()
        .unwrap();
    let mut case = |bad: &[u8], expected: &str| {
        for place in 0..3 {
            let mut all = vec![&good[..]; 2];
            all.insert(place, bad);
            let error = decoder.decode(&all).unwrap_err();
            assert_eq!(error.to_string(), format!("message {place}: {expected}"));
            assert_eq!(error.place.record, Some(place as u64));
        }
        let batch = decoder.decode(&[&good, &good]).unwrap();
        assert_eq!(batch.dense::<i32>("x").unwrap(), [42, 42]);

        let mut out = vec![1, 2, 3];
        let error = reencoder.reencode(bad, &mut out).unwrap_err();
        assert_eq!(error.to_string(), expected);
        assert_eq!(out, [1, 2, 3]);
    };
    for length in 0..10 {
        case(
            &good[..length],
            &format!(
                "{length} byte{}, fewer than the 10 of a single object's header",
                if length == 1 { "" } else { "s" }
            ),
        );
    }
    let mut other_format = good.clone();
    other_format[0] = b'O';
    case(
        &other_format,
        "the first bytes are 4f 01, not the marker c3 01 of a single object",
    );
    let mut other_version = good.clone();
    other_version[1] = 2;
    case(
        &other_version,
        "the first bytes are c3 02, not the marker c3 01 of a single object",
    );
    let mut other_schema = good.clone();
    other_schema[2..10].copy_from_slice(&0x1234_u64.to_le_bytes());
    case(
        &other_schema,
        "the message's schema has the fingerprint 0000000000001234, which none of the writer \
         schemas has",
    );
}

#[test]
fn records_that_do_not_fit() {
    let text = schema(r#"{"name": "s", "type": "string"}, {"name": "x", "type": ["null", "int"]}"#);
    let mut decoder = x_decoder(text.clone()).build().unwrap();
    let mut case = |message: &[u8], expected: &str| {
        let error = decoder.decode(&[b"\x02a\x02\x54", message]).unwrap_err();
        assert_eq!(error.to_string(), expected);
    };
    case(
        b"\x02a\x00",
        "message 1 at byte 2: field 'x': a null, where the feature has neither a `default` nor a `mask`",
    );
    case(
        b"\x02a\x04",
        "message 1 at byte 2: field 'x': union branch 2 where there are 2",
    );
    case(
        b"\x02a\x02\xff\xff\xff\xff\xff\x01",
        "message 1 at byte 3: field 'x': a varint is longer than its type allows",
    );
    case(
        b"\x01",
        "message 1 at byte 0: field 's': a length is negative: -1",
    );
    case(
        b"\x04a",
        "message 1 at byte 0: field 's': a length of 2 bytes where 1 is left",
    );
    case(
        b"",
        "message 1 at byte 0: field 's': the input ends inside a value",
    );
    case(
        b"\x02a\x02\x54\x00",
        "message 1 at byte 4: the record ends, and 1 byte follows it; `tolerate` 'trailing-block-bytes' leaves it out",
    );

    let reencoder = Reencoder::new(text.clone(), text).unwrap();
    let error = reencoder
        .reencode(b"\x02\xff\x00", &mut Vec::new())
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "byte 0: field 's': a string is not UTF-8: ask for `dtype` 'bytes', or replace invalid bytes with `tolerate` 'utf8'"
    );
}

#[test]
fn schemas_that_cannot_be_resolved() {
    let reader = schema(r#"{"name": "x", "type": "boolean"}"#);
    let error = Reencoder::new(schema(X), reader.clone()).unwrap_err();
    assert!(matches!(
        error.kind.avro(),
        Some(avro::ErrorKind::Resolve(_))
    ));
    assert_eq!(
        error.to_string(),
        "field 'x': int cannot be read as boolean"
    );
    let other = schema(Y);
    let fingerprint = other.fingerprint();
    let several = Reencoder::builder(schema(r#"{"name": "x", "type": "boolean"}"#), reader)
        .writer_schema(other);
    let error = several
        .clone()
        .input_framing(Framing::SingleObject)
        .build()
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "schema {fingerprint:016x}: field 'x': the writer's record 'R' has no such field, and \
             the reader's field has no default"
        )
    );
    assert_eq!(
        several.build().unwrap_err().to_string(),
        "`writer_schema` must be one only, unless messages are single objects, whose header names their schema"
    );
}
