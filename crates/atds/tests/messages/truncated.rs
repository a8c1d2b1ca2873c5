//! A message that is cut at every byte, and a message with surplus bytes.

use atds::Error;
use atds::avro::Schema;
use atds::avro::messages::{Framing, Reencoder};

use crate::common::{Row, SCHEMA, rows};
use crate::{messages, rows_decoder};

/// Decodes `bad` between valid messages, and checks that the error is in `bad`.
fn error_of(bad: &[u8], framing: Framing) -> Error {
    let mut header = Vec::new();
    if framing == Framing::SingleObject {
        header.extend([0xc3, 0x01]);
        header.extend(Schema::parse(SCHEMA).unwrap().fingerprint().to_le_bytes());
    }
    let good = messages(0..8);
    let good: Vec<Vec<u8>> = good.iter().map(|m| [&header[..], m].concat()).collect();
    let mut decoder = rows_decoder().framing(framing).build().unwrap();
    for place in [0, 3, 8] {
        let mut all = good.clone();
        all.insert(place, [&header[..], bad].concat());
        let error = decoder.decode(&all).unwrap_err();
        assert_eq!(error.place.record, Some(place as u64), "{error}");
        // The messages before the bad one can be decoded without it.
        let batch = decoder.decode(&all[..place]).unwrap();
        let expected = (0..place as i64).map(Row::new);
        assert_eq!(rows(&batch), expected.collect::<Vec<_>>());
        if place == 8 {
            return error;
        }
    }
    unreachable!("the last place returns")
}

#[test]
fn a_message_that_ends_early_at_every_byte() {
    let whole = Row::new(11).encode();
    let schema = Schema::parse(SCHEMA).unwrap();
    let fingerprint = schema.fingerprint();
    let reencoder = Reencoder::new(schema.clone(), schema).unwrap();
    for end in 0..whole.len() {
        let cut = &whole[..end];
        let raw = error_of(cut, Framing::Raw);
        let offset = raw.place.offset.unwrap();
        assert!(offset <= end as u64, "{raw}");
        let field = raw.place.field.clone().unwrap();
        assert!(
            raw.to_string()
                .starts_with(&format!("message 8 at byte {offset}: field '{field}': ")),
            "{raw}"
        );

        let framed = error_of(cut, Framing::SingleObject);
        let expected = raw.to_string().replace(
            &format!("at byte {offset}:"),
            &format!("at byte {}:", offset + 10),
        );
        assert_eq!(
            framed.to_string(),
            format!("schema {fingerprint:016x}: {expected}")
        );

        let mut out = b"before".to_vec();
        let error = reencoder.reencode(cut, &mut out).unwrap_err();
        assert!(error.place.offset.unwrap() <= end as u64, "{error}");
        assert!(error.place.field.is_some(), "{error}");
        assert_eq!(out, b"before");
    }
}

#[test]
fn bytes_behind_the_record() {
    let mut message = Row::new(11).encode();
    let end = message.len();
    message.extend([0, 0, 0]);
    assert_eq!(
        error_of(&message, Framing::Raw).to_string(),
        format!(
            "message 8 at byte {end}: the record ends, and 3 bytes follow it; `tolerate` 'trailing-block-bytes' leaves them out"
        )
    );
    let fingerprint = Schema::parse(SCHEMA).unwrap().fingerprint();
    assert_eq!(
        error_of(&message, Framing::SingleObject).to_string(),
        format!(
            "schema {fingerprint:016x}: message 8 at byte {}: the record ends, and 3 bytes follow it; `tolerate` 'trailing-block-bytes' leaves them out",
            end + 10
        )
    );
}

/// A message with two records is an error.
#[test]
fn two_records_in_a_message() {
    let first = Row::new(11).encode();
    let message = [&first[..], &Row::new(12).encode()].concat();
    let error = error_of(&message, Framing::Raw);
    assert_eq!(error.place.offset, Some(first.len() as u64));
}

/// The number in an error counts from the first message, though messages are decoded in groups.
#[test]
fn one_of_many_messages() {
    let mut many = messages(0..20_000);
    assert!(many.iter().map(Vec::len).sum::<usize>() > 512 << 10);
    for bad in [0, 9_999, 19_999] {
        many[bad].push(0);
        let mut decoder = rows_decoder().build().unwrap();
        let error = decoder.decode(&many).unwrap_err();
        assert_eq!(error.place.record, Some(bad as u64), "{error}");
        many[bad].pop();
    }
}

#[test]
fn nothing_is_left_of_a_message_that_cannot_be_reencoded() {
    let schema = Schema::parse(SCHEMA).unwrap();
    let reencoder = Reencoder::builder(schema.clone(), schema)
        .output_framing(Framing::SingleObject)
        .build()
        .unwrap();
    let mut message = Row::new(11).encode();
    let end = message.len();
    let mut out = b"before".to_vec();
    let mut case = |message: &[u8], expected: &str| {
        let error = reencoder.reencode(message, &mut out).unwrap_err();
        assert_eq!(error.to_string(), expected);
        assert_eq!(out, b"before");
    };
    case(
        &message[..end - 1],
        &format!(
            "byte {}: field 'cells.values': the input ends inside a value",
            end - 1
        ),
    );
    message.extend([1, 2]);
    case(
        &message,
        &format!(
            "byte {end}: the record ends, and 2 bytes follow it; `tolerate` 'trailing-block-bytes' leaves them out"
        ),
    );
}
