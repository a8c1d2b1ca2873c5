//! Headers and framing.

use atds::Codec;
use avro_decode::encode::{write_bytes, write_long, write_string};

use crate::Messages;
use crate::common::{Folder, Row, SCHEMA, SYNC, container, read, rows_file};
use crate::made::{OVERFLOW, OVERLONG, longs};

/// A header with these entries.
fn header(entries: &[(&[u8], &[u8])]) -> Vec<u8> {
    let mut bytes = b"Obj\x01".to_vec();
    write_long(&mut bytes, entries.len() as i64);
    for (key, value) in entries {
        write_bytes(&mut bytes, key);
        write_bytes(&mut bytes, value);
    }
    bytes.push(0);
    bytes.extend(SYNC.0);
    bytes
}

/// The magic bytes, then `bytes` for the metadata map.
fn metadata(bytes: &[u8]) -> Vec<u8> {
    let mut file = b"Obj\x01".to_vec();
    file.extend(bytes);
    file.extend([0; 40]);
    file
}

#[test]
fn what_is_not_avro() {
    let mut messages = Messages::default();
    messages.file("empty", b"", "x.avro: byte 0: the file is empty");
    messages.file(
        "text",
        b"id,name\n1,a\n",
        r#"x.avro: byte 0: not an Avro object container file but text: only Avro files are read; look at the text, and give the data file, or convert the text with its schema"#,
    );
    messages.file(
        "three bytes",
        b"Obj",
        "x.avro: byte 0: the file ends inside the magic bytes, 1 or more bytes short",
    );
    messages.file(
        "an older Avro",
        b"Obj\x00\x00\x00",
        r#"x.avro: byte 0: not an Avro object container file but an Avro file of a version before 1.3: rewrite it with Avro's tools of that version"#,
    );
    messages.file(
        "zeros",
        &[0; 100],
        r#"x.avro: byte 0: not an Avro object container file but NUL bytes: the file was allocated but never written, or lost its contents; copy it again"#,
    );
}

#[test]
fn headers() {
    let mut messages = Messages::default();
    let schema = SCHEMA.as_bytes();
    messages.file(
        "no schema",
        &header(&[(b"avro.codec", b"null")]),
        "x.avro: byte 4: the header has no schema (no entry avro.schema)",
    );
    messages.file(
        "no metadata",
        &header(&[]),
        "x.avro: byte 4: the header has no schema (no entry avro.schema)",
    );
    messages.file(
        "codec",
        &header(&[(b"avro.schema", schema), (b"avro.codec", b"lzo")]),
        "x.avro: byte 584: codec 'lzo' is not read; the codecs read are null, deflate, snappy, zstandard, bzip2, xz. Rewrite the file with the program that wrote it, or with 'avro-tools recodec --codec deflate OLD NEW' if that reads it",
    );
    messages.file(
        "codec bytes",
        &header(&[(b"avro.schema", schema), (b"avro.codec", b"\xff\n")]),
        "x.avro: byte 584: codec '�\\n' is not read; the codecs read are null, deflate, snappy, zstandard, bzip2, xz. Rewrite the file with the program that wrote it, or with 'avro-tools recodec --codec deflate OLD NEW' if that reads it",
    );
    messages.file(
        "schema bytes",
        &header(&[(b"avro.schema", b"\"\xc3\"")]),
        "x.avro: byte 18: the schema is not UTF-8",
    );
    messages.file(
        "key bytes",
        &header(&[(b"\xfe", b""), (b"avro.schema", schema)]),
        "x.avro: byte 6: a metadata key is not UTF-8",
    );
    messages.file(
        "overlong count",
        &metadata(&OVERLONG),
        "x.avro: byte 4: the metadata's entry count is not a variable-length integer of 64 bits",
    );
    messages.file(
        "overflowing count",
        &metadata(&OVERFLOW),
        "x.avro: byte 4: the metadata's entry count is not a variable-length integer of 64 bits",
    );
    messages.file("huge count", &metadata(&longs(&[i64::MAX])), "x.avro: byte 4: the metadata's entry count is 9223372036854775807, above the limit of 65536");
    messages.file("most negative count", &metadata(&longs(&[i64::MIN])), "x.avro: byte 4: the metadata's entry count is 9223372036854775808, above the limit of 65536");
    let with_size = |size: i64| metadata(&longs(&[-1, size]));
    messages.file(
        "negative block size",
        &with_size(-5),
        "x.avro: byte 5: the size of a metadata block is negative: -5",
    );
    messages.file(
        "huge block size",
        &with_size(i64::MAX),
        "x.avro: byte 5: the header's size is 9223372036854775822, above the limit of 67108864",
    );
    let key = |len: i64| metadata(&longs(&[1, len]));
    messages.file(
        "negative key length",
        &key(-1),
        "x.avro: byte 5: the length of a metadata key is negative: -1",
    );
    messages.file(
        "huge key length",
        &key(i64::MAX),
        "x.avro: byte 5: the header's size is 9223372036854775822, above the limit of 67108864",
    );
    messages.file(
        "key beyond the end",
        &key(1_000),
        "x.avro: byte 7: the file ends inside a metadata key, 960 or more bytes short",
    );
    let value = |len: i64| metadata(&[longs(&[1, 1]), vec![b'k'], longs(&[len])].concat());
    messages.file(
        "negative value length",
        &value(i64::MIN),
        "x.avro: byte 7: the length of a metadata value is negative: -9223372036854775808",
    );
    messages.file(
        "huge value length",
        &value(1 << 40),
        "x.avro: byte 7: the header's size is 1099511627789, above the limit of 67108864",
    );
    messages.file(
        "overlong value length",
        &metadata(&[&[2, 2, b'k'][..], &OVERLONG].concat()),
        "x.avro: byte 7: the length of a metadata value is not a variable-length integer of 64 bits",
    );
}

