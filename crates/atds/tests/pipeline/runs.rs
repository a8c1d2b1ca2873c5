//! Runs of blocks of all files in a random order. What all formats share is in the conformance suite.

use std::collections::BTreeSet;
use std::fs;

use atds::{Codec, Dataset, DatasetBuilder, ErrorKind, Shuffle, Threads};

use crate::common::{Folder, SYNC, read, read_all, rows_file};

/// Three files of 40, 41 and 42 records in blocks of 7. Each block is a run.
fn folder() -> Folder {
    Folder::of_rows(3, 40, 7, Codec::Deflate)
}

fn shuffled(folder: &Folder) -> DatasetBuilder {
    let dataset = folder.rows(8).shuffle(Shuffle::Blocks).seed(3);
    dataset.run_bytes(1)
}

fn ids(dataset: &Dataset, epoch: u64) -> Vec<i64> {
    read_all(dataset.epoch(epoch)).concat()
}

#[test]
fn blocks_of_all_files_are_mixed_and_stay_whole() {
    let folder = folder();
    let whole = read_all(shuffled(&folder).epochs(3).build().unwrap().iter()).concat();
    let mut orders = BTreeSet::new();
    for (mmap, threads) in [(false, 1), (false, 3), (true, 2)] {
        let threads = Threads::Fixed(threads);
        let dataset = shuffled(&folder).mmap(mmap).threads(threads);
        let dataset = dataset.build().unwrap();
        for epoch in 0..3 {
            let found = ids(&dataset, epoch);
            // No batch has records of two epochs.
            assert_eq!(found, whole[123 * epoch as usize..][..123]);
            let begins = |pair: &&[i64]| pair[1] != pair[0] + 1;
            let breaks = found.windows(2).filter(begins);
            let of_files = |id: i64| [40, 81].iter().filter(|&&first| id >= first).count();
            let changes = breaks
                .clone()
                .map(|pair| of_files(pair[0]) != of_files(pair[1]));
            assert!(changes.filter(|&is_change| is_change).count() > 4);
            let starts = breaks.map(|pair| pair[1]);
            let of_blocks = |start: i64| [0, 40, 81].iter().any(|first| (start - first) % 7 == 0);
            assert!(starts.into_iter().all(of_blocks));
            orders.insert(found);
        }
    }
    assert_eq!(orders.len(), 3);
    for order in orders {
        assert_eq!(BTreeSet::from_iter(order), BTreeSet::from_iter(0..123));
    }
}

/// A run that is too short at the end of a file belongs to the one before; a short file is one run.
#[test]
fn runs_have_a_megabyte() {
    let folder = Folder::of_rows(3, 40, 7, Codec::Null);
    let dataset = folder.rows(200).shuffle(Shuffle::Blocks).build().unwrap();
    let files: [Vec<i64>; 3] = [0..40, 40..81, 81..123].map(Iterator::collect);
    let mut orders = BTreeSet::new();
    for epoch in 0..20 {
        let found = ids(&dataset, epoch);
        let first_of = |file: &&Vec<i64>| found.iter().position(|id| *id == file[0]);
        let mut in_order: Vec<_> = files.iter().collect();
        in_order.sort_by_key(first_of);
        assert_eq!(
            found,
            in_order.into_iter().flatten().copied().collect::<Vec<_>>()
        );
        orders.insert(found);
    }
    assert_eq!(orders.len(), 6);
}

/// All files are listed before the first batch.
#[test]
fn a_damaged_file_is_an_error_at_once() {
    let folder = folder();
    let path = folder.join("01.avro");
    let mut bytes = fs::read(&path).unwrap();
    let markers = bytes.windows(16).enumerate();
    let markers = markers.filter(|(_, window)| *window == SYNC.0);
    let third = markers.map(|(at, _)| at).nth(3).unwrap();
    bytes[third] ^= 1;
    fs::write(&path, bytes).unwrap();
    let (found, error) = read(shuffled(&folder).build().unwrap().iter());
    assert!(found.is_empty());
    let message = folder.message(&error.unwrap());
    assert!(
        message.starts_with("01.avro: block 2 at byte "),
        "{message}"
    );
}

#[test]
fn files_that_have_changed_are_listed_again() {
    let folder = folder();
    let dataset = shuffled(&folder).build().unwrap();
    let counts = dataset.file_records().unwrap();
    assert_eq!(ids(&dataset, 0).len(), 123);
    folder.write("01.avro", &rows_file(1000..1100, 9, Codec::Deflate));
    let found = BTreeSet::from_iter(ids(&dataset, 0));
    let expected = (0..40).chain(81..123).chain(1000..1100);
    assert_eq!(found, expected.collect());
    // Other slices of it would not fit.
    let slice = dataset.slice(0..20, counts).unwrap();
    let error = read(slice.iter()).1.unwrap();
    assert!(
        matches!(
            error.kind,
            ErrorKind::RecordsChanged {
                counted: 41,
                found: 100
            }
        ),
        "{error}"
    );
    fs::remove_file(folder.join("02.avro")).unwrap();
    let (found, error) = read(dataset.iter());
    assert!(found.is_empty());
    assert_eq!(
        folder.message(&error.unwrap()),
        "02.avro: No such file or directory (os error 2)"
    );
}

#[test]
fn the_list_counts_for_the_memory_limit() {
    let folder = Folder::of_rows(1, 5_000, 1, Codec::Null);
    let limited = |builder: DatasetBuilder| {
        let dataset = builder.memory_limit(300_000).build().unwrap();
        read(dataset.iter()).1.map(|error| error.kind)
    };
    let found = limited(shuffled(&folder));
    let Some(ErrorKind::MemoryLimit { needed, .. }) = found else {
        panic!("{found:?}");
    };
    let dataset = shuffled(&folder).memory_limit(needed).build().unwrap();
    assert_eq!(ids(&dataset, 0).len(), 5_000);
    // Of a megabyte, it is short.
    assert!(limited(shuffled(&folder).run_bytes(1 << 20)).is_none());
}

#[test]
fn it_replaces_the_orders_of_files_and_of_their_blocks() {
    let folder = folder();
    for builder in [
        shuffled(&folder).shuffle_files(true),
        shuffled(&folder).shuffle_blocks(true),
    ] {
        let error = builder.build().map(drop).unwrap_err();
        assert!(
            error.to_string().starts_with("`shuffle` must be"),
            "{error}"
        );
    }
}
