//! Splits of damaged files, and the names that decide what is in a split.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;
use std::{fs, thread};

use atds::{Codec, Dataset, DatasetBuilder, ErrorKind, OnError, Shuffle, Split, SplitBy, Threads};

use crate::common::{Folder, SCHEMA, container, read, read_all, rows_file};

const PARTS: [(&str, f64); 3] = [("a", 0.12), ("b", 0.12), ("c", 0.76)];

fn by_block(name: &str) -> Split {
    Split::new(name, PARTS).by(SplitBy::Block)
}

/// Before damage, a split has its records, however the file is read and wherever an iteration went on.
#[test]
fn records_before_damage_are_read() {
    let folder = Folder::new();
    let mut bytes = rows_file(0..3_000, 10, Codec::Null);
    let marker = bytes.len() * 5 / 6;
    let at = marker
        + bytes[marker..]
            .windows(16)
            .position(|at| at == b"-- the marker --")
            .unwrap();
    bytes[at] = b'x';
    folder.write("damaged.avro", &bytes);
    for name in ["a", "b"] {
        let build = |threads, mmap: bool, listed: bool| {
            let builder = folder.rows(10).split(by_block(name)).mmap(mmap);
            let builder = builder.threads(Threads::Fixed(threads));
            builder.shuffle_blocks(listed).build().unwrap()
        };
        let (expected, error) = read(build(1, false, false).iter());
        assert!(error.is_some() && expected.len() > 25, "{}", expected.len());
        for (threads, mmap) in [(4, false), (1, true), (4, true)] {
            let (found, error) = read(build(threads, mmap, false).iter());
            assert!(error.is_some());
            assert_eq!(found, expected, "{threads} threads, mapped: {mmap}");
        }
        let (listed, error) = read(build(1, false, true).iter());
        assert!(error.is_some());
        assert_eq!(listed.len(), expected.len());
        let (rest, error) = read(build(1, true, false).epochs_after(20, 0..1));
        assert!(error.is_some());
        assert_eq!(rest, expected[20..]);
    }
}

/// A block without records that has bytes is damage, which one split finds.
#[test]
fn one_split_checks_a_block_without_records() {
    let folder = Folder::new();
    folder.write("0.avro", &rows_file(0..100, 10, Codec::Null));
    let blocks = [(0, vec![1, 2, 3])];
    folder.write("1.avro", &container(SCHEMA, Codec::Null, blocks));
    for shuffle in [Shuffle::None, Shuffle::Blocks] {
        let failing = PARTS.iter().filter(|(name, _)| {
            let builder = folder.rows(10).split(by_block(name)).shuffle(shuffle);
            read(builder.build().unwrap().iter()).1.is_some()
        });
        assert_eq!(failing.count(), 1, "{shuffle:?}");
    }
}

#[test]
fn tolerated_bytes_are_noted_by_each_split() {
    let folder = Folder::new();
    for file in 0..6 {
        let mut bytes = rows_file(file * 20..file * 20 + 20, 10, Codec::Null);
        bytes.extend_from_slice(b"tail");
        folder.write(&format!("{file}.avro"), &bytes);
    }
    for (name, _) in PARTS {
        for shuffle in [Shuffle::None, Shuffle::Blocks] {
            let builder = folder.rows(10).split(by_block(name)).shuffle(shuffle);
            let builder = builder.tolerate("trailing-file-bytes".parse().unwrap());
            let mut batches = builder.build().unwrap().iter();
            read_all(&mut batches);
            let noted = batches.stats().tolerated.trailing_file_bytes;
            assert_eq!(noted, 24, "{name}, {shuffle:?}");
        }
    }
}

