//! Payloads that their codec cannot decompress.

use atds::Codec;
use avro_decode::encode::write_long;

use crate::Messages;
use crate::common::{Row, SYNC, rows_file};

/// A file of one block of one record, with this payload.
fn with_payload(codec: Codec, payload: &[u8]) -> Vec<u8> {
    let mut bytes = rows_file([], 1, codec);
    write_long(&mut bytes, 1);
    write_long(&mut bytes, payload.len() as i64);
    bytes.extend(payload);
    bytes.extend(SYNC.0);
    bytes
}

/// A record's payload as the codec writes it.
fn payload(codec: Codec) -> Vec<u8> {
    let mut compressor = avro_block::Compressor::new(codec, None).unwrap();
    let mut payload = Vec::new();
    compressor
        .compress(&Row::new(5).encode(), &mut payload)
        .unwrap();
    payload
}

/// Checks the messages for a payload of ones, half a payload and an empty one.
fn check(codec: Codec, ones: &str, half: &str, empty: &str) {
    let mut messages = Messages::default();
    let good = payload(codec);
    let mut case = |what: &str, payload: &[u8], expected: &str| {
        messages.file(what, &with_payload(codec, payload), expected);
    };
    case("good", &good, "no error");
    case("ones", &[0xff; 40], ones);
    case("half", &good[..good.len() / 2], half);
    case("empty", &[], empty);
}

#[test]
fn deflate() {
    check(
        Codec::Deflate,
        "x.avro: block 0 at byte 608: corrupt deflate payload: not a deflate stream, or one that ends early",
        "x.avro: block 0 at byte 608: corrupt deflate payload: not a deflate stream, or one that ends early",
        "x.avro: block 0 at byte 608: corrupt deflate payload: not a deflate stream, or one that ends early",
    );
}

#[test]
fn snappy() {
    check(
        Codec::Snappy,
        "x.avro: block 0 at byte 607: corrupt snappy payload: invalid length",
        "x.avro: block 0 at byte 607: corrupt snappy payload: a literal does not fit",
        "x.avro: block 0 at byte 607: the snappy payload ends early",
    );
}

#[test]
fn zstandard() {
    check(
        Codec::Zstandard,
        "x.avro: block 0 at byte 610: corrupt zstandard payload: Unknown frame descriptor",
        "x.avro: block 0 at byte 610: the zstandard payload ends early",
        "x.avro: block 0 at byte 610: the zstandard payload ends early",
    );
}

#[test]
fn bzip2() {
    check(
        Codec::Bzip2,
        "x.avro: block 0 at byte 606: corrupt bzip2 payload: not a bzip2 stream",
        "x.avro: block 0 at byte 606: the bzip2 payload ends early",
        "x.avro: block 0 at byte 606: the bzip2 payload ends early",
    );
}

#[test]
fn xz() {
    check(
        Codec::Xz,
        "x.avro: block 0 at byte 603: corrupt xz payload: not an xz stream",
        "x.avro: block 0 at byte 603: the xz payload ends early",
        "x.avro: block 0 at byte 603: the xz payload ends early",
    );
}

#[test]
fn a_wrong_checksum_of_snappy() {
    let mut messages = Messages::default();
    let mut bytes = payload(Codec::Snappy);
    *bytes.last_mut().unwrap() ^= 0x55;
    messages.file("CRC", &with_payload(Codec::Snappy, &bytes), "x.avro: block 0 at byte 607: checksum 9d578400 of the decompressed payload is not 9d578455 as stored; `tolerate` 'checksum' reads it nevertheless");
}

/// A changed byte in a compressed payload gives an error or the same records. A codec without a
/// checksum can also give other records.
#[test]
fn any_byte_changed_gives_no_panic_and_with_a_checksum_no_other_value() {
    for codec in [Codec::Snappy, Codec::Bzip2, Codec::Xz] {
        let good = rows_file(0..8, 8, codec);
        let header = rows_file([], 1, codec).len();
        for at in header + 4..good.len() {
            let mut bytes = good.clone();
            bytes[at] ^= 0x10;
            let folder = crate::common::Folder::new();
            folder.write("x.avro", &bytes);
            let dataset = folder.rows(8).build().unwrap();
            // `read` compares the values with those of the records.
            let (ids, error) = crate::common::read(dataset.iter());
            if error.is_none() {
                assert_eq!(ids, [(0..8).collect::<Vec<i64>>()], "{codec}, byte {at}");
            }
        }
    }
}
