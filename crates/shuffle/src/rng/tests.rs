use rand_core::Rng;

use super::{Purpose, Stream, below, words};

#[test]
fn the_words_of_a_stream_are_pinned() {
    // From an implementation of SplitMix64 and xoshiro256++ in Python.
    let first = |stream| {
        let mut rng = words(42, 3, Purpose::Window(stream));
        [(); 4].map(|()| rng.next_u64())
    };
    assert_eq!(
        first(Stream::default()),
        [
            0x2e47_74cd_374b_1927,
            0x69ce_9244_60cb_74c2,
            0xbc3f_7486_a4bb_68e7,
            0x9127_1e3d_cd69_f12d,
        ]
    );
    let (layer, rank, worker) = (5, 6, 7);
    assert_eq!(
        first(Stream {
            layer,
            rank,
            worker
        }),
        [
            0x6616_068c_4474_fc44,
            0x9049_8162_16a9_0532,
            0xbf7b_a107_f8ed_bf32,
            0x462d_eaad_1156_f3bb,
        ]
    );
}

#[test]
fn every_number_and_purpose_changes_the_stream() {
    let mut starts = Vec::new();
    // All combinations of few numbers, which sums or exclusive ors would mix up.
    let numbers = [0, 1, 2, 3, u64::MAX];
    let pairs = numbers.map(|a| numbers.map(|b| (a, b))).concat();
    for &(seed, epoch) in &pairs {
        starts.push(words(seed, epoch, Purpose::FileOrder));
        starts.push(words(seed, epoch, Purpose::RunOrder));
        for file in numbers {
            starts.push(words(seed, epoch, Purpose::BlockOrder(file)));
        }
        for &(layer, rank) in &pairs {
            for worker in numbers {
                let stream = Stream {
                    layer,
                    rank,
                    worker,
                };
                starts.push(words(seed, epoch, Purpose::Window(stream)));
            }
        }
    }
    let mut first: Vec<u64> = starts.iter_mut().map(Rng::next_u64).collect();
    first.sort_unstable();
    first.dedup();
    assert_eq!(first.len(), starts.len());
}

#[test]
fn bounded_integers_are_uniform() {
    // With plain multiplication the last third would come half as often as the
    // others: 2^64 is less than twice the bound of 3 * 2^62.
    let bound = 3 << 62;
    let mut rng = words(5, 0, Purpose::FileOrder);
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
    let mut rng = words(0, 0, Purpose::FileOrder);
    assert_eq!(below(0, &mut rng), 0);
    assert_eq!(below(1, &mut rng), 0);
}
