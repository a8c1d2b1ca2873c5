//! The very order of a shuffled epoch. What all formats share is in the conformance suite.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use atds::{Codec, DatasetBuilder};
use atds_shuffle::{Stream, Window};

use crate::common::{Folder, read_all};

const RECORDS: i64 = 100 + 101 + 102;

fn folder() -> Folder {
    Folder::of_rows(3, 100, 9, Codec::Deflate)
}

fn ids(dataset: DatasetBuilder) -> Vec<Vec<i64>> {
    read_all(dataset.build().unwrap().iter())
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

/// An epoch may have any number: the last one has its rows, in an order of its own.
#[test]
fn the_last_number_is_an_epoch() {
    let folder = folder();
    let dataset = folder.rows(30).shuffle_buffer_size(100).build().unwrap();
    let [last, before] =
        [u64::MAX, u64::MAX - 1].map(|epoch| read_all(dataset.epoch(epoch)).concat());
    let sorted: BTreeSet<i64> = last.iter().copied().collect();
    assert!(sorted.into_iter().eq(0..RECORDS));
    assert_ne!(last, before);
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

#[test]
fn one_block_is_read_in_order() {
    let folder = Folder::of_rows(1, 50, 50, Codec::Null);
    let batches = ids(folder.rows(8).shuffle_buffer_size(1_000));
    assert!(batches.concat().is_sorted());
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
