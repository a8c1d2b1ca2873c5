//! Splits of a data set: lengths, shards, states, names of files. What all formats share is in the
//! conformance suite.

use std::fs;

use atds::index::write_index;
use atds::state::{State, StateMismatch};
use atds::{
    Codec, Dataset, DatasetBuilder, ErrorKind, OnError, Split, SplitBy, SplitFault, Threads,
};

use crate::common::{Folder, Row, SCHEMA, SYNC, container, read, read_all, rows_file};

const PARTS: [(&str, f64); 3] = [("train", 0.7), ("valid", 0.1), ("test", 0.2)];

/// Three files of 200, 201 and 202 records in blocks of 7.
fn folder() -> Folder {
    Folder::of_rows(3, 200, 7, Codec::Deflate)
}

fn split(name: &str, by: SplitBy) -> Split {
    Split::new(name, PARTS).by(by)
}

fn shuffled(builder: DatasetBuilder) -> DatasetBuilder {
    let builder = builder.shuffle_files(true).shuffle_blocks(true);
    builder.shuffle_buffer_size(50).seed(3)
}

fn ids(dataset: &Dataset) -> Vec<i64> {
    read_all(dataset.epoch(1)).concat()
}

fn sorted(mut ids: Vec<i64>) -> Vec<i64> {
    ids.sort();
    ids
}

#[test]
fn splits_share_the_records() {
    let folder = folder();
    for by in [SplitBy::Record, SplitBy::Block] {
        let mut all = Vec::new();
        for (name, part) in PARTS {
            let build = |threads: usize| {
                let builder = folder.rows(8).split(split(name, by.clone()));
                builder.threads(Threads::Fixed(threads))
            };
            let plain = build(1).build().unwrap();
            let whole = ids(&plain);
            assert_eq!(whole.len() as u64, plain.num_records().unwrap());
            assert!(whole.is_sorted());
            let expected = part * 603.0;
            assert!(
                (whole.len() as f64 - expected).abs() < 60.0,
                "{}",
                whole.len()
            );
            assert_eq!(ids(&build(4).build().unwrap()), whole);
            let mixed = shuffled(build(4)).build().unwrap();
            assert_eq!(ids(&mixed), ids(&shuffled(build(1)).build().unwrap()));
            let shards = (0..3).map(|rank| {
                let shard = mixed.shard(rank, 3).unwrap();
                let found = ids(&shard);
                assert_eq!(found.len() as u64, shard.num_records().unwrap());
                assert!(found.len().abs_diff(whole.len() / 3) <= 1);
                found
            });
            assert_eq!(sorted(shards.collect::<Vec<_>>().concat()), whole);
            all.extend(whole);
        }
        assert_eq!(sorted(all), (0..603).collect::<Vec<_>>());
    }
}

/// The records of a split, computed elsewhere: by Python's `xxhash`.
#[test]
fn members_are_those_of_the_documented_hash() {
    let folder = Folder::of_rows(1, 40, 7, Codec::Null);
    let found = |by| ids(&folder.rows(8).split(split("test", by)).build().unwrap());
    assert_eq!(found(SplitBy::Record), GOLDEN_RECORDS);
    assert_eq!(found(SplitBy::Block), GOLDEN_BLOCKS);
}

const GOLDEN_RECORDS: [i64; 8] = [3, 13, 17, 32, 33, 35, 37, 38];
const GOLDEN_BLOCKS: [i64; 5] = [35, 36, 37, 38, 39];

#[test]
fn blocks_of_other_splits_are_not_decompressed() {
    let folder = folder();
    let by_block = folder.rows(8).split(split("valid", SplitBy::Block));
    for builder in [by_block.clone(), shuffled(by_block)] {
        let mut batches = builder.build().unwrap().iter();
        let read = read_all(&mut batches).concat().len() as u64;
        let stats = batches.stats();
        assert!(read > 0 && read < 200);
        assert_eq!(stats.prepared_records, read);
        let files: u64 = fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().metadata().unwrap().len())
            .sum();
        assert!(stats.raw_bytes < files / 3);
    }
}

