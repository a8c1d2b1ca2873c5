//! Errors for files that are not Avro name the actual format.
#![allow(clippy::unwrap_used)]

mod common;

use avro_block::{BlockIndex, BlockReader, CompressedFormat, ErrorKind, Found, MappedBlocks};
use bytes::Bytes;
use common::*;

/// The error's text for a file with these bytes, and the format found. All readers must agree.
fn diagnosed(file: &[u8]) -> (String, Option<Found>) {
    let mut framer = avro_block::Framer::new();
    framer.push(Bytes::copy_from_slice(file));
    let error = match framer.next() {
        Err(error) => error,
        Ok(_) => framer.finish().unwrap_err(),
    };
    let text = error.to_string();
    for chunk in [1, 7, 1000] {
        let told = tell(avro_block::Framer::new(), pieces(file, &[chunk]), false);
        assert!(told.errors[0].starts_with(&text), "{:?}", told.errors);
    }
    for other in [
        BlockReader::with_buffer_size(file, 10).unwrap_err(),
        MappedBlocks::from_bytes(Bytes::copy_from_slice(file)).unwrap_err(),
        BlockIndex::build(std::io::Cursor::new(file)).unwrap_err(),
    ] {
        assert_eq!(other.to_string(), text);
    }
    match error.kind {
        ErrorKind::NotAvro { found } => (text, found),
        other => panic!("{other:?}"),
    }
}

fn tar() -> Vec<u8> {
    let mut bytes = vec![0; 1024];
    bytes[..6].copy_from_slice(b"a.avro");
    bytes[257..262].copy_from_slice(b"ustar");
    bytes
}

fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

/// A record of 11 bytes, as TensorFlow writes it.
const TFRECORD: &[u8] = b"\x0b\0\0\0\0\0\0\0\x86\x15\xf5\x04hello world";

