//! With shuffling, every record comes once an epoch. Seed and epoch fix the order.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use atds::{Codec, DatasetBuilder, Threads};
use atds_shuffle::{Stream, Window};

use crate::common::{Folder, LAYOUTS, read_all};

const RECORDS: i64 = 100 + 101 + 102;

fn folder() -> Folder {
    Folder::of_rows(3, 100, 9, Codec::Deflate)
}

fn ids(dataset: DatasetBuilder) -> Vec<Vec<i64>> {
    read_all(dataset.build().unwrap().iter())
}

/// Checks that every record comes exactly once.
fn assert_once(batches: &[Vec<i64>]) {
    let mut ids = batches.concat();
    ids.sort();
    assert_eq!(ids, (0..RECORDS).collect::<Vec<_>>());
}

#[test]
fn every_record_comes_once_an_epoch() {
    let folder = folder();
    for shuffle in [1, 10, 100, 1_000_000] {
        for batch_size in [1, 7, 32, 400] {
            let batches = ids(folder.rows(batch_size).shuffle_buffer_size(shuffle));
            assert_once(&batches);
            let (last, full) = batches.split_last().unwrap();
            assert!(full.iter().all(|batch| batch.len() == batch_size));
            assert_eq!(last.len() % batch_size, RECORDS as usize % batch_size);
        }
    }
    let all = folder.rows(32).shuffle_buffer_size(50);
    assert_once(&ids(all.clone().shuffle_files(true)));
    assert_once(&ids(all.shuffle_files(true).shuffle_blocks(true)));
}

#[test]
fn seed_and_epoch_fix_the_order() {
    let folder = folder();
    let dataset = |seed| {
        let dataset = folder.rows(20).shuffle_buffer_size(60).seed(seed);
        dataset.epochs(3).build().unwrap()
    };
    let once = read_all(dataset(5).iter());
    assert_eq!(read_all(dataset(5).iter()), once);
    assert_ne!(read_all(dataset(6).iter()), once);

    let steps = once.len() / 3;
    let epochs: Vec<&[Vec<i64>]> = once.chunks(steps).collect();
    for (epoch, &batches) in epochs.iter().enumerate() {
        assert_once(batches);
        assert_eq!(read_all(dataset(5).epoch(epoch as u64)), batches);
    }
    assert_ne!(epochs[0], epochs[1]);
    assert_ne!(epochs[1], epochs[2]);
}

#[test]
fn the_order_is_the_same_for_every_option_of_speed() {
    let folder = folder();
    let dataset = || {
        let dataset = folder.rows(25).shuffle_buffer_size(80).seed(3);
        dataset.shuffle_files(true).shuffle_blocks(true).epochs(2)
    };
    let expected = ids(dataset().threads(Threads::Fixed(1)));
    for threads in [2, 3, 4, 8] {
        for mmap in [false, true] {
            let dataset = dataset().threads(Threads::Fixed(threads)).mmap(mmap);
            assert_eq!(ids(dataset), expected, "{threads} threads, mapped: {mmap}");
        }
    }
    assert_eq!(ids(dataset().threads(Threads::Auto)), expected);
    for layout in LAYOUTS {
        assert_eq!(ids(dataset().layout(layout)), expected, "{layout:?}");
    }
    for bytes in [1, 64, 1_000_000] {
        assert_eq!(ids(dataset().reader_buffer_size(bytes)), expected);
    }
    for prefetch in [0, 1, 4] {
        assert_eq!(ids(dataset().prefetch(prefetch)), expected);
    }
    for limit in [120_000, 1 << 20, u64::MAX] {
        assert_eq!(ids(dataset().memory_limit(limit)), expected);
    }
}

/// A new block takes the slot that became free last. The rows of a batch are in the order of the
/// slots.
#[test]
fn the_order_is_that_of_slots_in_the_window() {
    for (batch, shuffle, block) in [
        (30, 100, 9),
        (1, 20, 9),
        (7, 1, 9),
        (100, 10, 9),
        (16, 1_000, 9),
        (20, 150, 2),
        (40, 100, 1),
    ] {
        let folder = Folder::of_rows(3, 100, block, Codec::Deflate);
        for epoch in 0..3 {
            let dataset = folder.rows(batch).shuffle_buffer_size(shuffle).seed(11);
            let found = read_all(dataset.build().unwrap().epoch(epoch));
            let window = Window::new(11, epoch, Stream::default());
            let target = (batch + shuffle) as u64;
            let expected = batches_of_slots(blocks_of(block), window, batch as u64, target);
            assert_eq!(
                found, expected,
                "{shuffle} for batches of {batch}, {block} a block"
            );
        }
    }
}

/// The ids of each block, in three files of `records` rows and more.
fn blocks_of(records: usize) -> impl Iterator<Item = Range<i64>> {
    let files = [0..100, 100..201, 201..RECORDS];
    files.into_iter().flat_map(move |file| {
        let starts = file.clone().step_by(records);
        starts.map(move |start| start..file.end.min(start + records as i64))
    })
}

