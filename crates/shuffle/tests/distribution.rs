//! Count vectors have the multivariate hypergeometric distribution. The statistic
//! that shows it detects biased samplers.

#![allow(clippy::unwrap_used)]

mod chi_square;

use std::collections::BTreeMap;

use atds_shuffle::{Sampler, block_order, file_order};
use chi_square::chi_square;

const SEEDS: u64 = 60_000;

/// A statistic above this many deviations has a chance of 3 in 100,000.
const GOOD: f64 = 4.0;

/// Far above any value by chance.
const BIASED: f64 = 20.0;

/// Windows with few possible count vectors: `(unread, draws)`.
const WINDOWS: [(&[u64], u64); 5] = [
    (&[1, 2, 7, 20], 8),
    (&[20, 7, 2, 1], 8),
    (&[1, 2, 7, 20], 24),
    (&[3, 0, 3, 3], 4),
    (&[60, 5, 61], 40),
];

#[test]
fn count_vectors_have_the_distribution() {
    for (unread, draws) in WINDOWS {
        let z = statistic(unread, draws, |seed| {
            let mut counts = vec![0; unread.len()];
            Sampler::new(seed, 0).draw(unread, draws, &mut counts);
            counts
        });
        assert!(z < GOOD, "{z} deviations: {draws} of {unread:?}");
    }
}

