//! Splitting blocks into contiguous ranges of even cost.

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
    let mut ranges = Vec::with_capacity(parts);
    partition_with(costs, parts, |_, range| ranges.push(range));
    ranges
}

/// The same, with each range and its number given to `each`.
pub(crate) fn partition_with(
    costs: &[f64],
    parts: usize,
    mut each: impl FnMut(usize, Range<usize>),
) {
    assert!(parts > 0, "at least one part");
    let total: f64 = costs.iter().sum();
    let (mut start, mut end, mut spent) = (0, 0, 0.0);
    for part in 1..parts {
        let target = total * part as f64 / parts as f64;
        // An item belongs to the part that its middle is in.
        while end < costs.len() && spent + costs[end] / 2.0 <= target {
            spent += costs[end];
            end += 1;
        }
        each(part - 1, start..end);
        start = end;
    }
    each(parts - 1, start..costs.len());
}
