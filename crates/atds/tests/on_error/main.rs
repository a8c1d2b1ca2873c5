//! Damage that is left out by choice.
#![allow(clippy::unwrap_used)]

#[path = "../common/mod.rs"]
mod common;

use std::collections::BTreeSet;
use std::fs;
use std::ops::Range;
use std::path::Path;

use atds::damage::{MaxSkipped, Skipped};
use atds::error::ErrorKind;
use atds::interface::Interface;
use atds::state::State;
use atds::{Batches, Codec, Dataset, DatasetBuilder, OnError};
use avro_block::MappedBlocks;

use common::{CODECS, Folder, features, read_all, rows_file};

/// The range of each block in the bytes of a file.
fn ranges(bytes: &[u8]) -> Vec<Range<usize>> {
    let blocks = MappedBlocks::from_bytes(bytes.to_vec().into()).unwrap();
    let range = |block: avro_block::Block| {
        let start = block.offset as usize;
        start..start + block.len as usize
    };
    blocks.map(|block| range(block.unwrap())).collect()
}

fn skipping(path: &Path) -> DatasetBuilder {
    Dataset::builder(path, 4)
        .features(features())
        .on_error(OnError::SkipBlock)
}

/// The ids of the records of batches, whatever other values they have.
fn ids(batches: &mut Batches) -> Vec<i64> {
    let ids = batches.map(|batch| batch.unwrap().dense::<i64>("id").unwrap().to_vec());
    ids.collect::<Vec<_>>().concat()
}

/// Where damage is, and what it costs.
fn places(skipped: &[Skipped]) -> BTreeSet<String> {
    let place = |skipped: &Skipped| {
        let place = &skipped.error.place;
        format!(
            "{:?} {:?} {:?} {:?}",
            place.block, place.record, skipped.records, skipped.bytes
        )
    };
    let places: BTreeSet<String> = skipped.iter().map(place).collect();
    assert_eq!(places.len(), skipped.len(), "listed twice: {skipped:?}");
    places
}

/// Reads a damaged file in all ways. They must agree on what is lost and what is not. Returns the ids,
/// and the number of records that are known to be lost.
fn read_in_all_ways(path: &Path, of: &str) -> (Vec<i64>, u64) {
    let dataset = skipping(path).build().unwrap();
    let mut batches = dataset.iter();
    let plain = ids(&mut batches);
    let (stats, skipped) = (batches.stats(), batches.skipped(0));
    assert_eq!(
        dataset.num_records().unwrap(),
        plain.len() as u64 + stats.skipped_records,
        "{of}: {skipped:?}"
    );
    let is_lost = stats.skipped_records > 0 || stats.skipped_bytes > 0;
    assert_eq!(is_lost, !skipped.is_empty(), "{of}: {skipped:?}");
    let mut sorted = plain.clone();
    sorted.sort_unstable();
    type Way = fn(DatasetBuilder) -> DatasetBuilder;
    let ways: [Way; 4] = [
        |builder| builder.mmap(true).threads(atds::Threads::Fixed(3)),
        |builder| builder.shuffle_blocks(true).shuffle_buffer_size(5),
        |builder| builder.reader_buffer_size(11),
        |builder| builder.drop_remainder(true).shuffle_buffer_size(100),
    ];
    for (number, way) in ways.into_iter().enumerate() {
        let mut batches = way(skipping(path)).build().unwrap().iter();
        let mut found = Vec::new();
        for batch in batches.by_ref() {
            let batch = batch.unwrap();
            let ids = batch.dense::<i64>("id").unwrap();
            match batch.dense::<bool>("mask") {
                Ok(mask) => {
                    let both = ids.iter().zip(mask);
                    found.extend(both.filter(|(_, read)| **read).map(|(id, _)| *id));
                }
                Err(_) => found.extend(ids),
            }
        }
        let total = batches.stats();
        if number == 3 {
            let planned = plain.len() as u64 + stats.skipped_records;
            assert!(found.len() as u64 >= (planned / 4 * 4).saturating_sub(stats.skipped_records));
            continue;
        }
        found.sort_unstable();
        assert_eq!(
            found,
            sorted,
            "{of}, way {number}: {:?}",
            batches.skipped(0)
        );
        assert_eq!(
            (total.skipped_records, total.skipped_bytes),
            (stats.skipped_records, stats.skipped_bytes),
            "{of}, way {number}"
        );
        assert_eq!(
            places(&batches.skipped(0)),
            places(&skipped),
            "{of}, way {number}"
        );
    }
    let shards = (0..3).map(|index| {
        let shard = dataset.shard(index, 3).unwrap();
        ids(&mut shard.iter())
    });
    assert_eq!(
        shards.collect::<Vec<_>>().concat(),
        plain,
        "{of}: in shards"
    );
    (plain, stats.skipped_records)
}

