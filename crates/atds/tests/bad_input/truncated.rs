//! The messages of files that are cut off. That every cut is found is in the conformance suite.

use atds::Codec;

use crate::common::rows_file;

#[test]
fn the_messages_of_some_cuts() {
    let mut messages = crate::Messages::default();
    let whole = rows_file(0..4, 2, Codec::Null);
    let header = rows_file([], 1, Codec::Null).len();
    let block = rows_file(0..2, 2, Codec::Null).len();
    let mut cut = |what: &str, len: usize, expected: &str| {
        messages.file(what, &whole[..len], expected);
    };
    cut(
        "the magic",
        3,
        "x.avro: byte 0: the file ends inside the magic bytes, 1 or more bytes short",
    );
    cut(
        "the metadata",
        4,
        "x.avro: byte 4: the file ends inside the metadata's entry count, 1 or more bytes short",
    );
    cut(
        "a key",
        10,
        "x.avro: byte 6: the file ends inside a metadata key, 7 or more bytes short",
    );
    cut(
        "the schema",
        100,
        "x.avro: byte 19: the file ends inside a metadata value, 472 or more bytes short",
    );
    cut(
        "the header's marker",
        header - 1,
        "x.avro: byte 589: the file ends inside the sync marker, 1 or more bytes short",
    );
    cut("the first block's count", header, "no error");
    cut(
        "the first block's size",
        header + 1,
        "x.avro: block 0 at byte 606: the file ends inside the payload's size, 1 or more bytes short",
    );
    cut(
        "the first payload",
        header + 10,
        "x.avro: block 0 at byte 607: the file ends inside the payload, 52 or more bytes short",
    );
    cut(
        "the first marker",
        block - 1,
        "x.avro: block 0 at byte 667: the file ends inside the sync marker, 1 or more bytes short",
    );
    cut(
        "the second block's size",
        block + 1,
        "x.avro: block 1 at byte 684: the file ends inside the payload's size, 1 or more bytes short",
    );
    cut(
        "the last byte",
        whole.len() - 1,
        "x.avro: block 1 at byte 764: the file ends inside the sync marker, 1 or more bytes short",
    );
}
