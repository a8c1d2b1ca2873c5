//! Pins the results of `(seed, epoch)`: they are the same on every platform and in
//! every release.

use atds_shuffle::{Sampler, block_order, file_order};

#[test]
fn orders_are_pinned() {
    // From an implementation in Python.
    assert_eq!(file_order(42, 3, 10), [7, 0, 4, 1, 2, 5, 6, 8, 9, 3]);
    assert_eq!(block_order(42, 3, 5, 10), [6, 3, 5, 2, 8, 7, 9, 4, 1, 0]);
    assert_eq!(
        block_order(u64::MAX, u64::MAX, u64::MAX, 6),
        [5, 0, 3, 2, 4, 1]
    );
}

#[test]
fn draws_from_small_blocks_are_pinned() {
    // From an implementation in Python.
    let mut unread = [8, 1, 20, 0, 5, 30, 2];
    let mut sampler = Sampler::new(42, 3);
    let mut counts = [0; 7];
    for expected in [
        [3, 0, 3, 0, 0, 5, 1],
        [1, 0, 6, 0, 0, 5, 0],
        [1, 0, 4, 0, 0, 7, 0],
    ] {
        sampler.draw(&unread, 12, &mut counts);
        assert_eq!(counts, expected);
        unread
            .iter_mut()
            .zip(&counts)
            .for_each(|(unread, count)| *unread -= count);
    }
}

#[test]
fn draws_from_many_small_blocks_are_pinned() {
    // From an implementation in Python.
    let mut unread: Vec<u64> = (0..80).map(|i| i * 7 % 11).collect();
    let mut sampler = Sampler::new(42, 3);
    let mut counts = vec![0; 80];
    for expected in [
        "03252034020020410341320221303413104161232031032340321310124115205103261002121013",
        "03134251141041311200200113113102203144052143030422420430304112013302123152053030",
    ] {
        sampler.draw(&unread, 150, &mut counts);
        let digits: String = counts.iter().map(u64::to_string).collect();
        assert_eq!(digits, expected);
        unread
            .iter_mut()
            .zip(&counts)
            .for_each(|(unread, count)| *unread -= count);
    }
}

#[test]
fn draws_from_large_blocks_are_pinned() {
    let mut sampler = Sampler::new(42, 3);
    let mut counts = [0; 5];
    sampler.draw(&[1_000, 20_000, 3, 500, 100_000], 30_000, &mut counts);
    assert_eq!(counts, [254, 4_978, 1, 128, 24_639]);
    sampler.draw(
        &[1 << 40, 1 << 20, 1 << 47, 1 << 30, 1 << 44],
        1 << 45,
        &mut counts,
    );
    assert_eq!(
        counts,
        [
            242_648_946_901,
            230_765,
            31_059_097_827_099,
            236_951_264,
            3_882_388_132_803
        ]
    );
}