/// Every seventh byte of a file of each codec, with another value.
#[test]
fn each_byte() {
    let folder = Folder::new();
    for codec in CODECS {
        let whole = rows_file(0..24, 4, codec);
        let blocks = ranges(&whole);
        let is_checked = !matches!(codec, Codec::Null | Codec::Deflate);
        for at in (blocks[0].start..whole.len()).step_by(7) {
            let mut bytes = whole.clone();
            bytes[at] ^= if at % 2 == 0 { 0x40 } else { 0xff };
            let path = folder.write("x.avro", &bytes);
            let of = format!("{codec}, byte {at} of {blocks:?}");
            let (found, _) = read_in_all_ways(&path, &of);
            let hit = blocks.iter().position(|block| block.contains(&at)).unwrap() as i64;
            let others = (0..24).filter(|id| id / 4 != hit);
            let found_others = found.iter().copied().filter(|id| id / 4 != hit);
            match is_checked {
                true => assert!(others.eq(found_others), "{of}: {found:?}"),
                // Another value may be the id of another record.
                false => assert!(
                    others.clone().all(|id| found.contains(&id)) && found.len() <= 24 + 4,
                    "{of}: {found:?}"
                ),
            }
        }
    }
}

#[test]
fn each_truncation() {
    let folder = Folder::new();
    for codec in [Codec::Null, Codec::Zstandard] {
        let whole = rows_file(0..12, 3, codec);
        let blocks = ranges(&whole);
        for len in (blocks[0].start..whole.len()).step_by(5) {
            let path = folder.write("x.avro", &whole[..len]);
            let (found, _) = read_in_all_ways(&path, &format!("{codec}, {len}"));
            let healthy = blocks.iter().filter(|block| block.end <= len).count() as i64;
            assert_eq!(
                found,
                (0..3 * healthy).collect::<Vec<_>>(),
                "{codec}, {len}"
            );
        }
    }
}

/// Two damaged files among three.
fn damaged_files(codec: Codec) -> Folder {
    let folder = Folder::new();
    for file in 0..3_i64 {
        let mut bytes = rows_file(20 * file..20 * (file + 1), 5, codec);
        let blocks = ranges(&bytes);
        match file {
            0 => bytes[blocks[1].start + 9] ^= 0xff,
            2 => bytes[blocks[3].end - 1] ^= 0xff,
            _ => {}
        }
        folder.write(&format!("{file}.avro"), &bytes);
    }
    folder
}

fn healthy() -> Vec<i64> {
    (0..60)
        .filter(|id| !(5..10).contains(id) && *id < 55)
        .collect()
}

#[test]
fn a_list_says_what_was_left_out() {
    let folder = damaged_files(Codec::Snappy);
    let log = folder.join("skipped.jsonl");
    let dataset = skipping(folder.path()).skip_log(log.clone()).epochs(2);
    let dataset = dataset.build().unwrap();
    let mut batches = dataset.iter();
    let found = read_all(&mut batches);
    assert_eq!(found.concat(), [healthy(), healthy()].concat());
    // Plans depend on counts alone: the marker is of the framing.
    let lens: Vec<_> = found[..14].iter().map(Vec::len).collect();
    assert_eq!(lens, [4, 1, 2, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 3]);
    let skipped = batches.skipped(0);
    let [block, marker] = &skipped[..] else {
        panic!("{skipped:?}");
    };
    assert_eq!((block.records, block.error.place.block), (Some(5), Some(1)));
    assert_eq!((marker.records, marker.error.place.block), (None, Some(3)));
    let stats = batches.stats();
    assert_eq!(stats.skipped_records, 10);
    assert_eq!(stats.skipped_bytes, 2 * marker.bytes.unwrap());
    let lines = fs::read_to_string(log).unwrap();
    let lines: Vec<serde_json::Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(
        lines,
        [
            block.to_json(Interface::Rust),
            marker.to_json(Interface::Rust)
        ]
    );
    assert!(lines[0]["file"].as_str().unwrap().ends_with("0.avro"));
}

