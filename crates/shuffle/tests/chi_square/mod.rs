//! The statistic of the tests of distributions.

/// The chi-square statistic of `observed`, in standard deviations above its mean, by
/// Wilson and Hilferty's approximation. Neighbouring cells are joined until each has an
/// expectation of 8.
pub(crate) fn chi_square(cells: impl IntoIterator<Item = (f64, u64)>) -> f64 {
    const ENOUGH: f64 = 8.0;
    let mut joined = vec![(0.0, 0.0)];
    for (expected, observed) in cells {
        if joined
            .last()
            .is_some_and(|(expected, _)| *expected >= ENOUGH)
        {
            joined.push((0.0, 0.0));
        }
        if let Some(last) = joined.last_mut() {
            last.0 += expected;
            last.1 += observed as f64;
        }
    }
    if joined.len() > 1 && joined[joined.len() - 1].0 < ENOUGH {
        let (expected, observed) = joined.swap_remove(joined.len() - 1);
        if let Some(last) = joined.last_mut() {
            last.0 += expected;
            last.1 += observed;
        }
    }
    assert!(joined.len() > 1, "a single cell says nothing");
    let statistic: f64 = joined
        .iter()
        .map(|(expected, observed)| (observed - expected).powi(2) / expected)
        .sum();
    let freedom = (joined.len() - 1) as f64;
    let spread = 2.0 / (9.0 * freedom);
    ((statistic / freedom).cbrt() - (1.0 - spread)) / spread.sqrt()
}
