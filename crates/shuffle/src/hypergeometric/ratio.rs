//! The log ratio of the mode's probability to a count's, with a bound of its error.

use std::f64::consts::LN_2;

use super::Parameters;
use super::hat::Candidate;
use super::ln::{ln, ln_near_one, phi, stirling_rest};

/// The error of the comparison in [`LnRatio::accepts`], relative to the sum of the sizes
/// of its terms: 2048 units of 2^-53, where `DESIGN.md` shows 300.
const ERROR: f64 = 1.0 / (1u64 << 42) as f64;

const TWO_64: f64 = (1u128 << 64) as f64;

/// Evaluates `ln(p(mode) / p(count))`.
#[derive(Debug)]
pub(super) struct LnRatio {
    mode: u64,
    /// The arguments of the four gamma functions of `p`, at the mode.
    bases: [f64; 4],
    /// The sum of their rests in Stirling's formula.
    rest: f64,
    /// The logarithm of a quotient: the product of the two arguments that grow with the
    /// count, over the product of the two that shrink.
    slope: f64,
}

/// Whether an argument of a gamma function grows or shrinks with the count.
const SIGNS: [f64; 4] = [1.0, 1.0, -1.0, -1.0];

impl LnRatio {
    pub(super) fn new(parameters: &Parameters) -> Self {
        let Parameters {
            small,
            large,
            neither,
            mode,
        } = *parameters;
        let bases = [mode, neither + mode, small - mode, large - mode].map(|count| count + 1);
        let [a, b, c, d] = bases.map(u128::from);
        let (growing, shrinking) = (a * b, c * d);
        // Near 1 the quotient's difference from 1 is used, which is exact.
        let excess = (growing as i128 - shrinking as i128) as f64 / shrinking as f64;
        let slope = if excess.abs() <= 0.25 {
            ln_near_one(excess)
        } else {
            ln(growing as f64 / shrinking as f64)
        };
        let bases = bases.map(|base| base as f64);
        LnRatio {
            mode,
            bases,
            rest: bases.map(stirling_rest).iter().sum(),
            slope,
        }
    }

    /// Whether a point of the hat above `candidate` lies under the distribution: whether
    /// `v / 2^halvings` is below `p(count) / p(mode)`. `v` is a real number from 0 to 1
    /// whose first 64 bits are `word`. `None` if the two are too close to decide.
    pub(super) fn accepts(&self, candidate: &Candidate, word: u64) -> Option<bool> {
        if word == 0 {
            return None;
        }
        let (ratio, size) = self.eval(candidate.count);
        let chance = f64::from(candidate.halvings) * LN_2 - ln(word as f64 / TWO_64);
        // The bits of `v` after the first 64 change its logarithm by at most this.
        let unknown_bits = 1.0 / word as f64;
        let error = (size + chance) * ERROR + unknown_bits;
        let difference = chance - ratio;
        (difference.abs() > error).then_some(difference > 0.0)
    }

    /// `ln(p(mode) / p(count))` and the sum of its terms' sizes, at least 1.
    pub(super) fn eval(&self, count: u64) -> (f64, f64) {
        let d = if count >= self.mode {
            (count - self.mode) as f64
        } else {
            -((self.mode - count) as f64)
        };
        let mut quadratic = 0.0;
        let mut quotient = 1.0;
        let mut rest = 0.0;
        for (base, sign) in self.bases.into_iter().zip(SIGNS) {
            let end = base + sign * d;
            quadratic += phi(base, sign * d);
            quotient *= end / base;
            rest += stirling_rest(end);
        }
        let linear = d * self.slope;
        let root = 0.5 * ln(quotient);
        let ratio = quadratic + linear - root + (rest - self.rest);
        (ratio, 1.0 + quadratic + linear.abs() + root.abs())
    }
}