/// A block that states a size which it cannot have costs itself, however little memory there is.
#[test]
fn a_false_size_costs_the_block() {
    let folder = Folder::new();
    let mut bytes = rows_file(0..20, 5, Codec::Snappy);
    let mut blocks = MappedBlocks::from_bytes(bytes.clone().into()).unwrap();
    let block = blocks.nth(1).unwrap().unwrap();
    // The payload, which the marker follows, begins with its decompressed size: 2 GiB.
    let at = (block.offset + block.len) as usize - 16 - block.payload.len();
    bytes[at..at + 5].copy_from_slice(&[0x80, 0x80, 0x80, 0x80, 0x08]);
    let path = folder.write("size.avro", &bytes);
    for threads in [1, 3] {
        let dataset = skipping(&path)
            .memory_limit(1 << 20)
            .threads(atds::Threads::Fixed(threads));
        let mut batches = dataset.build().unwrap().iter();
        let expected: Vec<i64> = (0..5).chain(10..20).collect();
        assert_eq!(ids(&mut batches), expected);
        assert_eq!(batches.skipped(0).len(), 1);
        assert_eq!(batches.skipped(0)[0].records, Some(5));
    }
}

/// Bytes in which the next block is searched take no memory.
#[test]
fn damage_may_be_longer_than_the_memory_limit() {
    let folder = Folder::new();
    let mut bytes = rows_file(0..20, 5, Codec::Null);
    let mut blocks = MappedBlocks::from_bytes(bytes.clone().into()).unwrap();
    let block = blocks.nth(1).unwrap().unwrap();
    let at = (block.offset + block.len) as usize - 20;
    bytes.splice(at..at, std::iter::repeat_n(0xaa, 3 << 20));
    let path = folder.write("hole.avro", &bytes);
    for threads in [1, 3] {
        for shuffles in [false, true] {
            let dataset = skipping(&path).memory_limit(1 << 20);
            let dataset = dataset.shuffle_blocks(shuffles);
            let dataset = dataset.threads(atds::Threads::Fixed(threads));
            let mut batches = dataset.build().unwrap().iter();
            let mut found = ids(&mut batches);
            found.sort_unstable();
            let expected: Vec<i64> = (0..5).chain(10..20).collect();
            assert_eq!(found, expected);
        }
    }
}

#[test]
fn too_much_is_an_error_after_all() {
    let folder = damaged_files(Codec::Snappy);
    let run = |max| {
        let dataset = skipping(folder.path()).max_skipped(max).build().unwrap();
        let shard = dataset.shard(0, 1).unwrap().with_rank(3, 0);
        let (mut rows, mut batches) = (0, shard.iter());
        while let Some(batch) = batches.next() {
            match batch {
                Ok(batch) => rows += batch.rows(),
                Err(error) => {
                    assert!(batches.next().is_none(), "nothing follows an error");
                    return Err((rows, error));
                }
            }
        }
        Ok(rows)
    };
    // Five records, and a block of the framing with about five.
    assert_eq!(run(MaxSkipped::Records(10)).unwrap(), 50);
    assert_eq!(run(MaxSkipped::Fraction(0.2)).unwrap(), 50);
    for max in [
        MaxSkipped::Records(0),
        MaxSkipped::Records(2),
        MaxSkipped::Fraction(0.01),
    ] {
        let (rows, error) = run(max).unwrap_err();
        assert_eq!(rows, 5, "{max:?}");
        let ErrorKind::TooManySkipped { skipped, rank, .. } = error.kind else {
            panic!("{error}");
        };
        assert_eq!((skipped, rank), (3, 3));
        assert!(error.to_string().contains("rank 3"), "{error}");
    }
    assert!(run(MaxSkipped::Records(8)).is_err());
    let wrong = skipping(folder.path()).max_skipped(MaxSkipped::Fraction(1.5));
    assert!(wrong.build().is_err());
}

/// Also where it comes after the last batch.
#[test]
fn a_file_that_is_cut_can_be_too_much() {
    let folder = Folder::new();
    let bytes = rows_file(0..20, 4, Codec::Snappy);
    let blocks = ranges(&bytes);
    folder.write("x.avro", &bytes[..blocks[4].start + 3]);
    let builder = || skipping(folder.path()).max_skipped(MaxSkipped::Records(0));
    let mut batches = builder().build().unwrap().iter();
    assert_eq!(batches.by_ref().take(4).filter(Result::is_ok).count(), 4);
    let error = batches.next().unwrap().unwrap_err();
    assert!(
        matches!(error.kind, ErrorKind::TooManySkipped { .. }),
        "{error}"
    );
    assert!(batches.next().is_none());
}

