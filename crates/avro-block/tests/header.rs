//! Headers in every form that the specification allows, and with every kind of error.
#![allow(clippy::unwrap_used)]

mod common;

use avro_block::{Codec, ContainerPart, ErrorKind, Frame, Framer, Header, Limits};
use bytes::Bytes;
use common::*;

const SCHEMA: (&str, &[u8]) = ("avro.schema", b"{\"type\":\"long\"}");

fn read(bytes: &[u8]) -> Result<Header, avro_block::Error> {
    read_with(bytes, Limits::default())
}

fn read_with(bytes: &[u8], limits: Limits) -> Result<Header, avro_block::Error> {
    let mut framer = Framer::with_limits(limits);
    framer.push(Bytes::copy_from_slice(bytes));
    match framer.next()? {
        Frame::Header(header) => Ok(header),
        Frame::NeedMore(_) => Err(framer.finish().unwrap_err()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn one_map_block() {
    let bytes = header(&[map_block(&[SCHEMA, ("avro.codec", b"deflate")], false)]);
    let header = read(&bytes).unwrap();
    assert_eq!(header.schema(), "{\"type\":\"long\"}");
    assert_eq!(header.codec(), Codec::Deflate);
    assert_eq!(header.sync(), SYNC);
    assert_eq!(header.len(), bytes.len() as u64);
}

#[test]
fn many_map_blocks_with_and_without_sizes() {
    let bytes = header(&[
        map_block(&[("a", b"1"), ("b", b"")], true),
        map_block(&[SCHEMA], false),
        map_block(&[("avro.codec", b"xz"), ("", b"\xff\x00")], true),
    ]);
    let header = read(&bytes).unwrap();
    assert_eq!(header.codec(), Codec::Xz);
    let keys: Vec<_> = header.metadata().iter().map(|(k, _)| k.as_str()).collect();
    assert_eq!(keys, ["a", "b", "avro.schema", "avro.codec", ""]);
    assert_eq!(header.get("b"), Some(&b""[..]));
    assert_eq!(header.get(""), Some(&b"\xff\x00"[..]));
    assert_eq!(header.get("c"), None);
    assert_eq!(header.len(), bytes.len() as u64);
}

#[test]
fn without_a_codec_it_is_null() {
    assert_eq!(read(&plain_header()).unwrap().codec(), Codec::Null);
}

#[test]
fn the_last_of_equal_keys_counts() {
    let entries = [
        SCHEMA,
        ("k", b"old"),
        ("avro.codec", b"no such codec"),
        ("k", b"new"),
        ("avro.codec", b"snappy"),
    ];
    let header = read(&header(&[map_block(&entries, false)])).unwrap();
    assert_eq!(header.get("k"), Some(&b"new"[..]));
    assert_eq!(header.codec(), Codec::Snappy);
    assert_eq!(header.metadata().len(), 5);
}

#[test]
fn every_codec_name_is_known() {
    for codec in Codec::ALL {
        assert_eq!(Codec::from_name(codec.name()), Some(codec));
    }
    assert_eq!(Codec::from_name("Deflate"), None);
}

/// The text of the error for `bytes`.
fn error(bytes: &[u8]) -> String {
    read(bytes).unwrap_err().to_string()
}

#[test]
fn errors_name_the_byte() {
    assert_eq!(error(b""), "byte 0: the file is empty");
    let not_avro = "byte 0: not an Avro object container file: it does not begin with \"Obj\" and \
                    1. Records without a file are read by MessageDecoder, with their schema";
    assert_eq!(error(b"\xffbj\x01"), not_avro);
    assert_eq!(
        error(b"Obx"),
        "byte 0: not an Avro object container file but text: only Avro files are read; look at the text, and give the data file, or convert the text with its schema"
    );
    assert_eq!(error(b"Obj\x02"), not_avro);
    assert_eq!(
        error(b"Ob"),
        "byte 0: the file ends inside the magic bytes, 2 or more bytes short"
    );
    assert_eq!(
        error(&header(&[map_block(&[("k", b"v")], false)])),
        "byte 4: the header has no schema (no entry avro.schema)"
    );
    assert_eq!(
        error(&header(&[map_block(&[("avro.schema", b"\xff")], false)])),
        "byte 18: the schema is not UTF-8"
    );
    let codec = ("avro.codec", &b"lz4"[..]);
    assert_eq!(
        error(&header(&[map_block(&[codec, SCHEMA], false)])),
        "byte 17: codec 'lz4' is not read; the codecs read are null, deflate, snappy, zstandard, bzip2, \
         xz. Rewrite the file with the program that wrote it, or with 'avro-tools recodec --codec deflate OLD \
         NEW' if that reads it"
    );
}

#[test]
fn bad_numbers_are_errors() {
    let head = |rest: &[&[u8]]| [b"Obj\x01".to_vec(), rest.concat()].concat();
    let cases = [
        (
            head(&[&[0xff; 11]]),
            "byte 4: the metadata's entry count is not a variable-length integer of 64 bits",
        ),
        (
            head(&[&long(1), &long(-3)]),
            "byte 5: the length of a metadata key is negative: -3",
        ),
        (
            head(&[&long(1), &sized(b"k"), &long(-1)]),
            "byte 7: the length of a metadata value is negative: -1",
        ),
        (
            head(&[&long(-1), &long(-1)]),
            "byte 5: the size of a metadata block is negative: -1",
        ),
        (
            head(&[&long(1), &sized(b"\xfe")]),
            "byte 6: a metadata key is not UTF-8",
        ),
        (
            head(&[&long(i64::MIN)]),
            "byte 4: the metadata's entry count is 9223372036854775808, above the limit of 65536",
        ),
    ];
    for (bytes, text) in cases {
        assert_eq!(error(&bytes), text);
    }
}

#[test]
fn a_length_above_the_limit_is_refused_before_its_bytes_come() {
    let bytes = [&b"Obj\x01"[..], &long(1), &long(i64::MAX)].concat();
    let error = read(&bytes).unwrap_err();
    assert_eq!(error.offset, 5);
    assert!(
        matches!(
            error.kind,
            ErrorKind::TooLarge {
                part: ContainerPart::Header,
                limit,
                ..
            } if limit == 64 << 20
        ),
        "{error:?}"
    );
}

#[test]
fn limits_count_all_map_blocks() {
    let mut limits = Limits::default();
    limits.max_metadata_entries = 2;
    let two = header(&[map_block(&[SCHEMA], false), map_block(&[("k", b"v")], true)]);
    assert!(read_with(&two, limits.clone()).is_ok());
    let three = header(&[
        map_block(&[SCHEMA], false),
        map_block(&[("k", b"v"), ("l", b"w")], true),
    ]);
    let error = read_with(&three, limits).unwrap_err();
    assert!(matches!(
        error.kind,
        ErrorKind::TooLarge {
            part: ContainerPart::MetadataCount,
            value: 3,
            limit: 2
        }
    ));
}

#[test]
fn the_limit_of_the_header_counts_all_of_it() {
    let bytes = header(&[map_block(&[SCHEMA], false)]);
    let mut limits = Limits::default();
    limits.max_header_bytes = bytes.len() as u64;
    assert!(read_with(&bytes, limits.clone()).is_ok());
    limits.max_header_bytes -= 1;
    let error = read_with(&bytes, limits).unwrap_err();
    assert!(matches!(
        error.kind,
        ErrorKind::TooLarge {
            part: ContainerPart::Header,
            ..
        }
    ));
}

#[test]
fn the_name_of_an_unknown_codec_is_kept_short() {
    let name = vec![b'x'; 100_000];
    let bytes = header(&[map_block(&[SCHEMA, ("avro.codec", &name)], false)]);
    let ErrorKind::UnknownCodec(kept) = read(&bytes).unwrap_err().kind else {
        panic!("not an unknown codec");
    };
    assert_eq!(kept.len(), 64);
}

#[test]
fn a_header_error_cannot_be_resynced() {
    let mut framer = Framer::new();
    framer.push(Bytes::from_static(b"nonsense"));
    // The framer needs more bytes to name the file's format.
    assert_eq!(framer.next().unwrap(), Frame::NeedMore(1016));
    framer.push(vec![b'x'; 1016].into());
    assert!(framer.next().is_err());
    assert!(!framer.resync());
    assert!(framer.next().is_err());
    assert!(framer.finish().is_err());
}