#[test]
fn goes_on_in_a_split_and_in_no_other() {
    let folder = folder();
    for by in [SplitBy::Record, SplitBy::Block] {
        let build = |name| {
            let builder = folder.rows(8).split(split(name, by.clone()));
            shuffled(builder).build().unwrap()
        };
        let train = build("train");
        let whole = read_all(train.iter());
        for given in [0, 1, whole.len() / 2, whole.len() - 1] {
            let mut batches = train.iter();
            batches
                .by_ref()
                .take(given)
                .for_each(|batch| drop(batch.unwrap()));
            let text = serde_json::to_string(&batches.state().unwrap()).unwrap();
            assert!(text.len() < 1_000, "{text}");
            let state: State = serde_json::from_str(&text).unwrap();
            let rest = read_all(build("train").resume(&state).unwrap());
            assert_eq!(rest, whole[given..]);
        }
        let state = train.iter().state().unwrap();
        let error = build("valid").resume(&state).unwrap_err();
        let ErrorKind::State(StateMismatch::Option { name: "split", .. }) = error.kind else {
            panic!("{error}");
        };
        let by = if by == SplitBy::Record {
            "record"
        } else {
            "block"
        };
        let of = |name| format!("\"{name} of test=0.2, train=0.7, valid=0.1 by {by}\"");
        let (train, valid) = (of("train"), of("valid"));
        let text = format!("`split` was {train} when it was taken, and is {valid}");
        assert!(error.to_string().ends_with(&text), "{error}");
        let error = shuffled(folder.rows(8))
            .build()
            .unwrap()
            .resume(&state)
            .unwrap_err();
        assert!(error.to_string().ends_with("and is null"), "{error}");
    }
}

/// The ranks that go on are others, and read what was left.
#[test]
fn other_ranks_go_on_with_merged_states() {
    let folder = folder();
    let train = shuffled(folder.rows(8).split(split("train", SplitBy::Record)));
    let train = train.build().unwrap();
    let (mut read, mut states) = (Vec::new(), Vec::new());
    for rank in 0..3 {
        let mut batches = train.shard(rank, 3).unwrap().iter();
        for _ in 0..5 {
            let batch = batches.next().unwrap().unwrap();
            read.extend_from_slice(batch.dense::<i64>("id").unwrap());
        }
        states.push(batches.state().unwrap());
    }
    let merged = State::merge(&states).unwrap();
    for rank in 0..2 {
        let shard = train.shard(rank, 2).unwrap();
        read.extend(read_all(shard.resume(&merged).unwrap()).concat());
    }
    assert_eq!(sorted(read), sorted(read_all(train.iter()).concat()));
}

#[test]
fn files_are_told_by_their_paths_below_the_root() {
    let folder = Folder::new();
    for (number, name) in ["a", "b"].into_iter().enumerate() {
        fs::create_dir(folder.join(name)).unwrap();
        let first = 100 * number as i64;
        let bytes = rows_file(first..first + 100, 7, Codec::Null);
        folder.write(&format!("{name}/part.avro"), &bytes);
    }
    let builder = || {
        folder
            .rows(8)
            .recursive(true)
            .split(split("test", SplitBy::Record))
    };
    let error = builder().build().unwrap_err();
    assert!(matches!(
        error.kind,
        ErrorKind::Split(SplitFault::SameName { .. })
    ));
    let text = folder.message(&error);
    assert!(
        text.starts_with("b/part.avro: it has the name of a/part.avro"),
        "{text}"
    );
    assert!(text.contains("and `root`"), "{text}");

    let found = ids(&builder().root(folder.path().to_owned()).build().unwrap());
    let of_first = |ids: &[i64]| {
        ids.iter()
            .copied()
            .filter(|&id| id < 100)
            .collect::<Vec<_>>()
    };
    let of_second: Vec<_> = found[of_first(&found).len()..]
        .iter()
        .map(|id| id - 100)
        .collect();
    assert_ne!(of_first(&found), of_second);
    // In another folder, and alone, they have the same records.
    let moved = Folder::new();
    fs::rename(folder.join("a"), moved.join("a")).unwrap();
    let alone = moved
        .rows(8)
        .recursive(true)
        .split(split("test", SplitBy::Record));
    let alone = alone.root(moved.path().to_owned()).build().unwrap();
    assert_eq!(ids(&alone), of_first(&found));
    // A root folder that has the files themselves changes nothing.
    let flat = |root: bool| {
        let builder = Dataset::builder(moved.join("a"), 8).split(split("test", SplitBy::Record));
        match root {
            true => builder.root(moved.join("a")),
            false => builder,
        }
    };
    assert_eq!(
        ids(&flat(true).build().unwrap()),
        ids(&flat(false).build().unwrap())
    );
}

#[test]
fn an_index_has_the_counts_of_all_splits() {
    let folder = folder();
    let index = tempfile::tempdir().unwrap();
    let to = index.path().join("index");
    let plain = folder.rows(8).build().unwrap();
    write_index(plain.files(), &to).unwrap();
    for by in [SplitBy::Record, SplitBy::Block] {
        let builder = folder.rows(8).split(split("test", by));
        let counted = builder.clone().build().unwrap().file_records().unwrap();
        let indexed = builder
            .index(to.clone())
            .build()
            .unwrap()
            .file_records()
            .unwrap();
        assert_eq!(counted, indexed);
    }
}

