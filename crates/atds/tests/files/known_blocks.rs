//! Where an epoch has found the blocks of files: those that follow do not look for them.

use std::fs::{self, File};
use std::time::SystemTime;

use atds::{Codec, DType, Dataset, DatasetBuilder, Feature, FileFormat, SplitBy, Threads};
use avro_block::{Frame, Framer};

use crate::common::rows_file;
use crate::layouts::{Arrange, FEW, FORMATS, Indexed, blocks, orders, split, spoil_others};

#[test]
fn blocks_are_looked_for_once() {
    for format in FORMATS {
        for (order, (arrange, is_skipped)) in orders().into_iter().enumerate() {
            for threads in 1..=3 {
                let indexed = Indexed::new(format);
                let build = || {
                    let builder = arrange(indexed.plain()).split(split(FEW, SplitBy::Block));
                    builder.threads(Threads::Fixed(threads)).build().unwrap()
                };
                let (dataset, other) = (build(), build());
                let expected = [1, 2].map(|epoch| indexed.ids(other.epoch(epoch)));
                let of_ranks =
                    [0, 1].map(|rank| indexed.ids(other.shard(rank, 2).unwrap().epoch(1)));
                drop(indexed.ids(dataset.epoch(0)));
                // For the shares of ranks, which a pass of its own counts.
                dataset.num_records().unwrap();
                spoil_others(&indexed);
                let what = format!("{format}, order {order}, {threads} threads");
                if is_skipped {
                    assert_eq!(indexed.ids(dataset.epoch(1)), expected[0], "{what}");
                    for (rank, of_rank) in of_ranks.iter().enumerate() {
                        let shard = dataset.shard(rank as u64, 2).unwrap();
                        assert_eq!(indexed.ids(shard.epoch(1)), *of_rank, "{what}, rank {rank}");
                    }
                    assert_eq!(indexed.ids(dataset.epoch(2)), expected[1], "{what}");
                }
                assert!(indexed.read(build().epoch(1)).1.is_some(), "{what}");
                // With another time it is another file.
                for file in &indexed.files {
                    let file = File::options().write(true).open(file).unwrap();
                    file.set_modified(SystemTime::now()).unwrap();
                }
                assert!(indexed.read(dataset.epoch(2)).1.is_some(), "{what}");
            }
        }
    }
}

/// Reads smaller than a file, and larger than a block.
fn read_in_parts(indexed: &Indexed, format: FileFormat) -> DatasetBuilder {
    let builder = indexed.plain().drop_remainder(false);
    match format {
        FileFormat::Avro => builder.reader_buffer_size(4 << 10),
        _ => builder,
    }
}

#[test]
fn several_workers_read_the_blocks_that_are_known_and_check_them() {
    let orders: [Arrange; 2] = [|builder| builder, |builder| builder.shuffle_blocks(true)];
    for format in FORMATS {
        for (order, arrange) in orders.into_iter().enumerate() {
            for threads in [1, 2, 3, 16] {
                let indexed = Indexed::new(format);
                let build = |threads| {
                    let builder = arrange(read_in_parts(&indexed, format)).seed(3);
                    builder.threads(Threads::Fixed(threads)).build().unwrap()
                };
                let dataset = build(threads);
                let expected = [0, 1, 2].map(|epoch| indexed.ids(build(1).epoch(epoch)));
                let found = [0, 1, 2].map(|epoch| indexed.ids(dataset.epoch(epoch)));
                let what = format!("{format}, order {order}, {threads} threads");
                assert_eq!(found, expected, "{what}");
                // The last byte of a block is that of its sync marker, and the first one that of a length or a count.
                let blocks = blocks(format, &indexed.files[1]);
                let (bytes, _) = &blocks[blocks.len() / 2];
                let at = match format {
                    FileFormat::Avro => bytes.end - 1,
                    _ => bytes.start,
                };
                indexed.change(1, |all| all[at] ^= 1);
                let (found, error) = indexed.read(dataset.epoch(1));
                assert!(expected[1].concat().starts_with(&found.concat()), "{what}");
                let text = error.unwrap().to_string();
                let place = format!("block {}", blocks.len() / 2);
                assert!(text.contains(&place), "{what}: {text}");
                if threads > 1 && format == FileFormat::Avro {
                    assert!(text.contains("has changed"), "{what}: {text}");
                }
            }
        }
    }
}

#[test]
fn a_file_that_shrinks_while_workers_read_it_is_an_error() {
    for format in FORMATS {
        let indexed = Indexed::new(format);
        let builder = read_in_parts(&indexed, format).prefetch(1);
        let dataset = builder.threads(Threads::Fixed(2)).build().unwrap();
        let expected = indexed.ids(dataset.epoch(0)).concat();
        let mut batches = dataset.epoch(1);
        assert!(batches.next().unwrap().is_ok());
        for file in &indexed.files {
            let file = File::options().write(true).open(file).unwrap();
            file.set_len(file.metadata().unwrap().len() / 2).unwrap();
        }
        let (found, error) = indexed.read(batches);
        assert!(found.concat().len() < expected.len(), "{format}");
        let text = error.unwrap().to_string();
        assert!(text.contains("shrank"), "{format}: {text}");
    }
}

