//! Records that do not match their schema, or do not fit their feature.

use atds::{Codec, ErrorKind, Threads, avro};

use crate::Messages;
use crate::common::{Folder, Row, SCHEMA, container, read};
use crate::made::{
    ID, INDICES, LIST, OVERFLOW, OVERLONG, PAIR, SKIPPED, TEXT, fields, longs, with_field,
};

#[test]
fn lengths_and_counts() {
    let mut messages = Messages::default();
    let mut case = |what: &str, field: usize, bytes: &[u8], expected: &str| {
        messages.file(what, &with_field(Codec::Null, field, bytes), expected);
    };
    case(
        "id overlong",
        ID,
        &OVERLONG,
        "x.avro: block 0 at byte 623: record 1: field 'id': a varint is longer than its type allows",
    );
    case(
        "id overflow",
        ID,
        &OVERFLOW,
        "x.avro: block 0 at byte 623: record 1: field 'id': a varint has more than 64 bits",
    );
    case(
        "text negative",
        TEXT,
        &longs(&[-1]),
        "x.avro: block 0 at byte 635: record 1: field 'text': a length is negative: -1",
    );
    case(
        "text most negative",
        TEXT,
        &longs(&[i64::MIN]),
        "x.avro: block 0 at byte 635: record 1: field 'text': a length is negative: -9223372036854775808",
    );
    case(
        "text huge",
        TEXT,
        &longs(&[i64::MAX]),
        "x.avro: block 0 at byte 635: record 1: field 'text': a length of 9223372036854775807 bytes where 3 are left",
    );
    case(
        "text overlong",
        TEXT,
        &OVERLONG,
        "x.avro: block 0 at byte 635: record 1: field 'text': a varint is longer than its type allows",
    );
    case(
        "text not UTF-8",
        TEXT,
        &[4, 0xc3, 0x28],
        "x.avro: block 0 at byte 635: record 1: field 'text': a string is not UTF-8: ask for `dtype` 'bytes', or replace invalid bytes with `tolerate` 'utf8'",
    );
    case(
        "list huge",
        LIST,
        &longs(&[i64::MAX]),
        "x.avro: block 0 at byte 636: record 1: field 'list': a block of 9223372036854775807 items where at most 2 are possible",
    );
    case(
        "list most negative",
        LIST,
        &longs(&[i64::MIN]),
        "x.avro: block 0 at byte 636: record 1: field 'list': a block of 9223372036854775808 items where at most 0 are possible",
    );
    case(
        "list overlong",
        LIST,
        &OVERLONG,
        "x.avro: block 0 at byte 636: record 1: field 'list': a varint is longer than its type allows",
    );
    case(
        "list size negative",
        LIST,
        &longs(&[-1, -1]),
        "x.avro: block 0 at byte 637: record 1: field 'list': a length is negative: -1",
    );
    case(
        "list size huge",
        LIST,
        &longs(&[-1, i64::MAX]),
        "x.avro: block 0 at byte 637: record 1: field 'list': a length of 9223372036854775807 bytes where 2 are left",
    );
    case(
        "list size wrong",
        LIST,
        &longs(&[-1, 3, 7, 0]),
        "x.avro: block 0 at byte 639: record 1: field 'list': a block of items has 1 byte, but its header says 3",
    );
    case(
        "list item beyond int",
        LIST,
        &longs(&[1, 1 << 31, 0]),
        "x.avro: block 0 at byte 637: record 1: field 'list': 2147483648 is not in the range of int",
    );
    case(
        "skipped size huge",
        SKIPPED,
        &longs(&[-1, i64::MAX]),
        "x.avro: block 0 at byte 625: record 1: field 'skipped': a length of 9223372036854775807 bytes where 14 are left",
    );
    case(
        "skipped count huge",
        SKIPPED,
        &longs(&[i64::MAX]),
        "x.avro: block 0 at byte 624: record 1: field 'skipped': a block of 9223372036854775807 items where at most 7 are possible",
    );
    case(
        "skipped key negative",
        SKIPPED,
        &longs(&[1, -3]),
        "x.avro: block 0 at byte 625: record 1: field 'skipped': a length is negative: -3",
    );
    case(
        "indices huge",
        INDICES,
        &longs(&[i64::MAX]),
        "x.avro: block 0 at byte 637: record 1: field 'cells': a block of 9223372036854775807 items where at most 1 is possible",
    );
    case(
        "pair of one",
        PAIR,
        &[2, 0, 0, 0, 0, 0],
        "x.avro: block 0 at byte 625: record 1: field 'pair': an array of 1 value, where the shape says 2; a dense feature with a `default` or a `mask` fills the rest",
    );
    case(
        "pair of three",
        PAIR,
        &[6, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        "x.avro: block 0 at byte 625: record 1: field 'pair': an array of 3 values, where the shape says 2; `truncate` drops the rest",
    );
    case(
        "pair of none",
        PAIR,
        &[0],
        "x.avro: block 0 at byte 625: record 1: field 'pair': an array of 0 values, where the shape says 2; a dense feature with a `default` or a `mask` fills the rest",
    );
}

/// In a compressed block, the byte offset is that of the decompressed block.
#[test]
fn a_place_in_a_compressed_block() {
    let mut messages = Messages::default();
    let bytes = with_field(Codec::Deflate, TEXT, &[4, 0xc3, 0x28]);
    messages.file("deflate", &bytes, "x.avro: block 0 at byte 608: record 1: field 'text': a string is not UTF-8: ask for `dtype` 'bytes', or replace invalid bytes with `tolerate` 'utf8' (byte 28 of the decompressed block)");
}

#[test]
fn a_block_that_does_not_end_with_its_records() {
    let mut messages = Messages::default();
    let records: Vec<u8> = (0..3).flat_map(|id| Row::new(id).encode()).collect();
    let mut case = |codec: Codec, count: u64, expected: &str| {
        let bytes = container(SCHEMA, codec, [(count, records.clone())]);
        messages.file(&format!("{codec}, {count}"), &bytes, expected);
    };
    case(Codec::Null, 3, "no error");
    case(
        Codec::Null,
        2,
        "x.avro: block 0 at byte 668: the block's 2 records end 49 bytes before its payload does; `tolerate` 'trailing-block-bytes' leaves them out",
    );
    case(
        Codec::Null,
        4,
        "x.avro: block 0 at byte 717: record 3: field 'id': the input ends inside a value",
    );
    case(
        Codec::Null,
        1 << 32,
        "x.avro: block 0 at byte 721: record 3: field 'id': the input ends inside a value",
    );
    case(Codec::Deflate, 3, "no error");
    case(
        Codec::Deflate,
        2,
        "x.avro: block 0 at byte 608: the block's 2 records end 49 bytes before its payload does; `tolerate` 'trailing-block-bytes' leaves them out (byte 60 of the decompressed block)",
    );
    case(
        Codec::Deflate,
        4,
        "x.avro: block 0 at byte 608: record 3: field 'id': the input ends inside a value (byte 109 of the decompressed block)",
    );
    case(
        Codec::Deflate,
        1 << 32,
        "x.avro: block 0 at byte 608: record 3: field 'id': the input ends inside a value (byte 109 of the decompressed block)",
    );
}

/// The last record before the surplus bytes is not given out; all others are.
#[test]
fn a_block_with_bytes_behind_its_records_stands_behind_good_ones() {
    for codec in [Codec::Null, Codec::Deflate] {
        let mut blocks: Vec<(u64, Vec<u8>)> = (0..6).map(|id| (1, Row::new(id).encode())).collect();
        let mut payload: Vec<u8> = (6..9).flat_map(|id| Row::new(id).encode()).collect();
        payload.push(0);
        blocks.push((3, payload));
        blocks.push((1, Row::new(9).encode()));
        let folder = Folder::new();
        folder.write("x.avro", &container(SCHEMA, codec, blocks));
        for (batch_size, ends) in [(100, vec![0, 8]), (5, vec![0, 5, 8])] {
            for threads in [1, 3] {
                let dataset = folder.rows(batch_size).threads(Threads::Fixed(threads));
                let (ids, error) = read(dataset.build().unwrap().iter());
                let expected: Vec<Vec<i64>> = ends
                    .windows(2)
                    .map(|ends| (ends[0]..ends[1]).collect())
                    .collect();
                assert_eq!(ids, expected);
                let error = error.unwrap();
                assert_eq!(error.place.block, Some(6), "{error}");
                assert!(
                    matches!(
                        error.kind.avro(),
                        Some(avro::ErrorKind::TrailingBytes {
                            records: 3,
                            left: 1
                        })
                    ),
                    "{error}"
                );
            }
        }
    }
}

/// Earlier batches may have decoded several records of the block.
#[test]
fn records_are_counted_from_the_start_of_the_block() {
    let folder = Folder::new();
    let mut payload: Vec<u8> = (0..10).flat_map(|id| Row::new(id).encode()).collect();
    let mut bad = fields();
    bad[TEXT] = vec![2, 0xff];
    payload.extend(bad.concat());
    folder.write("x.avro", &container(SCHEMA, Codec::Null, [(11, payload)]));
    let dataset = folder.rows(4).build().unwrap();
    let (ids, error) = read(dataset.iter());
    // The valid records before the error are a batch of their own.
    assert_eq!(ids, [vec![0, 1, 2, 3], vec![4, 5, 6, 7], vec![8, 9]]);
    assert_eq!(
        folder.message(&error.unwrap()),
        "x.avro: block 0 at byte 988: record 10: field 'text': a string is not UTF-8: ask for `dtype` 'bytes', or replace invalid bytes with `tolerate` 'utf8'"
    );
}

/// The error comes after the valid records before it.
#[test]
fn a_block_of_no_records_with_bytes_stands_behind_good_ones() {
    for (codec, shuffle) in [
        (Codec::Null, 0),
        (Codec::Null, 100),
        (Codec::Deflate, 0),
        (Codec::Deflate, 100),
    ] {
        let good = (0..6).map(|id| (1, Row::new(id).encode()));
        let bad = (0, vec![1, 2]);
        let folder = Folder::new();
        let blocks = good.chain([bad]).chain([(1, Row::new(6).encode())]);
        folder.write("x.avro", &container(SCHEMA, codec, blocks));
        let dataset = folder.rows(4).shuffle_buffer_size(shuffle);
        let (ids, error) = read(dataset.build().unwrap().iter());
        assert_eq!(ids.iter().map(Vec::len).collect::<Vec<_>>(), [4, 2]);
        let mut ids = ids.concat();
        ids.sort();
        assert_eq!(ids, [0, 1, 2, 3, 4, 5]);
        let error = error.unwrap();
        assert_eq!(error.place.block, Some(6), "{error}");
        assert!(matches!(
            error.kind.avro(),
            Some(avro::ErrorKind::TrailingBytes {
                records: 0,
                left: 2
            })
        ));
    }
}

/// The block's bytes are not decompressed.
#[test]
fn a_block_of_no_records_that_decompresses_to_much() {
    let blocks = [(1, Row::new(0).encode()), (0, vec![0; 100 << 20])];
    let folder = Folder::new();
    folder.write("x.avro", &container(SCHEMA, Codec::Deflate, blocks));
    let (ids, error) = read(folder.rows(4).build().unwrap().iter());
    assert_eq!(ids, [[0]]);
    let error = error.unwrap();
    assert_eq!(error.place.block, Some(1), "{error}");
    assert!(
        matches!(error.kind.avro(), Some(avro::ErrorKind::Container(_))),
        "{error}"
    );
}

/// Writers that flush more often than they write leave such blocks.
#[test]
fn blocks_of_no_records_and_no_bytes_are_nothing() {
    for codec in [Codec::Null, Codec::Deflate, Codec::Snappy, Codec::Zstandard] {
        let rows = (0..6).map(|id| (1, Row::new(id).encode()));
        let blocks = rows.flat_map(|row| [(0, Vec::new()), row, (0, Vec::new())]);
        let folder = Folder::new();
        folder.write("x.avro", &container(SCHEMA, codec, blocks));
        for shuffle in [0, 100] {
            let dataset = folder.rows(4).shuffle_buffer_size(shuffle);
            let (ids, error) = read(dataset.build().unwrap().iter());
            let mut ids = ids.concat();
            ids.sort();
            assert_eq!(ids, [0, 1, 2, 3, 4, 5]);
            assert!(error.is_none(), "{codec}: {error:?}");
        }
    }
}

/// An impossible count must not allocate memory.
#[test]
fn more_records_than_bytes() {
    for codec in [Codec::Null, Codec::Deflate] {
        let folder = Folder::new();
        let block = (1 << 31, Row::new(0).encode());
        folder.write("x.avro", &container(SCHEMA, codec, [block]));
        let dataset = folder.rows(usize::MAX).memory_limit(u64::MAX);
        let error = crate::error(dataset).unwrap();
        assert!(
            matches!(error.kind, ErrorKind::TooManyRecords { records, .. } if records == 1 << 31),
            "{error}"
        );
        assert_eq!(error.place.block, Some(0));
    }
}
