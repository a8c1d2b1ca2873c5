//! How many threads pay: the number that minimises `total / n + overhead(n)`.

use std::fmt;

/// What a thread's start is taken to cost before any was measured, in
/// nanoseconds: waking a parked thread takes some ten microseconds.
const PRIOR_NS: f64 = 10_000.0;

/// How much a new measurement weighs.
const WEIGHT: f64 = 0.125;

/// How far a number of threads that was not used drifts back to the prior with
/// each decision, so that one bad measurement does not rule it out for good.
const FORGET: f64 = 1.0 / 64.0;

/// The delay until all of `n` threads have started, per `n`.
#[derive(Clone, Debug)]
pub struct Overhead {
    /// Entry `n - 1` is for `n` threads, in nanoseconds.
    nanos: Vec<f64>,
}

impl Overhead {
    /// Overheads for up to `max_threads`, none of them measured.
    pub fn new(max_threads: usize) -> Self {
        Overhead {
            nanos: (1..=max_threads.max(1)).map(prior).collect(),
        }
    }

    /// Nanoseconds until `n` threads have started.
    pub fn get(&self, n: usize) -> f64 {
        match self.nanos.get(n.wrapping_sub(1)) {
            Some(&nanos) => nanos,
            None => prior(n),
        }
    }

    /// Takes a measurement for `n` threads in and lets the others drift.
    pub fn observe(&mut self, n: usize, start_delay_ns: u64) {
        for (i, nanos) in self.nanos.iter_mut().enumerate() {
            if i + 1 == n {
                *nanos += (start_delay_ns as f64 - *nanos) * WEIGHT;
            } else {
                *nanos += (prior(i + 1) - *nanos) * FORGET;
            }
        }
    }
}

fn prior(n: usize) -> f64 {
    PRIOR_NS * n.saturating_sub(1) as f64
}

/// A number of threads, and why.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Decision {
    /// The number.
    pub threads: usize,
    /// The cost of the work on one thread, in nanoseconds; `None` where
    /// nothing had been measured.
    pub total_ns: Option<f64>,
    /// Nanoseconds expected for 1, 2, .. threads; empty where the number was
    /// given or nothing had been measured.
    pub predicted_ns: Vec<f64>,
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} threads", self.threads)?;
        if let Some(total) = self.total_ns {
            write!(f, " for {:.0} us of work", total / 1e3)?;
        }
        for (i, predicted) in self.predicted_ns.iter().enumerate() {
            let separator = if i == 0 { "; expected " } else { ", " };
            write!(f, "{separator}{:.0} us with {}", predicted / 1e3, i + 1)?;
        }
        Ok(())
    }
}

/// The number of threads, at most `max_threads`, that minimises
/// `total_ns / n + overhead(n)`; of equals the smallest.
pub fn choose_threads(total_ns: f64, overhead: &Overhead, max_threads: usize) -> Decision {
    choose_threads_with(total_ns, overhead, max_threads, Vec::new())
}

/// The same, with the predictions in the memory of `predicted_ns`.
pub(crate) fn choose_threads_with(
    total_ns: f64,
    overhead: &Overhead,
    max_threads: usize,
    mut predicted_ns: Vec<f64>,
) -> Decision {
    predicted_ns.clear();
    let numbers = 1..=max_threads.max(1);
    predicted_ns.extend(numbers.map(|n| total_ns / n as f64 + overhead.get(n)));
    let mut best = 0;
    for (i, predicted) in predicted_ns.iter().enumerate() {
        if *predicted < predicted_ns[best] {
            best = i;
        }
    }
    Decision {
        threads: best + 1,
        total_ns: Some(total_ns),
        predicted_ns,
    }
}
