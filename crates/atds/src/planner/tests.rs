use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

fn planner(batch: usize, shuffle: usize, drop_remainder: bool) -> Planner {
    Planner::new(Batching {
        batch_size: batch,
        shuffle_buffer_size: shuffle,
        drop_remainder,
        seed: 5,
    })
}

/// A window as the engine has it, that holds what is planned against it.
#[derive(Default)]
struct Model {
    /// By place: the block's number, records unread, records to decompress.
    blocks: BTreeMap<usize, (usize, u64, u64)>,
    /// For each batch, what each block gave it.
    batches: Vec<Vec<(usize, u64)>>,
    visits: Vec<Visit>,
}

impl Model {
    fn put(&mut self, place: usize, number: usize, records: u64) {
        let before = self.blocks.insert(place, (number, records, 2 * records));
        assert_eq!(before, None, "a block in the place of one that has records");
    }

    fn make(&mut self, drawn: Drawn) {
        assert_eq!(drawn.visits, self.visits.len());
        assert!(self.visits.is_sorted_by(|a, b| a.place < b.place));
        let take = self.visits.iter().map(Visit::take).sum::<u64>();
        assert_eq!(drawn.rows, take);
        let mut batch = Vec::new();
        for visit in self.visits.drain(..) {
            let (number, unread, to_decompress) = self.blocks[&visit.place];
            assert_eq!((visit.unread, visit.to_decompress), (unread, to_decompress));
            assert!((1..=unread).contains(&visit.take()));
            batch.push((number, visit.take()));
            match visit.drains() {
                true => self.blocks.remove(&visit.place),
                false => self
                    .blocks
                    .insert(visit.place, (number, unread - visit.take(), 0)),
            };
        }
        self.batches.push(batch);
        let places = self.blocks.first_key_value().map(|(place, _)| *place);
        assert!(places.is_none_or(|first| drawn.first <= first));
    }
}

/// All batches of blocks with so many records each, and what is left.
fn batches(planner: &mut Planner, epoch: u64, blocks: &[u64]) -> (Model, u64) {
    planner.begin_epoch(epoch);
    let mut model = Model::default();
    for (number, &records) in blocks.iter().enumerate() {
        let place = planner.push(records, 2 * records);
        model.put(place, number, records);
        while planner.is_full() {
            let drawn = planner.draw(&mut model.visits);
            model.make(drawn);
        }
    }
    while planner.has_batch() {
        let drawn = planner.draw(&mut model.visits);
        model.make(drawn);
    }
    let left = model.blocks.values().map(|(_, unread, _)| unread).sum();
    assert_eq!(planner.remainder(), left);
    (model, left)
}

proptest! {
    #[test]
    fn each_record_is_in_one_batch(
        blocks in prop::collection::vec(prop_oneof![4 => 1_u64..9, 1 => 1_u64..200], 0..120),
        batch in 1_usize..60,
        shuffle in prop_oneof![Just(0_usize), 1_usize..300],
        drop_remainder: bool,
    ) {
        let mut planner = planner(batch, shuffle, drop_remainder);
        let all = blocks.iter().sum::<u64>();
        for epoch in 0..3 {
            let (model, left) = batches(&mut planner, epoch, &blocks);
            let rows = |made: &[(usize, u64)]| made.iter().map(|(_, take)| take).sum::<u64>();
            let last = model.batches.len().saturating_sub(1);
            for (nth, made) in model.batches.iter().enumerate() {
                let is_whole = rows(made) == batch as u64;
                prop_assert!(is_whole || (nth == last && !drop_remainder));
            }
            let made = model.batches.iter().map(|made| rows(made)).sum::<u64>();
            prop_assert_eq!(made + left, all);
            let fewest = if drop_remainder { batch as u64 } else { 1 };
            prop_assert!(left < fewest);
        }
    }

    #[test]
    fn unshuffled_blocks_give_their_records_in_order(
        blocks in prop::collection::vec(1_u64..40, 0..100),
        batch in 1_usize..60,
    ) {
        let (model, _) = batches(&mut planner(batch, 0, false), 0, &blocks);
        let numbers = model.batches.iter().flatten();
        let found = numbers.flat_map(|&(number, take)| (0..take).map(move |_| number));
        let blocks = blocks.iter().enumerate();
        let expected = blocks.flat_map(|(number, &records)| (0..records).map(move |_| number));
        prop_assert!(found.eq(expected));
    }
}

#[test]
fn an_epoch_is_the_same_whatever_was_planned_before() {
    let blocks: Vec<u64> = (0..100).map(|block| 1 + block * block % 17).collect();
    let mut used = planner(20, 150, false);
    let first = batches(&mut used, 1, &blocks).0.batches;
    let second = batches(&mut used, 2, &blocks).0.batches;
    assert_ne!(first, second);
    assert_eq!(batches(&mut used, 1, &blocks).0.batches, first);
    // One that was stopped half-way.
    used.begin_epoch(7);
    let place = used.push(3, 3);
    assert_eq!(place, 0);
    assert_eq!(batches(&mut used, 2, &blocks).0.batches, second);
}

#[test]
fn the_first_empty_places_are_filled_first() {
    let mut planner = planner(100, 1_000, false);
    let mut visits = Vec::new();
    (0..500).for_each(|place| assert_eq!(planner.push(1, 1), place));
    planner.draw(&mut visits);
    let drained: Vec<_> = visits.iter().map(|visit| visit.place).collect();
    assert_eq!(drained.len(), 100);
    let behind = drained.iter().rev().zip((0..500).rev());
    let behind = behind.take_while(|(place, last)| **place == *last).count();
    let (inner, _) = drained.split_at(drained.len() - behind);
    inner
        .iter()
        .for_each(|&place| assert_eq!(planner.push(1, 1), place));
    let next = 500 - behind;
    (next..next + 50).for_each(|place| assert_eq!(planner.push(1, 1), place));
}

#[test]
fn places_behind_the_last_block_are_forgotten() {
    let mut planner = planner(10, 100, false);
    let mut visits = Vec::new();
    (0..1_000).for_each(|_| _ = planner.push(1, 1));
    while planner.records > 30 {
        planner.draw(&mut visits);
    }
    let held = |planner: &Planner| planner.unread.iter().filter(|&&unread| unread > 0).count();
    assert_eq!(held(&planner), 30);
    assert_ne!(planner.unread.last(), Some(&0));
    while planner.has_batch() {
        planner.draw(&mut visits);
    }
    assert!(planner.unread.is_empty() && planner.to_decompress.is_empty());
    assert_eq!(planner.push(1, 1), 0);
}
