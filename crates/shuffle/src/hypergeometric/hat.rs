//! The hat: a staircase nowhere below the distribution, from which integers
//! alone draw.

use rand_core::Rng;

use super::Parameters;
use crate::rng::below;

/// A step down of this much in the logarithm halves the probability at least:
/// above ln 2 by more than the rounding of the bounds held against it.
const HALVING: f64 = 0.6932;

/// A staircase around the mode, in units of the mode's probability: of height 1
/// in the middle, and on either side of stairs of equal width, each half as
/// high as the one before.
#[derive(Debug)]
pub(super) struct Hat {
    mode: u64,
    /// The largest count.
    end: u64,
    left: Side,
    right: Side,
}

/// A count under the hat, where the hat is `2^-halvings` high.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Candidate {
    pub(super) count: u64,
    pub(super) halvings: u32,
}

impl Hat {
    pub(super) fn new(parameters: &Parameters) -> Self {
        let Parameters {
            small,
            large,
            neither,
            mode,
        } = *parameters;
        Hat {
            mode,
            end: small,
            left: Side::new([mode, neither + mode], [small - mode + 1, large - mode + 1]),
            right: Side::new([small - mode, large - mode], [mode + 1, neither + mode + 1]),
        }
    }

    /// A count with a chance in proportion to the hat's height above it; `None`
    /// for one that cannot be.
    pub(super) fn draw<R: Rng>(&self, rng: &mut R) -> Option<Candidate> {
        let middle = self.left.flat + 1 + self.right.flat;
        // Each side's stairs, 1/2 + 1/4 + .. high, have the area of one that is
        // 1 high.
        let area = middle + self.left.width + self.right.width;
        let place = below(area, rng);
        if let Some(stair) = place.checked_sub(middle) {
            let halvings = 1 + trailing_zeros(rng);
            let count = match stair.checked_sub(self.right.width) {
                None => self
                    .mode
                    .checked_add(self.right.distance(halvings, stair))?,
                Some(stair) => self.mode.checked_sub(self.left.distance(halvings, stair))?,
            };
            (count <= self.end).then_some(Candidate { count, halvings })
        } else {
            let count = self.mode - self.left.flat + place;
            Some(Candidate { count, halvings: 0 })
        }
    }
}

#[cfg(test)]
impl Hat {
    /// How often the hat is halved above `count`.
    pub(super) fn halvings(&self, count: u64) -> i32 {
        let side = match count.checked_sub(self.mode) {
            Some(_) => &self.right,
            None => &self.left,
        };
        let beyond_flat = count.abs_diff(self.mode).checked_sub(side.flat + 1);
        beyond_flat.map_or(0, |beyond| 1 + (beyond / side.width) as i32)
    }
}

/// The zeros before the first one in a stream of random bits.
fn trailing_zeros<R: Rng>(rng: &mut R) -> u32 {
    let mut zeros = 0;
    loop {
        let word = rng.next_u64();
        zeros += word.trailing_zeros();
        if word != 0 {
            return zeros;
        }
    }
}

/// The hat on one side of the mode.
#[derive(Debug)]
struct Side {
    /// Counts next to the mode that the hat is 1 high above.
    flat: u64,
    /// The width of a stair; 0 if no count lies beyond the flat part.
    width: u64,
}

impl Side {
    /// The side on which the `i`-th count from the mode is
    /// `product(shrinking - i) / product(growing + i)` times as likely as the
    /// one before it, counting `i` from 0.
    fn new(shrinking: [u64; 2], growing: [u64; 2]) -> Self {
        let counts = shrinking[0].min(shrinking[1]);
        let only_flat = |flat| Side { flat, width: 0 };
        if counts == 0 {
            return only_flat(0);
        }
        let decline = Decline::new(shrinking, growing);
        let start = decline.steps_to_halve(0);
        if counts < start {
            return only_flat(counts);
        }
        Side {
            flat: start - 1,
            width: decline.steps_to_halve(start),
        }
    }

    /// How far from the mode a place on a stair is.
    fn distance(&self, halvings: u32, place: u64) -> u64 {
        let stairs = u64::from(halvings - 1).saturating_mul(self.width);
        stairs.saturating_add(self.flat + 1 + place)
    }
}

/// A lower bound of how fast the logarithm of the probability falls: step `i`
/// from the mode takes at least `first + i * curvature`.
#[derive(Debug)]
struct Decline {
    shrinking: [f64; 2],
    growing: [f64; 2],
    first: f64,
}

impl Decline {
    fn new(shrinking: [u64; 2], growing: [u64; 2]) -> Self {
        let [shrinking, growing] = [shrinking, growing].map(|pair| pair.map(|n| n as f64));
        let quotient = (shrinking[0] / growing[0]) * (shrinking[1] / growing[1]);
        Decline {
            shrinking,
            growing,
            // -ln x >= 1 - x.
            first: (1.0 - quotient).max(0.0),
        }
    }

    /// The curvature that holds for all steps below `steps`.
    fn curvature(&self, steps: f64) -> f64 {
        // -ln(1 - x) >= x, and ln(1 + x) >= 2 x / (2 + x).
        let [a, b] = self.shrinking.map(|n| 1.0 / n);
        let [c, d] = self.growing.map(|n| 2.0 / (2.0 * n + steps));
        a + b + c + d
    }

    /// A number of steps, near the smallest, that surely halve the probability
    /// when `start` steps have been made.
    fn steps_to_halve(&self, start: u64) -> u64 {
        let start = start as f64;
        let bound = |steps: f64| {
            let curvature = self.curvature(start + steps);
            steps * (self.first + start * curvature) + steps * (steps - 1.0) / 2.0 * curvature
        };
        // The positive root of the quadratic equation, if the curvature were
        // that at a guess of the root.
        let mut steps = 0.0;
        for _ in 0..2 {
            let curvature = self.curvature(start + steps);
            let linear = self.first + (start - 0.5) * curvature;
            let root = (linear * linear + 2.0 * HALVING * curvature).sqrt();
            steps = (2.0 * HALVING / (linear + root)).ceil();
        }
        while bound(steps) < HALVING {
            steps += 1.0 + (steps / 16.0).floor();
        }
        steps as u64
    }
}
