#![allow(clippy::unwrap_used)]

use rand_core::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::hat::{Candidate, Hat};
use super::ratio::LnRatio;
use super::{Parameters, hypergeometric, reject, settle, simulate};
use crate::rng::{Purpose, words};
use chi_square::chi_square;

#[path = "../../tests/chi_square/mod.rs"]
mod chi_square;

/// `(total, small, large)` from the whole range of the rejection method, and some cases below its
/// range.
const CASES: [(u64, u64, u64); 16] = [
    (20, 3, 5),
    (20, 10, 10),
    (100, 20, 50),
    (1_000, 100, 130),
    (1_000, 500, 500),
    (9_216, 160, 1_024),
    (20_000, 3_000, 5_000),
    (100_000, 40_000, 50_000),
    (100_000, 65, 50_000),
    (1_000_000, 1_000, 1_000),
    (1_000_000, 100, 3_000),
    (1_000_000, 100, 9_000),
    (1_000_000_000, 20_000, 500_000_000),
    (1 << 48, 1 << 20, 1 << 46),
    (1 << 48, 1 << 24, 1 << 26),
    (1 << 61, 1 << 12, 1 << 60),
];

fn cases() -> impl Iterator<Item = Parameters> {
    CASES
        .into_iter()
        .map(|(total, small, large)| Parameters::new(total, small, large))
}

fn rng(seed: u64) -> Xoshiro256PlusPlus {
    words(seed, 0, Purpose::FileOrder)
}

/// The probabilities of the counts above the mode, and of those below it, from the mode outwards.
/// They are relative to the mode's probability and end at 2^-60. Each is the previous one times a
/// ratio.
fn relative(parameters: &Parameters) -> [Vec<f64>; 2] {
    let Parameters {
        small,
        large,
        neither,
        mode,
    } = *parameters;
    let up = |at: u64| {
        let growing = (at + 1) as f64 * (neither + at + 1) as f64;
        (small - at) as f64 / growing * (large - at) as f64
    };
    let products = |ratios: &mut dyn Iterator<Item = f64>| {
        ratios
            .scan(1.0, |p, ratio| {
                *p *= ratio;
                (*p > 2f64.powi(-60)).then_some(*p)
            })
            .collect()
    };
    [
        products(&mut (mode..small).map(up)),
        products(&mut (0..mode).rev().map(|at| 1.0 / up(at))),
    ]
}

/// The first count with a probability above 2^-60 of the mode's, and the probabilities of it and
/// the following counts.
fn distribution(parameters: &Parameters) -> (u64, Vec<f64>) {
    let [up, down] = relative(parameters);
    let first = parameters.mode - down.len() as u64;
    let all: Vec<f64> = down.into_iter().rev().chain([1.0]).chain(up).collect();
    let sum: f64 = all.iter().sum();
    (first, all.into_iter().map(|p| p / sum).collect())
}

/// The statistic of `samples` draws, compared with the exact distribution.
fn statistic(parameters: &Parameters, samples: u64, draw: &mut dyn FnMut() -> u64) -> f64 {
    let (first, probabilities) = distribution(parameters);
    let mut observed = vec![0; probabilities.len()];
    for _ in 0..samples {
        // Counts outside the array have a total probability below 2^-50.
        observed[(draw() - first) as usize] += 1;
    }
    // About fifty cells show a shift or a wrong width best.
    let group = probabilities.len().div_ceil(50);
    chi_square(probabilities.chunks(group).zip(observed.chunks(group)).map(
        |(probabilities, observed)| {
            let expected = samples as f64 * probabilities.iter().sum::<f64>();
            (expected, observed.iter().sum())
        },
    ))
}

#[test]
fn rejection_has_the_distribution() {
    for (seed, parameters) in (0..).zip(cases()) {
        let mut rng = rng(seed);
        let Parameters {
            small,
            large,
            neither,
            ..
        } = parameters;
        let total = small + large + neither;
        let z = statistic(&parameters, 40_000, &mut || {
            reject(total, small, large, &mut rng)
        });
        assert!(z < 4.0, "{z} deviations: {parameters:?}");
    }
}

#[test]
fn simulation_has_the_distribution() {
    for (total, small, large) in [(20, 3, 5), (20, 10, 10), (9_216, 8, 1_024)] {
        let mut rng = rng(total);
        let parameters = Parameters::new(total, small, large);
        let z = statistic(&parameters, 40_000, &mut || {
            simulate(total, small, large, &mut rng)
        });
        assert!(z < 4.0, "{z} deviations: {parameters:?}");
    }
}

#[test]
fn the_statistic_sees_a_slight_bias() {
    // The biased side draws 5,010 records instead of 5,000.
    let parameters = Parameters::new(20_000, 3_000, 5_000);
    let mut rng = rng(0);
    let z = statistic(&parameters, 40_000, &mut || {
        reject(20_000, 3_000, 5_010, &mut rng)
    });
    assert!(z > 6.0, "{z} deviations");
}

