//! Splitting blocks into contiguous ranges of given shares of the cost.

use std::ops::Range;

/// Splits `costs` into `parts` contiguous ranges, in order and together all of
/// it, some perhaps empty. Range `i` ends at the item boundary nearest to
/// `(i + 1) / parts` of the total.
///
/// Both ends of a range are off by at most half the cost of an item, so no
/// range costs more than `total / parts + max(costs)`; no partition can promise
/// less than the larger of the two. Takes time linear in `costs`.
///
/// # Panics
/// If `parts` is 0.
pub fn partition(costs: &[f64], parts: usize) -> Vec<Range<usize>> {
    assert!(parts > 0, "at least one part");
    let total: f64 = costs.iter().sum();
    let ends = (1..=parts).map(|part| total * part as f64 / parts as f64);
    let mut ranges: Vec<_> = ranges(costs, ends).collect();
    // What rounding has left over.
    ranges[parts - 1].end = costs.len();
    ranges
}

/// The contiguous ranges of `costs` that end at the item boundaries nearest to
/// `ends`, sums of costs from the front, ascending.
pub(crate) fn ranges<'a>(
    costs: &'a [f64],
    ends: impl Iterator<Item = f64> + 'a,
) -> impl Iterator<Item = Range<usize>> + 'a {
    let (mut end, mut spent) = (0, 0.0);
    ends.map(move |target| {
        let start = end;
        // An item belongs to the range that its middle is in.
        while end < costs.len() && spent + costs[end] / 2.0 <= target {
            spent += costs[end];
            end += 1;
        }
        start..end
    })
}
