//! Draws one hypergeometric count, exactly. `DESIGN.md` has the derivation.

mod hat;
mod ln;
mod ratio;
mod settle;

use rand_core::Rng;

use crate::limits::MAX_SIMULATED;
use crate::rng::below;
use hat::Hat;
use ratio::LnRatio;

/// Draws `draws` of `total` records without replacement. Returns how many of them are
/// among `good` given records.
///
/// Both `good` and `draws` must be at most `total`, and `total` at most
/// [`MAX_WINDOW_RECORDS`](crate::MAX_WINDOW_RECORDS).
#[inline]
pub(crate) fn hypergeometric<R: Rng>(total: u64, good: u64, draws: u64, rng: &mut R) -> u64 {
    // The count of the smaller sets gives the counts of their complements.
    let rare = good.min(total - good);
    let few = draws.min(total - draws);
    // The two sets can be exchanged.
    let (small, large) = (rare.min(few), rare.max(few));
    let both = if small <= MAX_SIMULATED {
        simulate(total, small, large, rng)
    } else {
        reject(total, small, large, rng)
    };
    match (rare == good, few == draws) {
        (true, true) => both,
        (false, true) => draws - both,
        (true, false) => good - both,
        // Of the records left, `few - both` are good.
        (false, false) => good - (few - both),
    }
}

/// Draws `small` records one by one, and counts the records among `large`.
#[inline]
fn simulate<R: Rng>(total: u64, small: u64, large: u64, rng: &mut R) -> u64 {
    let mut left = large;
    for drawn in 0..small {
        left -= u64::from(below(total - drawn, rng) < left);
    }
    large - left
}

/// The parameters of a count that is drawn by rejection. `small <= large <= total / 2`,
/// so every count from 0 to `small` is possible.
#[derive(Clone, Copy, Debug)]
struct Parameters {
    small: u64,
    large: u64,
    /// `total - small - large`.
    neither: u64,
    /// The most probable count.
    mode: u64,
}

impl Parameters {
    fn new(total: u64, small: u64, large: u64) -> Self {
        let product = (u128::from(small) + 1) * (u128::from(large) + 1);
        Parameters {
            small,
            large,
            neither: total - small - large,
            mode: (product / (u128::from(total) + 2)) as u64,
        }
    }
}

/// Draws points under a hat over the distribution, until one lies under the
/// distribution.
fn reject<R: Rng>(total: u64, small: u64, large: u64, rng: &mut R) -> u64 {
    let parameters = Parameters::new(total, small, large);
    let hat = Hat::new(&parameters);
    let ratio = LnRatio::new(&parameters);
    loop {
        let Some(candidate) = hat.draw(rng) else {
            continue;
        };
        if candidate.count == parameters.mode {
            return candidate.count;
        }
        let word = rng.next_u64();
        let accepted = ratio
            .accepts(&candidate, word)
            .unwrap_or_else(|| settle::accepts(&parameters, &candidate, word, rng));
        if accepted {
            return candidate.count;
        }
    }
}

#[cfg(test)]
mod tests;
