//! Slices and shards of a data set: their sizes, and what cannot be sliced. What all formats share is
//! in the conformance suite.

use std::collections::BTreeSet;
use std::ops::Range;

use atds::{Codec, Dataset, DatasetBuilder, ErrorKind, Threads};

use crate::common::{Folder, Row, SCHEMA, container, read_all, rows_file};

fn ids(dataset: &Dataset, epoch: u64) -> Vec<i64> {
    read_all(dataset.epoch(epoch)).concat()
}

fn shards(dataset: &Dataset, count: u64) -> Vec<Dataset> {
    let shards = (0..count).map(|index| dataset.shard(index, count).unwrap());
    shards.collect()
}

/// Three files of 40, 41 and 42 records in blocks of 7.
fn folder() -> Folder {
    Folder::of_rows(3, 40, 7, Codec::Deflate)
}

fn shuffled(folder: &Folder) -> DatasetBuilder {
    let dataset = folder.rows(8).shuffle_buffer_size(20).seed(3);
    dataset.shuffle_files(true).shuffle_blocks(true)
}

#[test]
fn shards_share_an_epoch_without_overlap_or_loss() {
    let folder = folder();
    for count in [1, 2, 3, 7, 123, 200] {
        for dataset in [folder.rows(8), shuffled(&folder)] {
            let dataset = dataset.build().unwrap();
            for epoch in [0, 5] {
                let mut found = Vec::new();
                for shard in shards(&dataset, count) {
                    let ids = ids(&shard, epoch);
                    assert_eq!(ids.len() as u64, shard.num_records().unwrap());
                    assert!(ids.len().abs_diff(123 / count as usize) <= 1);
                    found.extend(ids);
                }
                found.sort();
                assert_eq!(found, (0..123).collect::<Vec<_>>(), "{count} shards");
            }
        }
    }
}

#[test]
fn the_only_shard_is_all() {
    let folder = folder();
    for dataset in [folder.rows(8), shuffled(&folder)] {
        let dataset = dataset.build().unwrap();
        let only = dataset.shard(0, 1).unwrap();
        assert_eq!(read_all(only.epoch(2)), read_all(dataset.epoch(2)));
    }
}

/// The shares have equal blocks, so equal draws would give equal orders.
#[test]
fn ranks_and_workers_draw_independently() {
    let folder = Folder::of_rows(1, 400, 10, Codec::Null);
    let dataset = folder.rows(8).shuffle_buffer_size(60).build().unwrap();
    let counts = dataset.file_records().unwrap();
    let order = |records: Range<u64>, rank, worker, epoch| {
        let share = dataset.slice(records.clone(), counts.clone()).unwrap();
        let ids = ids(&share.with_rank(rank, worker), epoch);
        let from_zero = ids.into_iter().map(|id| id - records.start as i64);
        from_zero.collect::<Vec<_>>()
    };
    let mut orders = BTreeSet::new();
    for (share, (rank, worker)) in [(0, 0), (0, 1), (1, 0), (1, 1)].into_iter().enumerate() {
        let start = 100 * share as u64;
        for epoch in 0..2 {
            let found = order(start..start + 100, rank, worker, epoch);
            // Which records a share has does not change what it draws.
            assert_eq!(order(0..100, rank, worker, epoch), found);
            orders.insert(found);
        }
    }
    assert_eq!(orders.len(), 8);
}

#[test]
fn shards_draw_as_ranks_and_slices_as_their_first_record() {
    let folder = folder();
    let dataset = shuffled(&folder).build().unwrap();
    let counts = dataset.file_records().unwrap();
    let slice = |records| dataset.slice(records, counts.clone()).unwrap();
    let shard = dataset.shard(1, 3).unwrap();
    assert_eq!(ids(&shard, 1), ids(&slice(41..82).with_rank(1, 0), 1));
    assert_eq!(
        ids(&slice(41..82), 1),
        ids(&slice(41..82).with_rank(41, 0), 1)
    );
    let of_shard = shard.shard(1, 2).unwrap();
    assert_eq!(ids(&of_shard, 1), ids(&slice(61..82), 1));
}

#[test]
fn a_slice_of_a_slice_counts_from_its_start() {
    let folder = folder();
    let dataset = folder.rows(8).build().unwrap();
    let counts = dataset.file_records().unwrap();
    assert_eq!(*counts, [40, 41, 42]);
    let outer = dataset.slice(30..90, counts.clone()).unwrap();
    let inner = outer.slice(15..55, outer.file_records().unwrap()).unwrap();
    assert_eq!(ids(&inner, 0), (45..85).collect::<Vec<_>>());
    assert_eq!(
        ids(&outer.shard(1, 2).unwrap(), 0),
        (60..90).collect::<Vec<_>>()
    );
    let none = outer.slice(60..60, counts).unwrap();
    assert_eq!(ids(&none, 0), Vec::<i64>::new());
}

