//! A ratio with the figures it is made of and the bound it should keep.

use crate::measure::{Times, quartiles};

/// A line of the table.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    /// The name of the comparison it is [`under`](Row::under).
    pub(crate) comparison: &'static str,
    /// What is compared, within the comparison.
    pub(crate) what: String,
    pub(crate) a: Figure,
    pub(crate) b: Figure,
    /// What of A and B is divided.
    pub(crate) of: Quantity,
    /// A over B: the median over the rounds.
    pub(crate) ratio: f64,
    /// Of those of the rounds, where there were any.
    pub(crate) spread: Option<Spread>,
    pub(crate) bound: Option<Bound>,
}

/// How far apart the ratios of the rounds are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spread {
    pub(crate) rounds: usize,
    /// The first and the third.
    pub(crate) quartiles: [f64; 2],
}

/// What a side gave.
#[derive(Clone, Debug)]
pub(crate) struct Figure {
    /// What was measured.
    pub(crate) label: String,
    pub(crate) unit: &'static str,
    pub(crate) median: f64,
    pub(crate) least: f64,
    pub(crate) most: f64,
}

/// What a ratio divides.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Quantity {
    /// Records (or bytes) a second.
    Speed,
    /// The time of an epoch.
    Time,
    /// Bytes of memory.
    Memory,
}

/// What a ratio should be.
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

    /// Bytes of A over those of B.
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
        // Of each round by itself: what slows a round down, slows down both sides of it.
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

    /// The row under the name of its comparison.
    pub(crate) fn under(mut self, comparison: &'static str) -> Self {
        self.comparison = comparison;
        self
    }

    /// Whether the ratio keeps its bound, if it has one.
    pub(crate) fn holds(&self) -> bool {
        match self.bound {
            None => true,
            Some(Bound::AtLeast(least)) => self.ratio >= least,
            Some(Bound::AtMost(most)) => self.ratio <= most,
        }
    }

    /// Whether chance is unlikely to have decided on which side of its bound the ratio is.
    pub(crate) fn is_clear(&self) -> bool {
        let (Some(bound), Some(spread)) = (self.bound, self.spread) else {
            return true;
        };
        let (Bound::AtLeast(bound) | Bound::AtMost(bound)) = bound;
        (self.ratio - bound).abs() > 2.0 * spread.standard_error()
    }
}

impl Spread {
    /// Of the median, were the ratios distributed normally, by their quartiles.
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
        // The second round had the machine for half the time.
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
