//! Measures the sides of a comparison in turn.

use std::time::{Duration, Instant};

use atds_shuffle::file_order;

use crate::Result;

/// The times of a side.
#[derive(Clone, Debug)]
pub(crate) struct Times {
    /// Records or bytes of an epoch.
    pub(crate) amount: f64,
    /// Unit of the speed.
    pub(crate) unit: &'static str,
    /// Time of each round, in order.
    pub(crate) seconds: Vec<f64>,
}

impl Times {
    /// The sum of two sides that process the same records.
    pub(crate) fn and_then(&self, other: &Times) -> Times {
        let both = self.seconds.iter().zip(&other.seconds);
        Times {
            seconds: both.map(|(a, b)| a + b).collect(),
            ..self.clone()
        }
    }

    /// The difference of a side and a part of it, for the same records.
    pub(crate) fn without(&self, part: &Times) -> Times {
        let both = self.seconds.iter().zip(&part.seconds);
        Times {
            seconds: both.map(|(a, b)| a - b).collect(),
            ..self.clone()
        }
    }

    /// The same times, with `bytes` for an epoch in position of records.
    pub(crate) fn of_bytes(self, bytes: u64) -> Times {
        Times {
            amount: bytes as f64 / 1e6,
            unit: "MB/s",
            ..self
        }
    }

    /// Speed of each round.
    pub(crate) fn speeds(&self) -> impl Iterator<Item = f64> + '_ {
        self.seconds.iter().map(|seconds| self.amount / seconds)
    }

    pub(crate) fn median_speed(&self) -> f64 {
        median(self.speeds())
    }
}

/// The effort for a comparison.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    /// Minimum number of rounds.
    pub(crate) rounds: usize,
    /// Minimum time of the rounds. Short epochs get more rounds, because a disturbance of the machine
    /// does not get shorter.
    pub(crate) time: Duration,
    /// Maximum number of extensions by the same time, while the result is not clear.
    pub(crate) most_times: u32,
}

/// Seed of the orders of the rounds.
const SEED: u64 = 0;

/// A side: runs an epoch and returns its number of records, which is always the same.
pub(crate) type Epoch<'a> = Box<dyn FnMut() -> Result<u64> + 'a>;

/// Runs rounds with an epoch of each side, after one round that does not count. So a drift of the machine
/// affects all sides. Each round has another random order, because the side that runs before an epoch affects
/// its time. While `is_clear` is false for the result, the time is repeated as often as the effort allows.
pub(crate) fn in_turn(
    effort: Effort,
    mut sides: Vec<Epoch<'_>>,
    is_clear: impl Fn(&[Times]) -> bool,
) -> Result<Vec<Times>> {
    let mut all = Vec::with_capacity(sides.len());
    for side in &mut sides {
        all.push(Times {
            amount: side()? as f64,
            unit: "records/s",
            seconds: Vec::with_capacity(effort.rounds),
        });
    }
    let begun = Instant::now();
    let mut rounds = 0;
    for nth in 1..=effort.most_times {
        while rounds < effort.rounds || begun.elapsed() < effort.time * nth {
            rounds += 1;
            for side in file_order(SEED, rounds as u64, sides.len()) {
                let (side, times) = (&mut sides[side], &mut all[side]);
                let start = Instant::now();
                let records = side()? as f64;
                times.seconds.push(start.elapsed().as_secs_f64());
                if records != times.amount {
                    return Err(format!("{records} records after {}", times.amount).into());
                }
            }
        }
        if is_clear(&all) {
            break;
        }
    }
    Ok(all)
}

/// The median; for an even number of values, the mean of the middle two.
pub(crate) fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let [_, median, _] = quartiles(values);
    median
}

/// The three quartiles, interpolated between values.
pub(crate) fn quartiles(values: impl IntoIterator<Item = f64>) -> [f64; 3] {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    [0.25, 0.5, 0.75].map(|part| {
        let position = part * (values.len() - 1) as f64;
        let (below, above) = (values[position as usize], values[position.ceil() as usize]);
        below + (above - below) * position.fract()
    })
}

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};

    use super::*;

    fn rounds(rounds: usize) -> Effort {
        Effort {
            rounds,
            time: Duration::ZERO,
            most_times: 1,
        }
    }

    /// Every result is clear.
    fn always(_: &[Times]) -> bool {
        true
    }

    #[test]
    fn the_median_is_in_the_middle() {
        assert_eq!(median([3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median([4.0, 1.0, 2.0, 3.0]), 2.5);
    }

    #[test]
    fn quartiles_are_a_quarter_from_the_ends() {
        assert_eq!(quartiles([5.0, 1.0, 4.0, 2.0, 3.0]), [2.0, 3.0, 4.0]);
        assert_eq!(quartiles([1.0, 2.0]), [1.25, 1.5, 1.75]);
        assert_eq!(quartiles([7.0]), [7.0; 3]);
    }

    #[test]
    fn sides_take_turns() {
        let order = RefCell::new(String::new());
        let side = |name| -> Epoch<'_> {
            let order = &order;
            Box::new(move || {
                order.borrow_mut().push(name);
                Ok(7)
            })
        };
        let sides = vec![side('a'), side('b')];
        let times = in_turn(rounds(40), sides, always).expect("nothing fails");
        let (a, b) = (&times[0], &times[1]);
        assert_eq!((a.amount, a.seconds.len(), b.seconds.len()), (7.0, 40, 40));
        let order = order.borrow();
        let orders = Vec::from_iter((0..=40).map(|round| &order[2 * round..][..2]));
        assert_eq!(orders[0], "ab");
        // Both orders are equally frequent, within three standard deviations.
        let [forwards, backwards] = ["ab", "ba"].map(|this| {
            let these = orders[1..].iter().filter(|order| **order == this);
            these.count()
        });
        assert_eq!(forwards + backwards, 40);
        assert!(forwards.abs_diff(backwards) < 20);
    }

    #[test]
    fn sides_take_turns_for_as_long_as_is_asked_for() {
        let time = Duration::from_millis(20);
        for (most_times, clear_after, expected) in [(1, 1, 1), (3, 2, 2), (3, 9, 3)] {
            let effort = Effort {
                rounds: 1,
                time,
                most_times,
            };
            let side: Epoch<'_> = Box::new(|| Ok(7));
            let asked = Cell::new(0);
            let is_clear = |_: &[Times]| {
                asked.set(asked.get() + 1);
                asked.get() == clear_after
            };
            let begun = Instant::now();
            let times = in_turn(effort, vec![side], is_clear).expect("nothing fails");
            assert!(begun.elapsed() >= time * expected && !times[0].seconds.is_empty());
            assert_eq!(asked.get(), expected);
        }
    }

    #[test]
    fn an_epoch_without_all_records_is_an_error() {
        let mut left = 2;
        let side: Epoch<'_> = Box::new(|| {
            left -= 1;
            Ok(left)
        });
        assert!(in_turn(rounds(1), vec![side], always).is_err());
    }
}
