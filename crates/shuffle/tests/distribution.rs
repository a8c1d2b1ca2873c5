//! Count vectors have the multivariate hypergeometric distribution. The statistic
//! that shows it detects biased samplers.

#![allow(clippy::unwrap_used)]

mod chi_square;

use std::collections::BTreeMap;

use atds_shuffle::{Stream, Window, block_order, file_order};
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
            draw(&mut window(seed, unread), draws, unread.len())
        });
        assert!(z < GOOD, "{z} deviations: {draws} of {unread:?}");
    }
}

/// Number of blocks of each group, and of records of each block.
type Groups<'a> = &'a [(usize, u64)];

/// Windows of many blocks, and numbers of rows. The counts of groups of blocks have the distribution of
/// blocks of the sizes of the groups.
const MANY: [(Groups<'_>, &[u64]); 5] = [
    (&[(2, 3), (1, 5), (100, 2)], &[1, 3, 25, 32, 33, 100, 208]),
    (&[(70, 1), (1, 4), (3, 2)], &[8, 40, 72]),
    (&[(64, 7), (1, 9), (0, 0), (2, 0)], &[60, 229]),
    (&[(1, 20), (66, 6), (1, 14)], &[2, 50, 300]),
    (&[(7, 1), (140, 1), (1, 9), (3, 2)], &[4, 100]),
];

#[test]
fn many_blocks_have_the_distribution() {
    for (groups, all_rows) in MANY {
        let sizes: Vec<u64> = groups.iter().map(|&(n, each)| n as u64 * each).collect();
        let blocks: Vec<usize> = groups.iter().map(|&(n, _)| n).collect();
        let unread = groups.iter().flat_map(|&(n, each)| vec![each; n]);
        let unread: Vec<u64> = unread.collect();
        // Also with slots that earlier blocks had, which then come in another order.
        for earlier in [0, 40] {
            let of_group = group_of_slot(&blocks, earlier);
            for &rows in all_rows {
                let z = statistic(&sizes, rows, |seed| {
                    let mut window = Window::new(seed, 0, Stream::default());
                    push(&mut window, &vec![3; earlier]);
                    window.draw(3 * earlier as u64, |_, _| {});
                    push(&mut window, &unread);
                    let mut counts = vec![0; groups.len()];
                    window.draw(rows, |slot, records| counts[of_group[slot]] += records);
                    counts
                });
                assert!(z < GOOD, "{z} deviations: {rows} of {groups:?}");
            }
        }
    }
}

/// The group of each slot, if the first slots were free again before, the last one first.
fn group_of_slot(blocks: &[usize], earlier: usize) -> Vec<usize> {
    let groups = blocks.iter().enumerate();
    let mut groups: Vec<usize> = groups.flat_map(|(group, &n)| vec![group; n]).collect();
    let earlier = earlier.min(groups.len());
    groups[..earlier].reverse();
    groups
}

#[test]
fn epochs_streams_and_draws_are_as_good_as_seeds() {
    let unread = [1, 2, 7, 20];
    let of = |window: &mut Window| draw(window, 8, 4);
    let filled = |mut window: Window| {
        push(&mut window, &unread);
        window
    };
    let z = statistic(&unread, 8, |epoch| {
        of(&mut filled(Window::new(1, epoch, Stream::default())))
    });
    assert!(z < GOOD, "{z} deviations over epochs");

    let streams: [fn(u64) -> Stream; 3] = [
        |layer| Stream {
            layer,
            ..Stream::default()
        },
        |rank| Stream {
            rank,
            ..Stream::default()
        },
        |worker| Stream {
            worker,
            ..Stream::default()
        },
    ];
    for stream in streams {
        let z = statistic(&unread, 8, |number| {
            of(&mut filled(Window::new(1, 2, stream(number))))
        });
        assert!(z < GOOD, "{z} deviations over streams");
    }

    let mut window = Window::new(2, 0, Stream::default());
    let z = statistic(&unread, 8, |_| {
        // The blocks get the slots 3, 2, 1, 0 every other time.
        let slots = unread.map(|unread| window.push(unread));
        let counts = of(&mut window);
        window.draw(u64::MAX, |_, _| {});
        slots.map(|slot| counts[slot]).to_vec()
    });
    assert!(z < GOOD, "{z} deviations over draws");
}

#[test]
fn two_draws_together_are_one() {
    // Two draws have the distribution of one draw of both sizes.
    for (unread, rows) in [(&[1, 2, 7, 20][..], [3, 5]), (&[60, 5, 61], [35, 40])] {
        let z = statistic(unread, rows.iter().sum(), |seed| {
            let mut window = window(seed, unread);
            let [first, second] = rows.map(|rows| draw(&mut window, rows, unread.len()));
            first.iter().zip(&second).map(|(f, s)| f + s).collect()
        });
        assert!(z < GOOD, "{z} deviations: {rows:?} of {unread:?}");
    }
}

/// Each record has the same chance to be in each batch, while blocks are added.
#[test]
fn records_wait_as_long_as_each_other() {
    // A record of the window stays with a chance of 30 of 40, in each batch.
    let mut window = Window::new(3, 0, Stream::default());
    let mut batch_of_push = vec![0; 64];
    let mut waits = vec![0_u64; 12];
    for batch in 0..20_000 {
        while window.records() < 40 {
            let slot = window.push(1);
            batch_of_push[slot] = batch;
        }
        window.draw(10, |slot, _| {
            let wait: usize = batch - batch_of_push[slot];
            waits[wait.min(11)] += 1;
        });
    }
    let chance = |wait: usize| match wait {
        11 => 0.75_f64.powi(11),
        _ => 0.25 * 0.75_f64.powi(wait as i32),
    };
    let all: u64 = waits.iter().sum();
    let expected = (0..)
        .zip(waits)
        .map(|(wait, count)| (all as f64 * chance(wait), count));
    let z = chi_square(expected);
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
        let more = draw(&mut window(seed, &left), 8 - counts.iter().sum::<u64>(), 4);
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

/// A window of blocks with `unread` records, in slots of their order.
fn window(seed: u64, unread: &[u64]) -> Window {
    let mut window = Window::new(seed, 0, Stream::default());
    push(&mut window, unread);
    window
}

fn push(window: &mut Window, unread: &[u64]) {
    for &records in unread {
        window.push(records);
    }
}

/// The numbers of records that the first slots give to a batch.
fn draw(window: &mut Window, rows: u64, slots: usize) -> Vec<u64> {
    let mut counts = vec![0; slots];
    window.draw(rows, |slot, records| counts[slot] = records);
    counts
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
