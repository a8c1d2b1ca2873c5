//! Properties of the sampler for any window.

#![allow(clippy::unwrap_used)]

use atds_shuffle::{MAX_WINDOW_RECORDS, Stream, Window, block_order, file_order, window_target};
use proptest::prelude::*;

/// Blocks of few to the maximum number of records.
fn unread() -> impl Strategy<Value = Vec<u64>> {
    let block = prop_oneof![0u64..20, 0u64..3_000, 0u64..1 << 48, any::<u64>()];
    proptest::collection::vec(block, 0..40)
}

fn draws() -> impl Strategy<Value = u64> {
    prop_oneof![0u64..2_000, 0u64..1 << 50, any::<u64>()]
}

fn stream() -> impl Strategy<Value = Stream> {
    let any = any::<(u64, u64, u64)>();
    any.prop_map(|(layer, rank, worker)| Stream {
        layer,
        rank,
        worker,
    })
}

/// A step: blocks that are added, and rows that are drawn after that.
fn steps() -> impl Strategy<Value = Vec<(Vec<u64>, u64)>> {
    proptest::collection::vec((unread(), draws()), 1..8)
}

proptest! {
    /// Whatever is added and drawn, slots give no more than they have, and the numbers add up.
    #[test]
    fn counts_are_within_blocks_and_add_up(
        steps in steps(), seed: u64, epoch: u64, stream in stream(),
    ) {
        let mut window = Window::new(seed, epoch, stream);
        let mut unread: Vec<u64> = Vec::new();
        for (blocks, rows) in steps {
            for records in blocks {
                let before = window.records();
                let slot = window.push(records);
                let pushed = window.records() - before;
                prop_assert_eq!(pushed, records.min(MAX_WINDOW_RECORDS - before));
                if slot == unread.len() {
                    unread.push(pushed);
                } else {
                    prop_assert_eq!(unread[slot], 0, "slot {} has a block", slot);
                    unread[slot] = pushed;
                }
            }
            let before = window.records();
            let mut reads = Vec::new();
            window.draw(rows, |slot, records| reads.push((slot, records)));
            prop_assert!(reads.is_sorted_by(|a, b| a.0 < b.0), "{:?}", reads);
            for &(slot, records) in &reads {
                prop_assert!(0 < records && records <= unread[slot]);
                unread[slot] -= records;
            }
            let drawn: u64 = reads.iter().map(|(_, records)| records).sum();
            prop_assert_eq!(drawn, rows.min(before));
            prop_assert_eq!(window.records(), before - drawn);
            prop_assert_eq!(unread.iter().sum::<u64>(), window.records());
        }
    }

    /// What is drawn follows from seed, epoch, stream and the calls alone.
    #[test]
    fn a_window_goes_on_as_another_one(
        steps in steps(), seed: u64, epoch: u64, stream in stream(), copied_after in 0usize..8,
    ) {
        let run = |copied_after| {
            let mut window = Window::new(seed, epoch, stream);
            let mut reads = Vec::new();
            for (step, (blocks, rows)) in steps.iter().enumerate() {
                if step == copied_after {
                    window = window.clone();
                }
                let slots = blocks.iter().map(|&records| (window.push(records), 0));
                reads.extend(slots.collect::<Vec<_>>());
                window.draw(*rows, |slot, records| reads.push((slot, records)));
            }
            reads
        };
        prop_assert_eq!(run(copied_after), run(usize::MAX));
    }

    #[test]
    fn orders_are_permutations(seed: u64, epoch: u64, file: u64, len in 0usize..200) {
        for mut order in [file_order(seed, epoch, len), block_order(seed, epoch, file, len)] {
            order.sort_unstable();
            prop_assert!(order.into_iter().eq(0..len));
        }
    }
}

#[test]
fn the_window_holds_a_batch_and_the_shuffle_buffer() {
    assert_eq!(window_target(1_024, 8_192), 9_216);
    assert_eq!(window_target(1, u64::MAX), u64::MAX);
}

#[test]
fn each_stream_draws_on_its_own() {
    let reads = |seed, epoch, stream| {
        let mut window = Window::new(seed, epoch, stream);
        for _ in 0..200 {
            window.push(10);
        }
        let mut reads = Vec::new();
        window.draw(100, |slot, records| reads.push((slot, records)));
        reads
    };
    let stream = |layer, rank, worker| Stream {
        layer,
        rank,
        worker,
    };
    let mut all = vec![
        reads(0, 0, Stream::default()),
        reads(1, 0, stream(0, 0, 0)),
        reads(0, 1, stream(0, 0, 0)),
        reads(0, 0, stream(1, 0, 0)),
        reads(0, 0, stream(0, 1, 0)),
        reads(0, 0, stream(0, 0, 1)),
    ];
    assert_eq!(all[0], reads(0, 0, stream(0, 0, 0)));
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 6);
}