/// A file of two blocks of two records each. `head` replaces the head of the second block.
fn with_head(head: &[u8]) -> Vec<u8> {
    let mut bytes = rows_file(0..2, 2, Codec::Null);
    bytes.extend(head);
    bytes.extend([0; 30]);
    bytes
}

#[test]
fn block_heads() {
    let mut messages = Messages::default();
    let head = |count: i64, size: i64| with_head(&longs(&[count, size]));
    messages.file(
        "negative count",
        &head(-1, 10),
        "x.avro: block 1 at byte 683: the record count is negative: -1; if these bytes are no part of the file, `tolerate` 'trailing-file-bytes' leaves them out",
    );
    messages.file(
        "most negative count",
        &head(i64::MIN, 10),
        "x.avro: block 1 at byte 683: the record count is negative: -9223372036854775808; if these bytes are no part of the file, `tolerate` 'trailing-file-bytes' leaves them out",
    );
    messages.file("huge count", &head(i64::MAX, 10), "x.avro: block 1 at byte 683: the record count is 9223372036854775807, above the limit of 4294967296");
    messages.file(
        "negative size",
        &head(1, -1),
        "x.avro: block 1 at byte 684: the payload's size is negative: -1; if these bytes are no part of the file, `tolerate` 'trailing-file-bytes' leaves them out",
    );
    messages.file(
        "most negative size",
        &head(1, i64::MIN),
        "x.avro: block 1 at byte 684: the payload's size is negative: -9223372036854775808; if these bytes are no part of the file, `tolerate` 'trailing-file-bytes' leaves them out",
    );
    messages.file("huge size", &head(1, i64::MAX), "x.avro: block 1 at byte 684: the payload's size is 9223372036854775807, above the limit of 1073741824: raise `max_block_bytes` if the file is whole");
    messages.file("size beyond the end", &head(1, 1 << 20), "x.avro: block 1 at byte 688: the file ends inside the payload, 1048546 or more bytes short");
    messages.file(
        "overlong count",
        &with_head(&OVERLONG),
        "x.avro: block 1 at byte 683: the record count is not a variable-length integer of 64 bits; if these bytes are no part of the file, `tolerate` 'trailing-file-bytes' leaves them out",
    );
    messages.file(
        "overflowing count",
        &with_head(&OVERFLOW),
        "x.avro: block 1 at byte 683: the record count is not a variable-length integer of 64 bits; if these bytes are no part of the file, `tolerate` 'trailing-file-bytes' leaves them out",
    );
    messages.file(
        "overlong size",
        &with_head(&[&[2][..], &OVERLONG].concat()),
        "x.avro: block 1 at byte 684: the payload's size is not a variable-length integer of 64 bits; if these bytes are no part of the file, `tolerate` 'trailing-file-bytes' leaves them out",
    );
    messages.file(
        "overflowing size",
        &with_head(&[&[2][..], &OVERFLOW].concat()),
        "x.avro: block 1 at byte 684: the payload's size is not a variable-length integer of 64 bits; if these bytes are no part of the file, `tolerate` 'trailing-file-bytes' leaves them out",
    );
}

#[test]
fn sync_markers() {
    let mut messages = Messages::default();
    let good = rows_file(0..6, 2, Codec::Null);
    let header = rows_file([], 1, Codec::Null).len();
    let mut bytes = good.clone();
    bytes[header - 1] ^= 1;
    messages.file("the header's", &bytes, "x.avro: block 0 at byte 667: the sync marker does not match: expected 2d2d20746865206d61726b6572202d2c, found 2d2d20746865206d61726b6572202d2d");
    let mut bytes = good.clone();
    *bytes.last_mut().unwrap() ^= 1;
    messages.file("the last block's", &bytes, "x.avro: block 2 at byte 872: the sync marker does not match: expected 2d2d20746865206d61726b6572202d2d, found 2d2d20746865206d61726b6572202d2c");
    let mut bytes = good;
    bytes.extend(b"more");
    messages.file(
        "something behind the last block",
        &bytes,
        "x.avro: block 3 at byte 888: text where a block should begin: cut off the bytes after the last block, or leave them out with `tolerate` 'trailing-file-bytes'",
    );
}

