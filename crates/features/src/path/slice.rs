//! Slices: a range of a list's elements.

use std::fmt::{self, Display, Formatter};
use std::ops::Range;

/// A range of a list's elements, with bounds as in Python.
///
/// ```
/// use atds_features::path::Slice;
///
/// let last_three = Slice { start: Some(-3), end: None };
/// assert_eq!(last_three.to_string(), "-3:");
/// assert_eq!(last_three.of_length(8), 5..8);
/// assert_eq!(last_three.of_length(2), 0..2);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Slice {
    /// The first element, from the end if negative; `None` for the list's start.
    pub start: Option<i64>,
    /// The element after the last one, from the end if negative; `None` for the list's end.
    pub end: Option<i64>,
}

impl Slice {
    /// Whether the bounds do not depend on the list's length: neither is negative.
    #[inline]
    pub fn is_from_start(self) -> bool {
        self.start.is_none_or(|bound| bound >= 0) && self.end.is_none_or(|bound| bound >= 0)
    }

    /// The range of elements that the slice selects in a list of `length` elements.
    ///
    /// For a slice that [is from the start](Self::is_from_start), a `length` above the list's
    /// selects the same elements.
    #[inline]
    pub fn of_length(self, length: usize) -> Range<usize> {
        let absolute = |bound: i64| {
            let distance = usize::try_from(bound.unsigned_abs()).unwrap_or(usize::MAX);
            if bound < 0 {
                length.saturating_sub(distance)
            } else {
                distance.min(length)
            }
        };
        let start = self.start.map_or(0, absolute);
        let end = self.end.map_or(length, absolute);
        start..end.max(start)
    }
}

/// Prints the slice as between the brackets of an expression.
impl Display for Slice {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if let Some(start) = self.start {
            start.fmt(f)?;
        }
        f.write_str(":")?;
        match self.end {
            Some(end) => end.fmt(f),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Slices have Python's bounds, for every pair of bounds near the ends of a list.
    #[test]
    fn bounds_are_those_of_python() {
        let bounds = || [None].into_iter().chain((-5..=5).map(Some));
        for length in 0..4_i64 {
            for (start, end) in bounds().flat_map(|start| bounds().map(move |end| (start, end))) {
                let absolute = |bound: i64| if bound < 0 { bound + length } else { bound };
                let is_in = |index: i64| {
                    start.is_none_or(|start| absolute(start) <= index)
                        && end.is_none_or(|end| index < absolute(end))
                };
                let expected: Vec<i64> = (0..length).filter(|&index| is_in(index)).collect();
                let slice = Slice { start, end };
                let range = slice.of_length(length as usize);
                let found: Vec<i64> = range.map(|index| index as i64).collect();
                assert_eq!(found, expected, "[{slice}] of {length}");
            }
        }
    }

    #[test]
    fn the_largest_bounds() {
        let slice = |start, end| Slice { start, end }.of_length(3);
        assert_eq!(slice(Some(i64::MIN), Some(i64::MAX)), 0..3);
        assert_eq!(slice(Some(i64::MAX), None), 3..3);
        assert_eq!(slice(None, Some(i64::MIN)), 0..0);
    }
}