/// The batches of an epoch as ids, computed from the slots.
fn batches_of_slots(
    mut blocks: impl Iterator<Item = Range<i64>>,
    mut window: Window,
    batch: u64,
    target: u64,
) -> Vec<Vec<i64>> {
    let mut slots: BTreeMap<usize, Range<i64>> = BTreeMap::new();
    let mut batches = Vec::new();
    loop {
        while window.records() < target
            && let Some(block) = blocks.next()
        {
            slots.insert(window.push((block.end - block.start) as u64), block);
        }
        let rows = batch.min(window.records());
        let mut ids = Vec::new();
        window.draw(rows, |slot, records| {
            let block = slots.get_mut(&slot).unwrap();
            ids.extend(block.take(records as usize));
        });
        if ids.is_empty() {
            return batches;
        }
        batches.push(ids);
    }
}

/// A batch is drawn from the whole window of `batch_size + shuffle_buffer_size` records, and from
/// no record outside it.
#[test]
fn the_window_holds_what_was_asked_for_and_whole_blocks() {
    let folder = folder();
    let (batch, shuffle, block) = (10, 50, 9);
    let mut furthest = 0;
    for seed in 0..50 {
        let dataset = folder.rows(batch).shuffle_buffer_size(shuffle).seed(seed);
        let first = dataset.build().unwrap().epoch(0).next().unwrap().unwrap();
        let ids = first.dense::<i64>("id").unwrap();
        furthest = furthest.max(*ids.last().unwrap());
    }
    // The window has seven blocks of nine records, the fewest with sixty records.
    let window = (batch + shuffle).next_multiple_of(block) as i64;
    assert!(furthest < window, "{furthest} is outside {window}");
    assert!(furthest >= window - block as i64, "{furthest} of {window}");
}

#[test]
fn one_block_is_read_in_order() {
    let folder = Folder::of_rows(1, 50, 50, Codec::Null);
    let batches = ids(folder.rows(8).shuffle_buffer_size(1_000));
    assert!(batches.concat().is_sorted());
}

#[test]
fn files_are_shuffled_whole() {
    let folder = Folder::of_rows(6, 10, 3, Codec::Snappy);
    let dataset = folder.rows(1).shuffle_files(true).epochs(4).seed(1);
    let ids = ids(dataset).concat();
    let first = |file: i64| 10 * file + file * (file - 1) / 2;
    let file_of = |id: i64| (0..6).rev().find(|&file| id >= first(file)).unwrap();
    let mut orders = BTreeSet::new();
    for epoch in ids.chunks(75) {
        let mut order: Vec<i64> = epoch.iter().map(|&id| file_of(id)).collect();
        order.dedup();
        let expected = order.iter().flat_map(|&file| first(file)..first(file + 1));
        assert_eq!(epoch, expected.collect::<Vec<_>>());
        orders.insert(order);
    }
    assert!(orders.len() > 1, "the same order each epoch: {orders:?}");
}

#[test]
fn blocks_are_shuffled_whole_within_their_file() {
    let folder = folder();
    for mmap in [false, true] {
        let dataset = folder.rows(9).shuffle_blocks(true).epochs(2).mmap(mmap);
        let batches = ids(dataset).concat();
        let (first, second) = batches.split_at(RECORDS as usize);
        assert_ne!(first, second);
        for epoch in [first, second] {
            // Files keep their order.
            let mut rest = epoch;
            let mut start = 0;
            for end in [100, 201, 303] {
                let (file, more) = rest.split_at((end - start) as usize);
                rest = more;
                let mut sorted = file.to_vec();
                sorted.sort();
                assert_eq!(sorted, (start..end).collect::<Vec<_>>());
                assert_ne!(file, sorted);
                // Blocks stay whole.
                let mut blocks: Vec<i64> = file.iter().map(|id| (id - start) / 9).collect();
                blocks.dedup();
                let count = blocks.len();
                blocks.sort();
                blocks.dedup();
                assert_eq!(blocks.len(), count);
                start = end;
            }
        }
    }
}

#[test]
fn drop_remainder_and_shuffling_leave_out_different_records_each_epoch() {
    let folder = folder();
    let dataset = folder
        .rows(100)
        .shuffle_buffer_size(1_000)
        .drop_remainder(true);
    let dataset = dataset.epochs(5).build().unwrap();
    let mut batches = dataset.iter();
    let mut left_out = BTreeSet::new();
    for _ in 0..5 {
        let epoch: BTreeSet<i64> = (0..3)
            .flat_map(|_| {
                batches
                    .next()
                    .unwrap()
                    .unwrap()
                    .dense::<i64>("id")
                    .unwrap()
                    .to_vec()
            })
            .collect();
        assert_eq!(epoch.len(), 300);
        left_out.extend((0..RECORDS).filter(|id| !epoch.contains(id)));
    }
    assert!(batches.next().is_none());
    assert_eq!(batches.stats().dropped_records, 15);
    assert!(left_out.len() > 3, "{left_out:?}");
}

#[test]
fn two_iterations_at_once_do_not_disturb_each_other() {
    let folder = folder();
    let dataset = folder.rows(10).shuffle_buffer_size(50).build().unwrap();
    let alone = read_all(dataset.iter());
    let (mut first, mut second) = (dataset.iter(), dataset.iter());
    for expected in &alone {
        for batches in [&mut first, &mut second] {
            let batch = batches.next().unwrap().unwrap();
            assert_eq!(batch.dense::<i64>("id").unwrap(), expected);
        }
    }
    assert!(first.next().is_none() && second.next().is_none());
}
