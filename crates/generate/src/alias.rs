//! Drawing from a discrete distribution in constant time (Walker's alias method).
//!
//! The weights come from recurrences in `+`, `*` and `/` alone, whose results IEEE 754 fixes.
//! Library functions such as `exp` differ between platforms, and so would the files.

use crate::random::Random;

/// Draws `i` in proportion to weight `i`.
#[derive(Clone, Debug)]
pub(crate) struct Alias {
    slots: Vec<Slot>,
}

/// One of equally likely slots. A draw against `threshold` chooses between its own number and
/// another number.
#[derive(Clone, Copy, Debug)]
struct Slot {
    /// The probability of the slot's own number, times 2^32.
    threshold: u32,
    alias: u32,
}

impl Alias {
    /// A distribution of `weights`: at least one and fewer than 2^32, none negative, not all 0.
    pub(crate) fn new(weights: &[f64]) -> Self {
        let mean = weights.iter().sum::<f64>() / weights.len() as f64;
        let mut shares: Vec<f64> = weights.iter().map(|weight| weight / mean).collect();
        // Slots that are left over by rounding keep their own number.
        let own = |i: usize| Slot {
            threshold: u32::MAX,
            alias: i as u32,
        };
        let mut slots: Vec<Slot> = (0..weights.len()).map(own).collect();
        let (mut small, mut large): (Vec<usize>, Vec<usize>) =
            (0..weights.len()).partition(|&i| shares[i] < 1.0);
        while let (Some(i), Some(&donor)) = (small.pop(), large.last()) {
            slots[i] = Slot {
                threshold: (shares[i] * TWO_POW_32) as u32,
                alias: donor as u32,
            };
            shares[donor] -= 1.0 - shares[i];
            if shares[donor] < 1.0 {
                large.pop();
                small.push(donor);
            }
        }
        Alias { slots }
    }

    #[inline]
    pub(crate) fn draw(&self, random: &mut Random) -> usize {
        let bits = random.bits();
        let i = ((bits >> 32) as usize * self.slots.len()) >> 32;
        let slot = self.slots[i];
        if (bits as u32) < slot.threshold {
            i
        } else {
            slot.alias as usize
        }
    }
}

const TWO_POW_32: f64 = 4_294_967_296.0;

/// A Poisson distribution.
pub(crate) fn poisson(mean: f64) -> Alias {
    let mut weights = vec![1.0];
    let mut weight = 1.0;
    let mut sum = 1.0;
    while (weights.len() as f64) < mean || weight > sum * NEGLIGIBLE {
        weight *= mean / weights.len() as f64;
        sum += weight;
        weights.push(weight);
    }
    Alias::new(&weights)
}

/// The fraction of a distribution's sum that is too small for a draw of 32 bits.
const NEGLIGIBLE: f64 = 1.0 / (TWO_POW_32 * 16.0);

/// The standard normal distribution in thousandths, with a chosen probability of 0.
#[derive(Clone, Debug)]
pub(crate) struct Thousandths(Alias);

impl Thousandths {
    /// A distribution that is 0 with the probability `zeros`, which must be below 1, and normal
    /// otherwise.
    pub(crate) fn new(zeros: f64) -> Self {
        // The density at k thousandths is exp(-k^2 / 2e6), up to a constant factor. From k to k + 1
        // it is multiplied by `step`, and `step` by exp(-1e-6).
        let quotient = exp_of_tiny(-1e-6);
        let mut step = exp_of_tiny(-0.5e-6);
        let mut density = 1.0;
        let mut half = Vec::with_capacity(FARTHEST);
        for _ in 0..FARTHEST {
            density *= step;
            step *= quotient;
            half.push(density);
        }
        let zero = 2.0 * half.iter().sum::<f64>() * zeros / (1.0 - zeros);
        let weights: Vec<f64> = half
            .iter()
            .rev()
            .chain([&zero])
            .chain(&half)
            .copied()
            .collect();
        Thousandths(Alias::new(&weights))
    }

    #[inline]
    pub(crate) fn draw(&self, random: &mut Random) -> i32 {
        self.0.draw(random) as i32 - FARTHEST as i32
    }
}

/// The largest draw, in thousandths. One in 2^29 of the distribution is beyond.
const FARTHEST: usize = 6_000;

/// `exp(x)` for `|x|` of at most a millionth. The omitted terms are below half a unit in the last
/// place.
fn exp_of_tiny(x: f64) -> f64 {
    1.0 + x * (1.0 + x * (0.5 + x / 6.0))
}
