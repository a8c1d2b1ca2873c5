use super::*;
use crate::rng::{Purpose, words};

#[test]
fn coins_have_their_chance_and_nothing_in_common() {
    const WORDS: u32 = 4_000;
    for chance in [1, 2, 77, 128, 255] {
        let mut rng = words(chance, 0, Purpose::Draw(0));
        let (mut set, mut both) = (0, 0);
        for _ in 0..WORDS {
            let word = coins(chance, &mut rng);
            set += word.count_ones();
            both += (word & word.rotate_left(1)).count_ones();
        }
        let all = f64::from(WORDS * u64::BITS);
        let p = chance as f64 / 256.0;
        for (found, p) in [(set, p), (both, p * p)] {
            // Neighbouring pairs share a coin: up to three times the variance.
            let deviation = (3.0 * all * p * (1.0 - p)).sqrt();
            let off = (f64::from(found) - all * p) / deviation;
            assert!(off.abs() < 4.0, "{off} deviations of {chance}");
        }
    }
}

#[test]
fn the_bits_of_a_word_go_to_the_records_in_turn() {
    // Blocks that end within a word, at its end, and after several words.
    let unread = [3, 0, 61, 64, 1, 128, 5, 100];
    let mut counts = [9; 8];
    let all = thin(
        &unread,
        100,
        &mut counts,
        &mut words(7, 0, Purpose::Draw(0)),
    );

    let mut rng = words(7, 0, Purpose::Draw(0));
    let words: Vec<u64> = (0..6).map(|_| coins(100, &mut rng)).collect();
    let mut bits = words
        .iter()
        .flat_map(|word| (0..64).map(move |bit| word >> bit & 1));
    let expected = unread.map(|unread| bits.by_ref().take(unread as usize).sum::<u64>());
    assert_eq!(counts, expected);
    assert_eq!(all, expected.iter().sum::<u64>());
}

#[test]
fn the_chance_seldom_takes_too_many() {
    assert_eq!(chance(0, 0), 0);
    assert_eq!(chance(1_000_000, 1_000), 0);
    assert_eq!(chance(9_216, 1_024), (1_024 - 64) * 256 / 9_216);
    assert_eq!(chance(2_000, 1_000), (1_000 - 62) * 256 / 2_000);
}

/// A window of blocks of 8 records, partly read. The share of draws that put records
/// back is the chance of two deviations.
#[test]
fn records_are_put_back_where_too_many_were_taken() {
    let unread: Vec<u64> = (0..2_000).map(|i| 1 + i % 8).collect();
    let total = unread.iter().sum();
    let mut counts = vec![0; unread.len()];
    let (mut above, mut below) = (0, 0);
    for seed in 0..300 {
        let mut rng = words(seed, 0, Purpose::Draw(0));
        match thin(&unread, chance(total, 1_024), &mut counts, &mut rng) {
            taken if taken > 1_024 => above += 1,
            _ => below += 1,
        }
        let mut rng = words(seed, 0, Purpose::Draw(0));
        draw(&unread, total, 8, 1_024, &mut counts, &mut rng);
        assert_eq!(counts.iter().sum::<u64>(), 1_024);
        assert!(
            counts
                .iter()
                .zip(&unread)
                .all(|(count, most)| count <= most)
        );
    }
    assert!(above > 0 && below > 250, "{above} above, {below} below");
}