/// A count that no split by record can be of costs its block alone.
#[test]
fn a_false_count_is_left_out() {
    let folder = Folder::new();
    let rows = |first: i64| {
        let bytes = rows_file(first..first + 50, 50, Codec::Null);
        (bytes, first)
    };
    folder.write("0.avro", &rows(0).0);
    // So much as a block of bzip2 may have.
    let few = vec![0; 400];
    folder.write(
        "1.avro",
        &container(SCHEMA, Codec::Bzip2, [((1 << 28) + 5, few)]),
    );
    folder.write("2.avro", &rows(50).0);
    let split = |builder: DatasetBuilder| {
        let mut all = Vec::new();
        for name in ["x", "y"] {
            let split = Split::new(name, [("x", 0.5), ("y", 0.5)]);
            let builder = builder.clone().split(split).on_error(OnError::SkipBlock);
            let mut batches = builder.build().unwrap().iter();
            all.extend(read_all(&mut batches).concat());
            assert_eq!(batches.skipped(0).len(), 1);
        }
        all.sort();
        all
    };
    assert_eq!(split(folder.rows(10)), (0..100).collect::<Vec<_>>());
    let shuffled = folder.rows(10).shuffle(Shuffle::Blocks);
    assert_eq!(split(shuffled), (0..100).collect::<Vec<_>>());
}

/// To count the records of a split takes as long as false counts say, unless it is cancelled.
#[test]
fn counting_can_be_cancelled() {
    let folder = Folder::new();
    let blocks = vec![(1 << 28, vec![0; 10]); 1_000];
    folder.write("0.avro", &container(SCHEMA, Codec::Null, blocks));
    let split = Split::new("x", [("x", 0.5), ("y", 0.5)]);
    let dataset = folder.rows(10).split(split).build().unwrap();
    let cancelled = Arc::new(AtomicBool::new(false));
    let counted = dataset.cancelled_by(cancelled.clone());
    let counting = thread::spawn(move || counted.file_records());
    thread::sleep(Duration::from_millis(20));
    cancelled.store(true, Relaxed);
    let error = counting.join().unwrap().unwrap_err();
    assert!(matches!(error.kind, ErrorKind::Cancelled), "{error}");
}

/// A file's name below the root is what it was given as, however the root is spelled.
#[cfg(unix)]
#[test]
fn names_below_the_root_do_not_depend_on_how_the_root_is_spelled() {
    use std::os::unix::fs::symlink;
    let folder = Folder::new();
    fs::create_dir_all(folder.join("d/2026")).unwrap();
    folder.write("d/2026/part.avro", &rows_file(0..1_000, 10, Codec::Null));
    symlink("2026", folder.join("d/latest")).unwrap();
    symlink("d", folder.join("other")).unwrap();
    let build = |file: &str, root: &str| {
        let split = Split::new("x", [("x", 0.5), ("y", 0.5)]);
        let builder = Dataset::builder(folder.join(file), 10).split(split);
        builder.root(folder.join(root)).build()
    };
    let ids = |file, root| read_all(build(file, root).unwrap().iter()).concat();
    let latest = ids("d/latest/part.avro", "d");
    for (file, root) in [
        ("other/latest/part.avro", "other"),
        ("d/latest/part.avro", "other"),
        ("other/latest/part.avro", "d"),
        ("d/2026/../latest/part.avro", "d"),
        ("d/latest/part.avro", "d/2026/.."),
    ] {
        assert_eq!(ids(file, root), latest, "{file} below {root}");
    }
    let own = ids("d/2026/part.avro", "d");
    assert_ne!(own, latest);
    assert_eq!(ids("other/2026/part.avro", "d"), own);
    // By a link into a folder below the root.
    symlink("d/2026", folder.join("side")).unwrap();
    assert_eq!(ids("side/part.avro", "d"), own);
    fs::create_dir(folder.join("d/2026/sub")).unwrap();
    let error = build("d/latest/sub/../part.avro", "d").unwrap_err();
    assert!(error.to_string().contains("have no `..`"), "{error}");
    // A file is no root.
    let error = build("d/2026/part.avro", "d/2026/part.avro").unwrap_err();
    assert!(
        error.to_string().contains("`root` must be a folder"),
        "{error}"
    );
}

#[test]
fn a_file_that_is_given_twice_is_refused() {
    let folder = Folder::of_rows(1, 20, 10, Codec::Null);
    let file = folder.join("00.avro");
    fs::create_dir(folder.join("sub")).unwrap();
    for other in [file.clone(), folder.join("sub/../00.avro")] {
        let builder = Dataset::builder(vec![file.clone(), other], 10).split(by_block("a"));
        for builder in [builder.clone(), builder.root(folder.path().to_owned())] {
            let error = builder.build().unwrap_err().to_string();
            assert!(error.contains("give each file once"), "{error}");
        }
    }
}
