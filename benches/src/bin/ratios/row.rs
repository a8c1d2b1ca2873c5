//! A ratio with its two figures and its bound.

use crate::measure::{Times, quartiles};

/// A line of the table.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    /// The name of the comparison, set by [`under`](Row::under).
    pub(crate) comparison: &'static str,
    /// The case within the comparison.
    pub(crate) what: String,
    pub(crate) a: Figure,
    pub(crate) b: Figure,
    /// The quantity of A and B that is divided.
    pub(crate) of: Quantity,
    /// A divided by B: the median over the rounds.
    pub(crate) ratio: f64,
    /// The spread over the rounds, if there were rounds.
    pub(crate) spread: Option<Spread>,
    pub(crate) bound: Option<Bound>,
}

/// The spread of the ratios of the rounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spread {
    pub(crate) rounds: usize,
    /// The first and the third quartile.
    pub(crate) quartiles: [f64; 2],
}

/// The result of a side.
#[derive(Clone, Debug)]
pub(crate) struct Figure {
    /// The side.
    pub(crate) label: String,
    pub(crate) unit: &'static str,
    pub(crate) median: f64,
    pub(crate) least: f64,
    pub(crate) most: f64,
}

/// The quantity of a ratio.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Quantity {
    /// Records or bytes a second.
    Speed,
    /// The time of an epoch.
    Time,
    /// Bytes of memory.
    Memory,
}

/// The bound of a ratio.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Bound {
    AtLeast(f64),
    AtMost(f64),
}

/// A side's label and times.
pub(crate) type Side<'a> = (&'a str, &'a Times);

impl Row {
    /// A's speed over B's.
    pub(crate) fn speed(what: impl Into<String>, a: Side<'_>, b: Side<'_>) -> Self {
        Self::timed(what.into(), Quantity::Speed, a, b)
    }

    /// A's time over B's.
    pub(crate) fn time(what: impl Into<String>, a: Side<'_>, b: Side<'_>) -> Self {
        Self::timed(what.into(), Quantity::Time, a, b)
    }

    /// Bytes of A over bytes of B.
    pub(crate) fn memory(what: impl Into<String>, a: (&str, u64), b: (&str, u64)) -> Self {
        Row {
            comparison: "",
            what: what.into(),
            a: Figure::megabytes(a),
            b: Figure::megabytes(b),
            of: Quantity::Memory,
            ratio: a.1 as f64 / b.1 as f64,
            spread: None,
            bound: None,
        }
    }

    fn timed(what: String, of: Quantity, a: Side<'_>, b: Side<'_>) -> Self {
        // Round by round, because a slow round slows both sides.
        let rounds = a.1.speeds().zip(b.1.speeds());
        let [first, ratio, third] = quartiles(rounds.map(|(a, b)| match of {
            Quantity::Speed => a / b,
            Quantity::Time | Quantity::Memory => b / a,
        }));
        Row {
            comparison: "",
            what,
            a: Figure::speed(a),
            b: Figure::speed(b),
            of,
            ratio,
            spread: Some(Spread {
                rounds: a.1.seconds.len(),
                quartiles: [first, third],
            }),
            bound: None,
        }
    }

    pub(crate) fn at_least(mut self, least: f64) -> Self {
        self.bound = Some(Bound::AtLeast(least));
        self
    }

    pub(crate) fn at_most(mut self, most: f64) -> Self {
        self.bound = Some(Bound::AtMost(most));
        self
    }

    /// This row with the name of its comparison.
    pub(crate) fn under(mut self, comparison: &'static str) -> Self {
        self.comparison = comparison;
        self
    }

    /// Whether the ratio keeps its bound. True without a bound.
    pub(crate) fn holds(&self) -> bool {
        match self.bound {
            None => true,
            Some(Bound::AtLeast(least)) => self.ratio >= least,
            Some(Bound::AtMost(most)) => self.ratio <= most,
        }
    }

    /// Whether the ratio is farther from its bound than chance explains.
    pub(crate) fn is_clear(&self) -> bool {
        let (Some(bound), Some(spread)) = (self.bound, self.spread) else {
            return true;
        };
        let (Bound::AtLeast(bound) | Bound::AtMost(bound)) = bound;
        (self.ratio - bound).abs() > 2.0 * spread.standard_error()
    }
}

impl Spread {
    /// The standard error of the median, from the quartiles of a normal distribution.
    fn standard_error(&self) -> f64 {
        let [first, third] = self.quartiles;
        // Quartiles are 1.349 standard deviations apart, and the error of a median is 1.253 times
        // that of a mean.
        1.253 * (third - first) / 1.349 / (self.rounds as f64).sqrt()
    }
}

impl Figure {
    fn speed((label, times): Side<'_>) -> Self {
        Figure {
            label: label.to_owned(),
            unit: times.unit,
            median: times.median_speed(),
            least: times.speeds().fold(f64::INFINITY, f64::min),
            most: times.speeds().fold(0.0, f64::max),
        }
    }

    fn megabytes((label, bytes): (&str, u64)) -> Self {
        let megabytes = bytes as f64 / 1e6;
        Figure {
            label: label.to_owned(),
            unit: "MB",
            median: megabytes,
            least: megabytes,
            most: megabytes,
        }
    }
}

impl Quantity {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Quantity::Speed => "speed",
            Quantity::Time => "time",
            Quantity::Memory => "memory",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_is_that_of_the_rounds() {
        let times = |seconds: &[f64]| Times {
            amount: 10.0,
            unit: "records/s",
            seconds: seconds.to_vec(),
        };
        // In the second round, the machine was half as fast.
        let (a, b) = (times(&[1.0, 2.0, 1.0]), times(&[2.0, 4.0, 2.0]));
        let row = Row::speed("", ("a", &a), ("b", &b));
        assert_eq!((row.ratio, row.a.median, row.a.least), (2.0, 10.0, 5.0));
        let (rounds, quartiles) = (3, [2.0, 2.0]);
        assert_eq!(row.spread, Some(Spread { rounds, quartiles }));
        assert_eq!(Row::time("", ("a", &a), ("b", &b)).ratio, 0.5);
    }

    #[test]
    fn a_ratio_is_clear_two_errors_from_its_bound() {
        let seconds = Vec::from_iter((0..100).map(|nth| 0.8 + 0.4 * f64::from(nth) / 99.0));
        let times = |seconds| Times {
            amount: 1.0,
            unit: "records/s",
            seconds,
        };
        let (a, b) = (times(seconds), times(vec![1.0; 100]));
        // Half of the ratios lie within 0.2, so the error is 0.0186.
        let row = Row::time("", ("a", &a), ("b", &b));
        assert!(row.is_clear());
        for bound in [0.97, 1.03] {
            let (least, most) = (row.clone().at_least(bound), row.clone().at_most(bound));
            assert!(!least.is_clear() && !most.is_clear());
        }
        for bound in [0.96, 1.04] {
            let (least, most) = (row.clone().at_least(bound), row.clone().at_most(bound));
            assert!(least.is_clear() && most.is_clear());
        }
    }

    #[test]
    fn a_bound_holds_up_to_itself() {
        let times = Times {
            amount: 1.0,
            unit: "records/s",
            seconds: vec![1.0],
        };
        let row = Row::time("", ("a", &times), ("b", &times));
        assert!(row.clone().at_least(1.0).holds() && row.clone().at_most(1.0).holds());
        assert!(!row.clone().at_least(1.1).holds() && !row.clone().at_most(0.9).holds());
        assert!(row.holds());
    }
}
