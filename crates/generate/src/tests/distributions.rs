//! Drawing from distributions.

use crate::alias::{Alias, Thousandths, poisson};
use crate::random::Random;

#[test]
fn alias_draws_in_proportion_to_the_weights() {
    let weights = [1.0, 0.0, 5.0, 2.0, 0.25];
    let alias = Alias::new(&weights);
    let mut random = Random::new(0, 0);
    let mut counts = [0u32; 5];
    for _ in 0..100_000 {
        counts[alias.draw(&mut random)] += 1;
    }
    assert_eq!(counts[1], 0);
    for (count, weight) in counts.into_iter().zip(weights) {
        let expected = 100_000.0 * weight / 8.25;
        assert!(
            (f64::from(count) - expected).abs() <= 5.0 * expected.sqrt(),
            "{counts:?}"
        );
    }
}

#[test]
fn distributions_have_their_mean_and_variance() {
    let mut random = Random::new(1, 0);
    let mut moments = |draw: &dyn Fn(&mut Random) -> f64| {
        let draws: Vec<f64> = (0..100_000).map(|_| draw(&mut random)).collect();
        let mean = draws.iter().sum::<f64>() / 1e5;
        let variance = draws.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / 1e5;
        (mean, variance)
    };
    let counts = poisson(40.0);
    let (mean, variance) = moments(&|random| counts.draw(random) as f64);
    assert!(
        (mean - 40.0).abs() < 0.2 && (variance - 40.0).abs() < 1.5,
        "{mean}, {variance}"
    );

    let normal = Thousandths::new(0.0);
    let (mean, variance) = moments(&|random| f64::from(normal.draw(random)) / 1e3);
    assert!(
        mean.abs() < 0.02 && (variance - 1.0).abs() < 0.03,
        "{mean}, {variance}"
    );
}