#[test]
fn damaged_files_are_left_out_whole() {
    let folder = damaged_files(Codec::Snappy);
    folder.write("3.avro", b"no Avro at all");
    let builder = || Dataset::builder(folder.path(), 4).features(features());
    let dataset = builder().on_error(OnError::SkipFile).build().unwrap();
    assert_eq!(
        read_all(dataset.iter()).concat(),
        (20..40).collect::<Vec<_>>()
    );
    let names: Vec<_> = dataset
        .skipped_files()
        .iter()
        .map(|skipped| {
            skipped.to_json(Interface::Rust)["file"]
                .as_str()
                .unwrap()
                .to_owned()
        })
        .map(|name| name.rsplit('/').next().unwrap().to_owned())
        .collect();
    assert_eq!(names, ["3.avro", "0.avro", "2.avro"]);
    // Without a header there is nothing to go on from.
    let error = builder().on_error(OnError::SkipBlock).build().unwrap_err();
    assert!(error.to_string().contains("3.avro"), "{error}");
    fs::remove_file(folder.join("1.avro")).unwrap();
    let error = builder().on_error(OnError::SkipFile).build().unwrap_err();
    assert!(
        matches!(error.kind, ErrorKind::AllSkipped { files: 3 }),
        "{error}"
    );
}

#[test]
fn batches_keep_their_shape_under_a_mask() {
    let folder = damaged_files(Codec::Snappy);
    let builder = || skipping(folder.path()).drop_remainder(true);
    let dataset = builder().mask("read".to_owned()).build().unwrap();
    let mut found = Vec::new();
    for batch in dataset.iter() {
        let batch = batch.unwrap();
        assert_eq!(batch.rows(), 4);
        let (ids, mask) = (
            batch.dense::<i64>("id").unwrap(),
            batch.dense::<bool>("read").unwrap(),
        );
        for (id, is_read) in ids.iter().zip(mask) {
            assert!(*is_read || *id == 0);
            if *is_read {
                found.push(*id);
            }
        }
    }
    // The framing has 55 records: 13 batches of four, and three are left over.
    assert_eq!(found, healthy()[..47]);
    let error = builder().mask("id".to_owned()).build().unwrap_err();
    assert!(error.to_string().contains("`mask`"), "{error}");
}

/// With one percent of the blocks damaged, all ranks end on the same step, and have read every other
/// record once, also where one of them goes on in the middle.
#[test]
fn ranks_end_on_the_same_step() {
    let folder = Folder::new();
    let (files, per_file, per_block) = (4, 1_000, 4);
    let (mut lost, mut blocks_in_all) = (BTreeSet::new(), 0);
    for file in 0..files {
        let mut bytes = rows_file(
            per_file * file..per_file * (file + 1),
            per_block,
            Codec::Snappy,
        );
        let blocks = ranges(&bytes);
        for (block, range) in blocks.iter().enumerate() {
            blocks_in_all += 1;
            if blocks_in_all % 100 == 7 {
                bytes[range.start + 12] ^= 0xff;
                let first = per_file * file + (block * per_block) as i64;
                lost.extend(first..first + per_block as i64);
            }
        }
        folder.write(&format!("{file}.avro"), &bytes);
    }
    assert_eq!(lost.len(), 40);
    let build = || {
        let builder = skipping(folder.path())
            .shuffle_files(true)
            .shuffle_buffer_size(64);
        builder.seed(11).build().unwrap()
    };
    let (mut all, mut steps) = (Vec::new(), Vec::new());
    for rank in 0..8 {
        let shard = build().shard(rank, 8).unwrap();
        let mut batches = shard.iter();
        let mut of_rank = Vec::new();
        let mut state = None;
        for batch in batches.by_ref().take(50) {
            of_rank.push(batch.unwrap().dense::<i64>("id").unwrap().to_vec());
        }
        if rank % 2 == 0 {
            state = Some(serde_json::to_string(&batches.state().unwrap()).unwrap());
        }
        let mut rest = Vec::new();
        match state {
            None => {
                for batch in batches.by_ref() {
                    rest.push(batch.unwrap().dense::<i64>("id").unwrap().to_vec());
                }
            }
            Some(text) => {
                let state: State = serde_json::from_str(&text).unwrap();
                let there = build().shard(rank, 8).unwrap();
                for batch in there.resume(&state).unwrap() {
                    rest.push(batch.unwrap().dense::<i64>("id").unwrap().to_vec());
                }
            }
        }
        of_rank.extend(rest);
        steps.push(of_rank.len());
        all.extend(of_rank.concat());
    }
    assert_eq!(steps, [125; 8]);
    all.sort_unstable();
    let expected: Vec<_> = (0..4_000).filter(|id| !lost.contains(id)).collect();
    assert_eq!(all, expected);
}