#[test]
fn all_sides_have_the_distribution() {
    // 300 of 1,000 are good, 200 are drawn; then the complement of each.
    let parameters = Parameters::new(1_000, 200, 300);
    type Count = fn(u64) -> u64;
    let sides: [(u64, u64, Count); 4] = [
        (300, 200, |count| count),
        (700, 200, |count| 200 - count),
        (300, 800, |count| 300 - count),
        (700, 800, |count| count - 500),
    ];
    for (good, draws, count) in sides {
        let mut rng = rng(good + draws);
        let z = statistic(&parameters, 40_000, &mut || {
            count(hypergeometric(1_000, good, draws, &mut rng))
        });
        assert!(z < 4.0, "{z} deviations: {good} good, {draws} drawn");
    }
}

#[test]
fn the_hat_is_nowhere_below() {
    for parameters in cases() {
        let hat = Hat::new(&parameters);
        let [up, down] = relative(&parameters);
        let (mut area, mut mass) = (0.0, 0.0);
        for (count, p) in (parameters.mode + 1..)
            .zip(&up)
            .chain((0..parameters.mode).rev().zip(&down))
        {
            let height = 2f64.powi(-hat.halvings(count));
            assert!(
                height * (1.0 + 1e-9) >= *p,
                "{count}: {p} of {parameters:?}"
            );
            area += height;
            mass += p;
        }
        // If the standard deviation is large, the area under the hat is 4/3 of the minimum.
        let waste = (1.0 + area) / (1.0 + mass);
        assert!(
            waste < if mass > 100.0 { 1.36 } else { 2.5 },
            "{waste}: {parameters:?}"
        );
    }
}

#[test]
fn draws_follow_the_height_of_the_hat() {
    let parameters = Parameters::new(100, 20, 50);
    let hat = Hat::new(&parameters);
    let mut rng = rng(0);
    let mut observed = [0; 21];
    for _ in 0..100_000 {
        if let Some(Candidate { count, halvings }) = hat.draw(&mut rng) {
            assert_eq!(halvings as i32, hat.halvings(count));
            observed[count as usize] += 1;
        }
    }
    let heights = [(); 21];
    let heights: Vec<f64> = (0..)
        .zip(heights)
        .map(|(count, ())| 2f64.powi(-hat.halvings(count)))
        .collect();
    let unit = observed.iter().sum::<u64>() as f64 / heights.iter().sum::<f64>();
    let z = chi_square(heights.iter().map(|height| unit * height).zip(observed));
    assert!(z < 4.0, "{z} deviations");
}

#[test]
fn settling_agrees_with_floating_point() {
    let mut undecided = 0;
    for (seed, parameters) in (0..).zip(cases()) {
        if parameters.small > 1 << 20 {
            // The exact test multiplies a factor for each step from the mode, which is too slow
            // here.
            continue;
        }
        let hat = Hat::new(&parameters);
        let ratio = LnRatio::new(&parameters);
        let mut rng = rng(seed);
        let mut accepted = 0;
        for _ in 0..200 {
            let Some(candidate) = hat.draw(&mut rng) else {
                continue;
            };
            let word = rng.next_u64();
            let exact = settle::accepts(&parameters, &candidate, word, &mut rng);
            match ratio.accepts(&candidate, word) {
                Some(decided) => assert_eq!(decided, exact, "{candidate:?} {parameters:?}"),
                None => undecided += 1,
            }
            accepted += u64::from(exact);
        }
        assert!(accepted > 50, "{accepted} of 200: {parameters:?}");
    }
    assert_eq!(undecided, 0, "the chance is 2^-30");
}

#[test]
fn floating_point_leaves_close_cases_to_integers() {
    // p(1) / p(0) is exactly 1/2: (2 * 2) / (1 * 8).
    let parameters = Parameters {
        small: 2,
        large: 2,
        neither: 7,
        mode: 0,
    };
    let ratio = LnRatio::new(&parameters);
    let mut rng = rng(0);
    let half = 1 << 63;
    let at = |halvings| Candidate { count: 1, halvings };
    for word in [half - 1000, half - 1, half, half + 1000] {
        assert_eq!(ratio.accepts(&at(0), word), None);
        let settled = settle::accepts(&parameters, &at(0), word, &mut rng);
        assert_eq!(settled, word < half);
    }
    // A hat of 1/2 accepts any word, even the last.
    for word in [0, 1, u64::MAX - 1, u64::MAX] {
        assert!(settle::accepts(&parameters, &at(1), word, &mut rng));
    }
    assert_eq!(ratio.accepts(&at(0), 0), None);
    assert_eq!(ratio.accepts(&at(0), half / 2), Some(true));
    assert_eq!(ratio.accepts(&at(0), half + half / 2), Some(false));
}

#[test]
fn the_logarithm_of_the_ratio_is_as_exact_as_promised() {
    for parameters in cases() {
        let ratio = LnRatio::new(&parameters);
        let [up, down] = relative(&parameters);
        let up = (parameters.mode + 1..).zip(up);
        let down = (0..parameters.mode).rev().zip(down);
        for (steps, (count, p)) in (1..).zip(up.take(5_000)).chain((1..).zip(down.take(5_000))) {
            let (value, size) = ratio.eval(count);
            // The maximum error of a product of `steps` rounded ratios.
            let reference_error = f64::from(steps) * 6.0 * 2f64.powi(-53);
            let error = (value + p.ln()).abs();
            let bound = size * 300.0 * 2f64.powi(-53) + reference_error;
            assert!(error < bound, "{error} at {count} of {parameters:?}");
        }
    }
}
