//! A small file cut at every byte, and a file with every byte changed.

use atds::{Codec, DatasetBuilder, Threads};

use crate::common::{CODECS, Folder, read, rows_file};

const RECORDS: i64 = 11;
const PER_BLOCK: usize = 3;

/// The offsets of the ends of the header and of each block.
fn ends(codec: Codec) -> Vec<usize> {
    let blocks = (0..=RECORDS).step_by(PER_BLOCK).chain([RECORDS]);
    blocks
        .map(|records| rows_file(0..records, PER_BLOCK, codec).len())
        .collect()
}

fn variants(folder: &Folder) -> Vec<(&'static str, DatasetBuilder)> {
    let dataset = || folder.rows(2).threads(Threads::Fixed(1));
    vec![
        ("plain", dataset()),
        ("mapped", dataset().mmap(true)),
        ("tiny reads", dataset().reader_buffer_size(3)),
        ("threads", dataset().threads(Threads::Fixed(2))),
        ("shuffled", dataset().shuffle_buffer_size(4)),
        (
            "shuffled, mapped",
            dataset().shuffle_buffer_size(4).mmap(true),
        ),
        ("shuffled blocks", dataset().shuffle_blocks(true)),
        (
            "shuffled blocks, mapped",
            dataset().shuffle_blocks(true).mmap(true),
        ),
    ]
}

#[test]
fn a_cut_anywhere_but_between_blocks_is_an_error_after_all_whole_blocks() {
    for codec in [Codec::Null, Codec::Deflate] {
        let whole = rows_file(0..RECORDS, PER_BLOCK, codec);
        let ends = ends(codec);
        assert_eq!(*ends.last().unwrap(), whole.len());
        let folder = Folder::new();
        for len in 0..=whole.len() {
            folder.write("x.avro", &whole[..len]);
            for (how, dataset) in variants(&folder) {
                let at = format!("{codec}, {how}, cut at {len} of {}", whole.len());
                let Ok(dataset) = dataset.build() else {
                    assert!(len < ends[0], "{at}");
                    continue;
                };
                assert!(len >= ends[0], "{at}: a cut header");
                let (ids, error) = read(dataset.iter());
                let mut ids = ids.concat();
                ids.sort();
                let blocks = ends.iter().filter(|&&end| end <= len).count() - 1;
                let expected = RECORDS.min((PER_BLOCK * blocks) as i64);
                assert_eq!(ids, (0..expected).collect::<Vec<_>>(), "{at}");
                assert_eq!(error.is_none(), ends.contains(&len), "{at}: {error:?}");
            }
        }
    }
}

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

/// A changed byte gives an error or other values, but never more rows.
#[test]
fn any_byte_changed_gives_an_error_or_batches() {
    for codec in CODECS {
        let whole = rows_file(0..RECORDS, PER_BLOCK, codec);
        let folder = Folder::new();
        let start = if codec == Codec::Null {
            0
        } else {
            ends(codec)[0]
        };
        for at in start..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x41;
            folder.write("x.avro", &bytes);
            let Ok(dataset) = folder.rows(4).build() else {
                continue;
            };
            let mut batches = dataset.iter();
            let ended = batches.by_ref().find_map(Result::err);
            let records = batches.stats().records;
            // The count of a block can change only together with its records.
            assert!(
                ended.is_some() || records == RECORDS as u64,
                "{codec}, byte {at}"
            );
        }
    }
}