/// A batch of rows of many files is planned before the first of them is decoded.
#[cfg(target_os = "linux")]
#[test]
fn few_files_are_open_for_workers() {
    const FILES: i64 = 300;
    let folder = tempfile::tempdir().unwrap();
    for file in 0..FILES {
        let rows = rows_file(40 * file..40 * (file + 1), 5, Codec::Null);
        fs::write(folder.path().join(format!("{file:03}.avro")), rows).unwrap();
    }
    let open = || {
        let all = fs::read_dir("/proc/self/fd").unwrap();
        let all = all.filter_map(|file| fs::read_link(file.ok()?.path()).ok());
        all.filter(|path| path.starts_with(folder.path())).count()
    };
    let builder = Dataset::builder(folder.path(), 6_000).reader_buffer_size(1_024);
    let builder = builder.features([Feature::dense("id", &[], DType::Int64)]);
    let dataset = builder.threads(Threads::Fixed(3)).build().unwrap();
    for epoch in 0..3 {
        let (mut most, mut records) = (0, 0_usize);
        for batch in dataset.epoch(epoch) {
            records += batch.unwrap().rows();
            most = most.max(open());
        }
        assert_eq!(records as i64, 40 * FILES);
        assert!(most <= 64 + 8, "{most} in epoch {epoch}");
        assert_eq!(open(), 0);
    }
}

/// A file of Avro in which the counts of blocks take a byte more than they must.
fn with_long_heads(bytes: Vec<u8>) -> Vec<u8> {
    let mut framer = Framer::new();
    framer.push(bytes.clone().into());
    let mut found: Vec<u8> = Vec::new();
    loop {
        match framer.next().unwrap() {
            Frame::Block(block) => {
                let (start, len) = (block.offset as usize, block.len as usize);
                if found.is_empty() {
                    found.extend(&bytes[..start]);
                }
                assert!(bytes[start] < 0x80, "the count takes a byte");
                found.extend([bytes[start] | 0x80, 0]);
                found.extend(&bytes[start + 1..start + len]);
            }
            Frame::NeedMore(_) => return found,
            _ => {}
        }
    }
}

#[test]
fn blocks_with_long_heads_are_looked_for_again() {
    let indexed = Indexed::new(FileFormat::Avro);
    fs::write(
        &indexed.files[1],
        with_long_heads(rows_file(400..800, 30, Codec::Null)),
    )
    .unwrap();
    let arranged: [Arrange; 3] = [
        |builder| builder.split(split(0.5, SplitBy::Block)),
        |builder| builder.split(split(FEW, SplitBy::Record)),
        |builder| builder.shuffle_blocks(true),
    ];
    for arrange in arranged {
        let build = || arrange(indexed.plain()).build().unwrap();
        let (dataset, other) = (build(), build());
        let expected = indexed.ids(dataset.epoch(0));
        assert!(expected.concat().iter().any(|id| (400..800).contains(id)));
        assert_eq!(indexed.ids(dataset.epoch(0)), expected);
        assert_eq!(indexed.ids(other.epoch(0)), expected);
    }
}

#[test]
fn rows_of_blocks_that_are_known_are_checked_as_they_are_decoded() {
    let orders: [Arrange; 3] = [
        |builder| builder,
        |builder| builder.shuffle_buffer_size(60).seed(5),
        |builder| builder.interleave(2, 5),
    ];
    for (order, arrange) in orders.into_iter().enumerate() {
        for (threads, mmap) in [(1, false), (2, false), (3, true)] {
            let indexed = Indexed::new(FileFormat::BTable);
            let build = || {
                let builder = arrange(indexed.plain()).drop_remainder(false).mmap(mmap);
                builder.threads(Threads::Fixed(threads)).build().unwrap()
            };
            let dataset = build();
            drop(indexed.ids(dataset.epoch(0)));
            let what = format!("order {order}, {threads} threads");
            let expected = indexed.ids(build().epoch(1));
            assert_eq!(indexed.ids(dataset.epoch(1)), expected, "{what}");
            let blocks = blocks(FileFormat::BTable, &indexed.files[1]);
            let (bytes, _) = &blocks[blocks.len() / 2];
            // Of the first row of a block, one cell less or more: the others are elsewhere than they were.
            indexed.change(1, |all| all[bytes.start + 3] ^= 1);
            let (found, error) = indexed.read(dataset.epoch(1));
            if order == 0 {
                // What is elsewhere may be a row, too, for who walks all rows as well.
                let (walked, error) = indexed.read(build().epoch(1));
                assert!(walked.concat().starts_with(&found.concat()), "{what}");
                assert!(error.is_some());
            }
            let text = error.unwrap().to_string();
            let block = format!("1.btable: block {}", blocks.len() / 2);
            assert!(text.contains(&block), "{what}: {text}");
        }
    }
}
