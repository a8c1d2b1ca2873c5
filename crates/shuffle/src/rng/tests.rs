use rand_core::Rng;

use super::{Purpose, below, stream};

#[test]
fn the_words_of_a_stream_are_pinned() {
    // From an implementation of SplitMix64 and xoshiro256++ in Python.
    let mut rng = stream(42, 3, Purpose::Draw(0));
    assert_eq!(
        [(); 4].map(|()| rng.next_u64()),
        [
            0x83e4_8581_373b_0bd9,
            0x2787_9455_5436_5e87,
            0x8d13_e471_5b33_723e,
            0xed32_f0ce_a893_6852,
        ]
    );
}

#[test]
fn every_number_and_purpose_changes_the_stream() {
    let streams = [
        stream(1, 2, Purpose::Draw(3)),
        stream(2, 1, Purpose::Draw(3)),
        stream(1, 3, Purpose::Draw(2)),
        stream(1, 2, Purpose::Draw(0)),
        stream(1, 2, Purpose::FileOrder),
        stream(1, 2, Purpose::BlockOrder(0)),
        stream(1, 2, Purpose::BlockOrder(3)),
    ];
    let mut words = streams.map(|mut rng| rng.next_u64()).to_vec();
    words.sort_unstable();
    words.dedup();
    assert_eq!(words.len(), 7);
}

#[test]
fn bounded_integers_are_uniform() {
    // With plain multiplication the last third would come half as often as the
    // others: 2^64 is less than twice the bound of 3 * 2^62.
    let bound = 3 << 62;
    let mut rng = stream(5, 0, Purpose::FileOrder);
    let mut thirds = [0; 3];
    for _ in 0..30_000 {
        thirds[(below(bound, &mut rng) >> 62) as usize] += 1;
    }
    for count in thirds {
        assert!((9_600..10_400).contains(&count), "{thirds:?}");
    }
}

#[test]
fn bounds_of_zero_and_one_give_zero() {
    let mut rng = stream(0, 0, Purpose::FileOrder);
    assert_eq!(below(0, &mut rng), 0);
    assert_eq!(below(1, &mut rng), 0);
}
