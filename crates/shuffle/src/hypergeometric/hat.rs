//! The hat: a staircase that is nowhere below the distribution. Drawing from it takes
//! integers alone.

use rand_core::Rng;

use super::Parameters;
use crate::rng::below;

/// A decrease of the logarithm by this much at least halves the probability. It exceeds
/// ln 2 by more than the rounding error of the bounds compared with it.
const HALVING: f64 = 0.6932;

/// A staircase around the mode, in units of the mode's probability. Its middle has height
/// 1. The stairs of a side have equal width, and each is half as high as the one before.
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

    /// Draws a count with a chance in proportion to the height of the hat above it. `None`
    /// if that count is impossible.
    pub(super) fn draw<R: Rng>(&self, rng: &mut R) -> Option<Candidate> {
        let middle = self.left.flat + 1 + self.right.flat;
        // All stairs of a side, 1/2 + 1/4 + .., have the area of one stair of height 1.
        let area = middle + self.left.width + self.right.width;
        let position = below(area, rng);
        if let Some(stair) = position.checked_sub(middle) {
            let halvings = 1 + trailing_zeros(rng);
            let count = match stair.checked_sub(self.right.width) {
                None => self
                    .mode
                    .checked_add(self.right.distance(halvings, stair))?,
                Some(stair) => self.mode.checked_sub(self.left.distance(halvings, stair))?,
            };
            (count <= self.end).then_some(Candidate { count, halvings })
        } else {
            let count = self.mode - self.left.flat + position;
            Some(Candidate { count, halvings: 0 })
        }
    }
}

#[cfg(test)]
impl Hat {
    /// Number of halvings of the hat above `count`.
    pub(super) fn halvings(&self, count: u64) -> i32 {
        let side = match count.checked_sub(self.mode) {
            Some(_) => &self.right,
            None => &self.left,
        };
        let beyond_flat = count.abs_diff(self.mode).checked_sub(side.flat + 1);
        beyond_flat.map_or(0, |beyond| 1 + (beyond / side.width) as i32)
    }
}

/// Number of zeros before the first one in a stream of random bits.
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
    /// Number of counts next to the mode with a hat of height 1.
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

    /// Distance of a position on a stair from the mode.
    fn distance(&self, halvings: u32, position: u64) -> u64 {
        let stairs = u64::from(halvings - 1).saturating_mul(self.width);
        stairs.saturating_add(self.flat + 1 + position)
    }
}

/// A lower bound of the decrease of the log probability: step `i` from the mode decreases
/// it by at least `first + i * curvature`.
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

    /// A number of steps after step `start` that certainly halves the probability, close to
    /// the smallest such number.
    fn steps_to_halve(&self, start: u64) -> u64 {
        let start = start as f64;
        let bound = |steps: f64| {
            let curvature = self.curvature(start + steps);
            steps * (self.first + start * curvature) + steps * (steps - 1.0) / 2.0 * curvature
        };
        // The positive root of the quadratic equation, with the curvature at an estimate of
        // the root.
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
