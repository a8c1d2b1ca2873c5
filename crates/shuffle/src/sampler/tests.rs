use std::convert::Infallible;

use rand_core::{Rng, TryRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::draw;
use crate::limits::{MAX_SIMULATED, MAX_WINDOW_RECORDS};
use crate::rng::{Purpose, words};

/// Counts the drawn words.
struct Counting {
    rng: Xoshiro256PlusPlus,
    words: u64,
}

impl Counting {
    fn new(seed: u64) -> Self {
        let rng = words(seed, 0, Purpose::Draw(0));
        Counting { rng, words: 0 }
    }
}

impl TryRng for Counting {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        self.try_next_u64().map(|word| word as u32)
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        self.words += 1;
        Ok(self.rng.next_u64())
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        for chunk in bytes.chunks_mut(8) {
            chunk.copy_from_slice(&self.next_u64().to_le_bytes()[..chunk.len()]);
        }
        Ok(())
    }
}

/// Mean number of words of a draw, by block.
fn words_per_block(unread: &[u64], draws: u64) -> f64 {
    const SEEDS: u64 = 20;
    let mut counts = vec![0; unread.len()];
    let mut words = 0;
    for seed in 0..SEEDS {
        let mut rng = Counting::new(seed);
        draw(unread, draws, &mut counts, &mut rng);
        words += rng.words;
        let total: u64 = unread.iter().sum();
        assert_eq!(counts.iter().sum::<u64>(), draws.min(total));
        assert!(
            counts
                .iter()
                .zip(unread)
                .all(|(count, unread)| count <= unread)
        );
    }
    words as f64 / (SEEDS * unread.len() as u64) as f64
}

#[test]
fn work_does_not_grow_with_records_or_draws() {
    for records in [100, 1_000, 1_000_000, 1_000_000_000, 1 << 42] {
        let unread = [records; 64];
        for draws in [1, records / 10, records, records * 32, records * 63] {
            let words = words_per_block(&unread, draws);
            let most = MAX_SIMULATED as f64;
            assert!(words < most, "{words} words: {draws} of 64 * {records}");
        }
    }
    // A try takes at most 3 words. If the standard deviation is large, a draw takes 4/3 tries on
    // average.
    for draws in [100_000_000, 1_000_000_000, 30_000_000_000] {
        let words = words_per_block(&[1_000_000_000; 64], draws);
        assert!(words < 4.0, "{words} words: {draws} of 64 * 10^9");
    }
}

#[test]
fn small_blocks_take_a_word_a_record_at_most() {
    let words = words_per_block(&[8; 1000], 900);
    assert!(words <= 8.0, "{words} words");
    let words = words_per_block(&[8; 1000], 7_999);
    assert!(words <= 1.0, "{words} words for the one record left");
    let words = words_per_block(&[2 * MAX_SIMULATED; 1000], 10_000);
    assert!(words <= MAX_SIMULATED as f64, "{words} words");
}

#[test]
fn trivial_draws_take_no_words() {
    assert_eq!(words_per_block(&[8; 10], 0), 0.0);
    assert_eq!(words_per_block(&[8; 10], 80), 0.0);
    assert_eq!(words_per_block(&[8; 10], u64::MAX), 0.0);
    assert_eq!(words_per_block(&[0; 10], 5), 0.0);
    assert_eq!(words_per_block(&[1 << 61], 1 << 60), 0.0);
}

#[test]
fn records_beyond_the_limit_wait() {
    let mut rng = Counting::new(0);
    let unread = [u64::MAX, 5, u64::MAX];
    let mut counts = [9; 3];
    draw(&unread, u64::MAX, &mut counts, &mut rng);
    assert_eq!(counts, [MAX_WINDOW_RECORDS, 0, 0]);
    draw(&unread, 1_000, &mut counts, &mut rng);
    assert_eq!(counts, [1_000, 0, 0]);

    let unread = [3, MAX_WINDOW_RECORDS - 3, 7];
    draw(&unread, MAX_WINDOW_RECORDS, &mut counts, &mut rng);
    assert_eq!(counts, [3, MAX_WINDOW_RECORDS - 3, 0]);
    draw(&unread, MAX_WINDOW_RECORDS / 2, &mut counts, &mut rng);
    assert_eq!(counts.iter().sum::<u64>(), MAX_WINDOW_RECORDS / 2);
    let expected = MAX_WINDOW_RECORDS / 2;
    assert!(counts[1].abs_diff(expected) <= 3, "{counts:?}");
}
