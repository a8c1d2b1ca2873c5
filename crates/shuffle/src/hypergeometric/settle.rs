//! Decides in integers where floating point is too close: about once in 2^38 candidates.

use std::cmp::Ordering;

use rand_core::Rng;

use super::Parameters;
use super::hat::Candidate;

/// Number of words of the first attempt. Each further attempt doubles it.
const FIRST_WORDS: usize = 4;

/// Whether `v / 2^halvings` is below `p(count) / p(mode)`. `v` is a real number from 0 to 1
/// whose first 64 bits are `word`; further bits are drawn as needed.
///
/// The ratio is a product of fractions of at most 1, one for each step from the mode.
/// Rounding down in fixed point loses less than one unit of the last place each time, and
/// later fractions do not enlarge that loss.
#[cold]
pub(super) fn accepts<R: Rng>(
    parameters: &Parameters,
    candidate: &Candidate,
    word: u64,
    rng: &mut R,
) -> bool {
    let mut v = vec![word];
    let mut words = FIRST_WORDS;
    loop {
        while v.len() < words {
            v.push(rng.next_u64());
        }
        let mut lower = Natural::power_of_two(64 * words + candidate.halvings as usize);
        let mut steps = 0;
        for ([a, b], [c, d]) in factors(parameters, candidate.count) {
            lower.multiply(a);
            lower.multiply(b);
            lower.divide(c);
            lower.divide(d);
            steps += 1;
        }
        let v_lower = Natural::from_most_significant(&v);
        if v_lower < lower {
            return true;
        }
        lower.add(steps);
        if v_lower >= lower {
            return false;
        }
        words *= 2;
    }
}

/// A fraction: two factors of its numerator and two of its denominator.
type Fraction = ([u64; 2], [u64; 2]);

/// The ratios of the probabilities of neighbouring counts, from the mode to `count`.
fn factors(parameters: &Parameters, count: u64) -> impl Iterator<Item = Fraction> {
    let Parameters {
        small,
        large,
        neither,
        mode,
    } = *parameters;
    let up = move |at| ([small - at, large - at], [at + 1, neither + at + 1]);
    let down = move |at| ([at, neither + at], [small - at + 1, large - at + 1]);
    (mode..count)
        .map(up)
        .chain((count + 1..=mode).rev().map(down))
}

/// A natural number of any size, least significant word first, without leading
/// zeros.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Natural(Vec<u64>);

impl Natural {
    fn power_of_two(exponent: usize) -> Self {
        let mut words = vec![0; exponent / 64];
        words.push(1 << (exponent % 64));
        Natural(words)
    }

    fn from_most_significant(words: &[u64]) -> Self {
        Natural(words.iter().rev().copied().collect()).trim()
    }

    fn multiply(&mut self, by: u64) {
        let mut carry = 0;
        for word in &mut self.0 {
            let product = u128::from(*word) * u128::from(by) + carry;
            *word = product as u64;
            carry = product >> 64;
        }
        self.0.push(carry as u64);
        self.trim_in_place();
    }

    /// Divides, rounding down.
    fn divide(&mut self, by: u64) {
        let mut rest = 0;
        for word in self.0.iter_mut().rev() {
            let dividend = rest << 64 | u128::from(*word);
            *word = (dividend / u128::from(by)) as u64;
            rest = dividend % u128::from(by);
        }
        self.trim_in_place();
    }

    fn add(&mut self, number: u64) {
        let mut carry = number;
        for word in &mut self.0 {
            let (sum, overflow) = word.overflowing_add(carry);
            *word = sum;
            carry = u64::from(overflow);
        }
        self.0.push(carry);
        self.trim_in_place();
    }

    fn trim(mut self) -> Self {
        self.trim_in_place();
        self
    }

    fn trim_in_place(&mut self) {
        while self.0.last() == Some(&0) {
            self.0.pop();
        }
    }
}

impl PartialOrd for Natural {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Natural {
    fn cmp(&self, other: &Self) -> Ordering {
        let length = self.0.len().cmp(&other.0.len());
        length.then_with(|| self.0.iter().rev().cmp(other.0.iter().rev()))
    }
}