/// Blocks before the damage are read, and none after it.
#[test]
fn the_blocks_before_the_damage_are_read() {
    for mmap in [false, true] {
        let folder = Folder::new();
        folder.write("0.avro", &rows_file(0..3, 3, Codec::Deflate));
        let mut bytes = rows_file(3..9, 2, Codec::Null);
        *bytes.last_mut().unwrap() ^= 1;
        folder.write("1.avro", &bytes);
        folder.write("2.avro", &rows_file(9..12, 3, Codec::Null));
        let dataset = folder.rows(5).mmap(mmap).build().unwrap();
        let (ids, error) = read(dataset.iter());
        assert_eq!(ids, [vec![0, 1, 2, 3, 4], vec![5, 6]]);
        assert_eq!(
            folder.message(&error.unwrap()),
            "1.avro: block 2 at byte 879: the sync marker does not match: expected 2d2d20746865206d61726b6572202d2d, found 2d2d20746865206d61726b6572202d2c"
        );
    }
}

#[test]
fn a_block_of_no_records_has_no_bytes() {
    let mut messages = Messages::default();
    let mut case = |codec: Codec, expected: &str| {
        let blocks = [(0, Row::new(5).encode()), (1, Row::new(0).encode())];
        messages.file(codec.name(), &container(SCHEMA, codec, blocks), expected);
    };
    case(
        Codec::Null,
        "x.avro: block 0 at byte 607: the block's 0 records end 51 bytes before its payload does; `tolerate` 'trailing-block-bytes' leaves them out",
    );
    case(
        Codec::Deflate,
        "x.avro: block 0 at byte 608: the block's 0 records end 51 bytes before its payload does; `tolerate` 'trailing-block-bytes' leaves them out (byte 0 of the decompressed block)",
    );
    case(
        Codec::Snappy,
        "x.avro: block 0 at byte 607: the block's 0 records end 51 bytes before its payload does; `tolerate` 'trailing-block-bytes' leaves them out (byte 0 of the decompressed block)",
    );
    case(
        Codec::Zstandard,
        "x.avro: block 0 at byte 610: the block's 0 records end 51 bytes before its payload does; `tolerate` 'trailing-block-bytes' leaves them out (byte 0 of the decompressed block)",
    );
    case(
        Codec::Bzip2,
        "x.avro: block 0 at byte 606: the block's 0 records end 51 bytes before its payload does; `tolerate` 'trailing-block-bytes' leaves them out (byte 0 of the decompressed block)",
    );
    case(
        Codec::Xz,
        "x.avro: block 0 at byte 603: the block's 0 records end 51 bytes before its payload does; `tolerate` 'trailing-block-bytes' leaves them out (byte 0 of the decompressed block)",
    );
}

#[test]
fn a_schema_text_that_is_none() {
    let mut messages = Messages::default();
    let mut file = |what: &str, schema: &str, expected: &str| {
        let bytes = header(&[(b"avro.schema", schema.as_bytes())]);
        messages.file(what, &bytes, expected);
    };
    file(
        "not JSON",
        r#"{"type": "record""#,
        "x.avro: schema: not JSON, line 1 column 17: EOF while parsing an object",
    );
    file(
        "empty",
        "",
        "x.avro: schema: not JSON, line 1 column 0: EOF while parsing a value",
    );
    file(
        "a number",
        "7",
        "x.avro: schema: a type must be a string, an object or an array",
    );
    file(
        "an unknown type",
        r#"{"type": "record", "name": "R", "fields": [{"name": "id", "type": "int64"}]}"#,
        r#"x.avro: schema, at /fields/0/type: unknown type "int64""#,
    );
    file(
        "no fields",
        r#"{"type": "record", "name": "R"}"#,
        r#"x.avro: schema: the attribute "fields" is missing"#,
    );
    file(
        "a name that is too long",
        &format!(
            r#"{{"type": "record", "name": "R", "fields": [{{"name": "{}", "type": "int"}}]}}"#,
            "n".repeat(1025)
        ),
        "x.avro: schema, at /fields/0/name: a name is longer than 1024 bytes",
    );
}

#[test]
fn long_strings_in_headers_do_not_make_long_messages() {
    let folder = Folder::new();
    let mut name = Vec::new();
    write_string(&mut name, &"z".repeat(100_000));
    let bytes = header(&[
        (b"avro.schema", SCHEMA.as_bytes()),
        (b"avro.codec", &name[3..]),
    ]);
    folder.write("x.avro", &bytes);
    let error = folder.rows(1).build().unwrap_err();
    assert!(folder.message(&error).len() < 400, "{error}");
}