/// Enough blocks to be drawn together. The counts of groups of blocks have the
/// distribution of blocks of the sizes of the groups.
#[test]
fn many_small_blocks_have_the_distribution() {
    // Number of blocks of each group, and of records of each block.
    type Groups<'a> = &'a [(usize, u64)];
    let windows: [(Groups<'_>, &[u64]); 4] = [
        (&[(2, 3), (1, 5), (100, 2)], &[3, 25, 100, 208]),
        (&[(70, 1), (1, 4), (3, 2)], &[8, 40, 72]),
        (&[(64, 7), (1, 9), (0, 0), (2, 0)], &[60, 229]),
        (&[(1, 20), (66, 6), (1, 14)], &[50, 300]),
    ];
    for (groups, all_draws) in windows {
        let sizes: Vec<u64> = groups.iter().map(|&(n, each)| n as u64 * each).collect();
        let blocks = groups.iter().flat_map(|&(n, each)| vec![each; n]);
        let unread: Vec<u64> = blocks.collect();
        let mut counts = vec![0; unread.len()];
        for &draws in all_draws {
            let z = statistic(&sizes, draws, |seed| {
                Sampler::new(seed, 0).draw(&unread, draws, &mut counts);
                let mut counts = counts.iter();
                let of_group = |&(n, _): &(usize, u64)| counts.by_ref().take(n).sum();
                groups.iter().map(of_group).collect()
            });
            assert!(z < GOOD, "{z} deviations: {draws} of {groups:?}");
        }
    }
}

#[test]
fn epochs_and_draws_are_as_good_as_seeds() {
    let unread = [1, 2, 7, 20];
    let mut counts = vec![0; 4];
    let z = statistic(&unread, 8, |epoch| {
        Sampler::new(1, epoch).draw(&unread, 8, &mut counts);
        counts.clone()
    });
    assert!(z < GOOD, "{z} deviations over epochs");

    let mut sampler = Sampler::new(2, 0);
    let z = statistic(&unread, 8, |_| {
        sampler.draw(&unread, 8, &mut counts);
        counts.clone()
    });
    assert!(z < GOOD, "{z} deviations over draws");
}

#[test]
fn two_draws_together_are_one() {
    // Two draws have the distribution of one draw of both sizes.
    let unread = [1, 2, 7, 20];
    let z = statistic(&unread, 8, |seed| {
        let mut sampler = Sampler::new(seed, 0);
        let (mut first, mut second) = (vec![0; 4], vec![0; 4]);
        sampler.draw(&unread, 3, &mut first);
        let left: Vec<u64> = unread.iter().zip(&first).map(|(u, f)| u - f).collect();
        sampler.draw(&left, 5, &mut second);
        first.iter().zip(&second).map(|(f, s)| f + s).collect()
    });
    assert!(z < GOOD, "{z} deviations");
}

#[test]
fn repeated_picks_of_a_block_fail() {
    for unread in [&[1, 2, 7, 20][..], &[20, 7, 2, 1], &[40, 60]] {
        let z = statistic(unread, 8, |seed| repeated_picks(unread, 8, seed));
        assert!(z > BIASED, "{z} deviations: {unread:?}");
    }
}

#[test]
fn other_biased_samplers_fail() {
    // The share of each block; only the rounding is random.
    let unread = [1, 2, 7, 20];
    let z = statistic(&unread, 8, |seed| {
        let mut counts: Vec<u64> = unread.iter().map(|unread| unread * 8 / 30).collect();
        let left: Vec<u64> = unread.iter().zip(&counts).map(|(u, c)| u - c).collect();
        let mut more = vec![0; 4];
        Sampler::new(seed, 0).draw(&left, 8 - counts.iter().sum::<u64>(), &mut more);
        counts.iter_mut().zip(more).for_each(|(c, m)| *c += m);
        counts
    });
    assert!(z > BIASED, "{z} deviations: fixed shares");

    // With replacement, unless a block has no records left.
    let z = statistic(&unread, 8, |seed| {
        let mut counts = vec![0; 4];
        let mut words = Words(seed);
        while counts.iter().sum::<u64>() < 8 {
            let mut pick = words.below(30);
            let block = unread.iter().position(|&unread| {
                let here = pick < unread;
                pick = pick.wrapping_sub(unread);
                here
            });
            let block = block.unwrap();
            counts[block] = (counts[block] + 1).min(unread[block]);
        }
        counts
    });
    assert!(z > BIASED, "{z} deviations: with replacement");
}

#[test]
fn orders_are_uniform() {
    let mut files = BTreeMap::new();
    let mut blocks = BTreeMap::new();
    for seed in 0..SEEDS {
        *files.entry(file_order(seed, 0, 5)).or_default() += 1;
        *blocks.entry(block_order(1, 2, seed, 5)).or_default() += 1;
    }
    for orders in [files, blocks] {
        assert_eq!(orders.len(), 120);
        let expected = SEEDS as f64 / 120.0;
        let z = chi_square(orders.into_values().map(|count| (expected, count)));
        assert!(z < GOOD, "{z} deviations");
    }
}

/// The statistic of the count vectors over all seeds, compared with the distribution.
fn statistic(unread: &[u64], draws: u64, mut sample: impl FnMut(u64) -> Vec<u64>) -> f64 {
    let mut observed: BTreeMap<Vec<u64>, u64> = BTreeMap::new();
    for seed in 0..SEEDS {
        *observed.entry(sample(seed)).or_default() += 1;
    }
    let all = binomial(unread.iter().sum(), draws);
    let expected = vectors(unread, draws).into_iter().map(|vector| {
        let ways: f64 = unread
            .iter()
            .zip(&vector)
            .map(|(&u, &c)| binomial(u, c))
            .product();
        let count = observed.remove(&vector).unwrap_or(0);
        (SEEDS as f64 * ways / all, count)
    });
    let z = chi_square(expected.collect::<Vec<_>>());
    assert!(observed.is_empty(), "counts that cannot be: {observed:?}");
    z
}

/// All count vectors of `draws` records of a window.
fn vectors(unread: &[u64], draws: u64) -> Vec<Vec<u64>> {
    let Some((&last, before)) = unread.split_last() else {
        return if draws == 0 { vec![vec![]] } else { vec![] };
    };
    (0..=last.min(draws))
        .flat_map(|count| {
            let before = vectors(before, draws - count);
            before.into_iter().map(move |mut vector| {
                vector.push(count);
                vector
            })
        })
        .collect()
}

fn binomial(n: u64, k: u64) -> f64 {
    (0..k).fold(1.0, |ways, i| ways * (n - i) as f64 / (i + 1) as f64)
}

/// ATDS's rule: a random block gives its next record, repeatedly. A block with at
/// most a tenth of its records left is drained at once.
fn repeated_picks(unread: &[u64], draws: u64, seed: u64) -> Vec<u64> {
    let mut words = Words(seed);
    let mut counts = vec![0; unread.len()];
    let mut left = draws;
    while left > 0 {
        let block = words.below(unread.len() as u64) as usize;
        let rest = unread[block] - counts[block];
        let take = if 10 * rest <= unread[block] { rest } else { 1 };
        counts[block] += take.min(left);
        left -= take.min(left);
    }
    counts
}

/// A random generator for the samplers of the tests.
struct Words(u64);

impl Words {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % bound
    }
}