#[test]
fn what_cannot_be_sliced_is_an_error() {
    let folder = folder();
    let dataset = folder.rows(8).build().unwrap();
    let counts = dataset.file_records().unwrap();
    let text = |result: Result<Dataset, atds::Error>| result.unwrap_err().to_string();
    #[expect(clippy::reversed_empty_ranges, reason = "it is what is tested")]
    let backwards = dataset.slice(5..4, counts.clone());
    assert_eq!(
        text(backwards),
        "`records` must be a range of those there are"
    );
    let beyond = dataset.slice(0..124, counts.clone());
    assert_eq!(text(beyond), "`records` must be a range of those there are");
    let outer = dataset.slice(10..20, counts).unwrap();
    let beyond = outer.slice(0..11, outer.file_records().unwrap());
    assert_eq!(text(beyond), "`records` must be a range of those there are");
    let other = dataset.slice(0..1, [40, 41]);
    assert_eq!(text(other), "`file_records` must be a count for each file");
    for (index, count) in [(2, 2), (0, 0)] {
        let error = text(dataset.shard(index, count));
        assert_eq!(error, "`index` must be below the count of shards");
    }
    for threads in [0, 1025] {
        let dataset = folder.rows(8).threads(Threads::UpTo(threads)).build();
        assert_eq!(
            text(dataset),
            "`threads` must be from 1 to 1024, or automatic"
        );
    }
}

#[test]
fn a_file_that_has_changed_since_it_was_counted_is_an_error() {
    let folder = folder();
    for (shuffle_blocks, records) in [(false, 0..123), (false, 5..100), (true, 0..123)] {
        let dataset = folder
            .rows(8)
            .shuffle_blocks(shuffle_blocks)
            .build()
            .unwrap();
        // The counts say that the second file has one record more than it has.
        let slice = dataset.slice(records, [40, 42, 41]).unwrap();
        let (mut rows, mut failed) = (0, None);
        for batch in slice.iter() {
            match batch {
                Ok(batch) => rows += batch.rows(),
                Err(error) => failed = Some(error),
            }
        }
        let error = failed.unwrap();
        assert!(rows > 0);
        let location = error.place.location.as_ref().unwrap();
        assert!(location.path().unwrap().ends_with("01.avro"));
        assert!(matches!(
            error.kind,
            ErrorKind::RecordsChanged {
                counted: 42,
                found: 41
            }
        ));
        let said = "the file has 41 records now, but had 42 when they were counted";
        assert!(error.to_string().contains(said), "{error}");
    }
}

#[test]
fn only_what_is_in_a_slice_is_read() {
    let folder = Folder::new();
    folder.write("0.avro", &rows_file(0..50, 10, Codec::Null));
    let path = folder.write("1.avro", &rows_file(50..100, 10, Codec::Null));
    let dataset = folder.rows(10).build().unwrap();
    let counts = dataset.file_records().unwrap();
    std::fs::remove_file(&path).unwrap();
    let before = dataset.slice(0..50, counts.clone()).unwrap();
    assert_eq!(ids(&before, 0), (0..50).collect::<Vec<_>>());
    let over = dataset.slice(45..55, counts).unwrap();
    assert!(over.iter().last().unwrap().is_err());
}

#[test]
fn faults_are_numbered_in_the_whole_block() {
    // Record 17 is in the block of records 10 to 19 and has an index that is too large.
    let mut bad = Row::new(17);
    bad.cells = vec![(100, 1.0)];
    let encoded = |id| {
        if id == 17 {
            bad.encode()
        } else {
            Row::new(id).encode()
        }
    };
    let blocks = [0..10, 10..20].map(|ids| (10, ids.flat_map(encoded).collect()));
    let folder = Folder::new();
    folder.write("0.avro", &container(SCHEMA, Codec::Deflate, blocks));
    let dataset = folder.rows(100).build().unwrap();
    let counts = dataset.file_records().unwrap();
    let error = dataset
        .slice(13..20, counts.clone())
        .unwrap()
        .iter()
        .last()
        .unwrap();
    let place = error.unwrap_err().place;
    assert_eq!((place.block, place.record), (Some(1), Some(7)));
    // The slices before and after it are valid.
    let before = dataset.slice(13..17, counts.clone()).unwrap();
    assert_eq!(ids(&before, 0), [13, 14, 15, 16]);
    let behind = dataset.slice(18..20, counts).unwrap();
    assert_eq!(ids(&behind, 0), [18, 19]);
}