#[test]
fn each_format_is_named() {
    let long_schema = format!(
        r#"{{"type": "record", "name": "r", "doc": "{}", "fields": []}}"#,
        "x".repeat(2000)
    );
    let plain = plain_header();
    let behind = [b"HTTP/1.1 200 OK\r\n\r\n", &plain[..]].concat();
    let cases: Vec<(&[u8], Found)> = vec![
        (b"\x1f\x8b\x08\0rest", Found::Compressed(CompressedFormat::Gzip)),
        (b"\x28\xb5\x2f\xfd\x04rest", Found::Compressed(CompressedFormat::Zstandard)),
        (b"BZh91AY&SY", Found::Compressed(CompressedFormat::Bzip2)),
        (b"\xfd7zXZ\0\0\x04", Found::Compressed(CompressedFormat::Xz)),
        (b"\x5d\0\0\x80\0\xff\xff\xff\xff\xff\xff\xff\xff\0rest", Found::Lzma),
        (b"\x5d\0\0\x80\0\x39\x30\0\0\0\0\0\0\0rest", Found::Lzma),
        (b"\x1f\x9d\x90rest", Found::Compressed(CompressedFormat::Compress)),
        (b"\xce\xb2\xcf\x81rest", Found::Brotli),
        (b"\0\0\0\0\x07\x02\x06abc", Found::Confluent { schema_id: 7 }),
        (
            b"\0\0\x01\x86\xa1\x02",
            Found::Confluent { schema_id: 100_001 },
        ),
        (b"\0\0\xfe\xff\0\0\0a", Found::Utf16),
        (b"\x04\x22\x4d\x18rest", Found::Compressed(CompressedFormat::Lz4)),
        (b"\xff\x06\0\0sNaPpY", Found::Compressed(CompressedFormat::SnappyFrames)),
        (b"\x89LZO\0\r\n\x1a\nrest", Found::Compressed(CompressedFormat::Lzop)),
        (b"PK\x03\x04\x14\0", Found::Compressed(CompressedFormat::Zip)),
        (b"PK\x05\x06\0\0", Found::Compressed(CompressedFormat::Zip)),
        (b"7z\xbc\xaf\x27\x1c\0\x04", Found::SevenZip),
        (b"PAR1\x15\x04", Found::Parquet),
        (b"ORC\x0a\x0b", Found::Orc),
        (b"ARROW1\0\0", Found::ArrowFile),
        (b"\xff\xff\xff\xff\x78\0\0\0\x10\0", Found::ArrowStream),
        (b"FEA1\0\0", Found::Feather),
        (b"SEQ\x06\x19org.apache", Found::SequenceFile),
        (b"RCF\x01\0", Found::RcFile),
        (TFRECORD, Found::TfRecord),
        (b"\x89HDF\r\n\x1a\n\0", Found::Hdf5),
        (b"\x93NUMPY\x01\0", Found::Npy),
        (b"\x80\x04\x95\x0b\0", Found::Pickle),
        (b"SQLite format 3\0\x10", Found::Sqlite),
        (b"%PDF-1.7\n", Found::Pdf),
        (b"crc\0\0\0\x02\0", Found::HadoopChecksums),
        (b"\0\x05\x16\x07\0\x02\0\0", Found::AppleDouble),
        (
            b"version https://git-lfs.github.com/spec/v1\noid sha256:aa\nsize 1\n",
            Found::GitLfsPointer,
        ),
        (
            br#"{"type": "record", "name": "r", "fields": []}"#,
            Found::AvroSchema,
        ),
        (
            b"\xef\xbb\xbf\n { \"name\" : \"e\",\n\"type\":\"enum\", \"symbols\": [\"a\"]}",
            Found::AvroSchema,
        ),
        (
            br#"[{"type": "record", "name": "r", "fields": []}]"#,
            Found::AvroSchema,
        ),
        (long_schema.as_bytes(), Found::AvroSchema),
        (
            br#"{"protocol": "P", "types": [{"type": "record", "name": "r", "fields": []}], "messages": {}}"#,
            Found::AvroProtocol,
        ),
        (b"@namespace(\"a\")\nprotocol P {}", Found::AvroIdl),
        (b"protocol P { }", Found::AvroIdl),
        (b"\xc3\x01\0\0\0\0\0\0\0\0\x02", Found::SingleObject),
        (b"Obj\0\x02\x04", Found::OldAvro),
        (&behind, Found::AvroAt { offset: 19 }),
        (b"T2JqAQQUYXZyby5jb2RlYw==", Found::Base64Avro),
        (b"{\"x\": 1}\n", Found::Json),
        (b"[1, 2]", Found::Json),
        (b"{\"type\": \"click\", \"fields\": []}\n", Found::Json),
        (
            b"<?xml version='1.0'?><Error><Code>AccessDenied</Code></Error>",
            Found::Xml,
        ),
        (b"<Error><Code>NoSuchKey</Code></Error>", Found::Xml),
        (b"\r\n<!DOCTYPE html><html>", Found::Html),
        (b"<HTML><head>", Found::Html),
        (b"\xff\xfea\0,\0b\0", Found::Utf16),
        (b"\xfe\xff\0a\0,\0b", Found::Utf16),
        (b"a,b\n1,2\n", Found::Text),
        ("größe;länge\n1;2\n".as_bytes(), Found::Text),
        (&[0; 5000], Found::Zeros),
        (&[0; 3], Found::Zeros),
    ];
    for (file, found) in cases {
        let (text, told) = diagnosed(file);
        assert_eq!(told, Some(found), "{text}");
        let named = format!("not an Avro object container file but {found}: ");
        let (_, remedy) = text.split_once(&named).unwrap_or_else(|| panic!("{text}"));
        assert!(remedy.len() > 10, "{text}");
    }
    assert_eq!(diagnosed(&tar()).1, Some(Found::Tar));
    let schema = utf16(r#"{"type": "record"}"#);
    assert_eq!(diagnosed(&schema).1, Some(Found::Utf16));
    for unknown in [
        &b"\x01\x02\x03\x04\x05"[..],
        b"Obk\x01",
        b"\xff",
        b"a\x01b",
        b"\0\0\0\x18ftypmp42",
        b"\0\0\x01\0\x01\0",
        b"\0asm\x01\0\0\0",
        b"\x5d\0\0\x01\0",
    ] {
        let (text, found) = diagnosed(unknown);
        assert_eq!(found, None, "{unknown:x?}: {text}");
    }
}

#[test]
fn the_message_says_what_to_do() {
    let text = |file: &[u8]| diagnosed(file).0;
    assert_eq!(
        text(b"PAR1\x15\x04"),
        "byte 0: not an Avro object container file but a Parquet file: only Avro files are read; \
         convert it"
    );
    assert_eq!(
        text(b"version https://git-lfs.github.com/spec/v1\n"),
        "byte 0: not an Avro object container file but a Git LFS pointer: fetch the file itself \
         with 'git lfs pull'"
    );
    assert!(text(b"\xc3\x01\0\0\0\0\0\0\0\0\x02").contains("by MessageDecoder, in Rust"));
}

/// Codecs that are not supported, and names that are nearly those of supported codecs.
#[test]
fn a_codec_that_is_not_read_comes_with_those_that_are() {
    for (name, meant) in [
        ("lzo", None),
        ("lz4", None),
        ("brotli", None),
        ("zstd", Some("zstandard")),
        ("Deflate", Some("deflate")),
        ("zlib", Some("deflate")),
        ("gzip", Some("deflate")),
        ("SNAPPY", Some("snappy")),
        ("lzma", Some("xz")),
        ("none", Some("null")),
        ("\u{1b}[31m", None),
    ] {
        let entries: [(&str, &[u8]); 2] = [
            ("avro.schema", b"\"long\""),
            ("avro.codec", name.as_bytes()),
        ];
        let file = header(&[map_block(&entries, false)]);
        let error = BlockReader::new(&file[..]).unwrap_err();
        assert!(matches!(&error.kind, ErrorKind::UnknownCodec(found) if found == name));
        let text = error.to_string();
        assert!(
            text.contains(&format!("codec '{}' is not read", name.escape_debug())),
            "{text}"
        );
        assert!(
            text.contains("the codecs read are null, deflate, snappy, zstandard, bzip2, xz"),
            "{text}"
        );
        assert!(text.contains("avro-tools recodec"), "{text}");
        match meant {
            Some(meant) => assert!(
                text.contains(&format!("Avro's name may be '{meant}'")),
                "{text}"
            ),
            None => assert!(!text.contains("may be"), "{text}"),
        }
    }
}