#[test]
fn damage_costs_a_split_its_own_records() {
    let folder = Folder::of_rows(2, 100, 10, Codec::Null);
    // A block of numbers without an end.
    let blocks = [(20, vec![0xff; 2_000])];
    let bad = folder.write("bad.avro", &container(SCHEMA, Codec::Null, blocks));
    let lost = |builder: DatasetBuilder| {
        let dataset = builder.on_error(OnError::SkipBlock).build().unwrap();
        let mut batches = dataset.iter();
        let read = read_all(&mut batches).concat();
        let planned = dataset.num_records().unwrap();
        let lost = batches.stats().skipped_records;
        assert_eq!(read.len() as u64 + lost, planned);
        (read, lost)
    };
    let (whole, all_lost) = lost(folder.rows(8));
    assert_eq!(all_lost, 20);
    let (mut read, mut sum) = (Vec::new(), 0);
    for (name, _) in PARTS {
        let (of_split, lost) = lost(folder.rows(8).split(split(name, SplitBy::Record)));
        read.extend(of_split);
        sum += lost;
    }
    assert_eq!((sorted(read), sum), (whole, 20));
    // A file is left out of all splits, also of one that has no record of the damage.
    let files = |name| {
        let builder = folder.rows(8).split(split(name, SplitBy::Block));
        builder
            .on_error(OnError::SkipFile)
            .build()
            .unwrap()
            .files()
            .to_vec()
    };
    for (name, _) in PARTS {
        assert!(!files(name).contains(&bad), "{name}");
    }
}

/// However bytes are read: with one thread or more, or mapped.
#[test]
fn all_blocks_of_a_split_before_damage_are_read() {
    let folder = Folder::new();
    let bytes = rows_file(0..400, 10, Codec::Null);
    let path = folder.write("00.avro", &bytes);
    let build = |threads, mmap| {
        let by_block = folder.rows(1).split(split("valid", SplitBy::Block));
        let builder = by_block.threads(Threads::Fixed(threads)).mmap(mmap);
        builder.build().unwrap()
    };
    let whole = read_all(build(1, false).iter());
    let markers = bytes.windows(16).enumerate();
    let markers = markers.filter(|(_, window)| *window == SYNC.0);
    // The first ends the header.
    let ends: Vec<usize> = markers.map(|(at, _)| at).skip(1).collect();
    assert_eq!(ends.len(), 40);
    for (block, &end) in ends.iter().enumerate() {
        let mut damaged = bytes.clone();
        damaged[end] ^= 1;
        fs::write(&path, damaged).unwrap();
        let before = |batch: &&Vec<i64>| batch[0] < 10 * block as i64;
        let expected: Vec<_> = whole.iter().take_while(before).cloned().collect();
        for (threads, mmap) in [(1, false), (4, false), (1, true)] {
            let dataset = build(threads, mmap);
            let (found, error) = read(dataset.iter());
            assert!(error.is_some());
            assert_eq!(found, expected, "block {block}, {threads} threads");
        }
    }
}

/// A codec may expand a few bytes to so many records.
#[test]
fn a_count_that_is_too_large_to_split_costs_its_block() {
    let folder = Folder::of_rows(1, 100, 10, Codec::Bzip2);
    let good = Row::new(5).encode();
    let noise = (0..3000_u64)
        .map(|n| (n * n * n).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40)
        .flat_map(u64::to_le_bytes)
        .collect();
    let blocks = [(1, good.clone()), ((1 << 28) + 1, noise), (1, good)];
    folder.write("01.avro", &container(SCHEMA, Codec::Bzip2, blocks));
    let (mut found, mut damage) = (0, 0);
    for (name, _) in PARTS {
        let builder = folder.rows(8).split(split(name, SplitBy::Record));
        let error = read(builder.clone().build().unwrap().iter()).1.unwrap();
        assert!(
            folder
                .message(&error)
                .starts_with("01.avro: block 1 at byte ")
        );
        let dataset = builder.on_error(OnError::SkipBlock).build().unwrap();
        let mut batches = dataset.iter();
        let of_split = read_all(&mut batches).concat().len();
        assert_eq!(of_split as u64, dataset.num_records().unwrap());
        found += of_split;
        damage += batches.skipped(0).len();
    }
    assert_eq!((found, damage), (102, 3));
}
