//! How many threads pay: the number whose runs take the least time.

use std::fmt;

/// What calling another thread is taken to cost where no run with fewer has
/// told, in nanoseconds: waking one that sleeps takes some ten microseconds.
const CALL_NS: f64 = 10_000.0;

/// How much a new measurement weighs in an average that follows the last runs.
const WEIGHT: f64 = 0.125;

/// How much it weighs in one that is new or old.
const FIRST_WEIGHT: f64 = 0.5;

/// Measurements after which an average is not new any more.
const FIRST: u32 = 4;

/// Runs with other numbers after which an average is old.
const OLD: u32 = 64;

/// A measurement counts as at most so many times what was expected: now and
/// then the system has other work for a core, and that says nothing.
const OUTLIER: f64 = 2.0;

/// How much less than expected a number that was never used may take: what the
/// others have measured, threads that hold one another up did.
const HOPE: f64 = 0.15;

/// By how much of what it took each run makes one doubt the average of a number
/// that is not used. One that takes a tenth longer is tried once in a hundred
/// runs, one that takes twice as long once in 500: neither costs much, be it four
/// runs that a trial takes.
const DOUBT: f64 = 1.0 / 1024.0;

/// One that has been measured once is doubted so many times as much besides, one
/// that has been twice half as much, and so on: the first runs are made while the
/// reader, too, has most to do.
const EARLY: f64 = 8.0;

/// The most that is doubted: what takes four times as long is not tried again. But all that
/// bytes were waited for may be doubted, since they may have come from a disk that once. A
/// trial where they still do costs as much as reading them, which each number takes at least.
const MOST_DOUBT: f64 = 0.75;

/// How many times as long as the least a number is remembered to take when the work is done
/// another time: just so long that it is tried again.
const MOST_KEPT: f64 = 0.95 / (1.0 - MOST_DOUBT);

/// Runs with other numbers after which more threads than were used last have slept.
const ASLEEP: u32 = 16;

/// Runs that are not counted of a number that is tried again with such threads: they
/// come late, and look out for the next run only when some followed soon.
const WAKING: u32 = 3;

/// How much longer than with fewer threads that makes a run, in nanoseconds, and how much
/// more with each that is called. One that takes longer still would not be the best with
/// all awake.
const WAKING_NS: f64 = 150_000.0;
const CALLED_NS: f64 = 2_000.0;

/// What runs took, and waits for bytes behind them, with each number of threads that is considered: 1, 2, 3, 4,
/// 6, 8, 12, 16, .. up to a largest. What lies between could not gain much.
#[derive(Clone, Debug)]
pub struct Timings {
    numbers: Vec<Timing>,
    /// The threads of the last run.
    last: usize,
}

/// What runs took with one number of threads.
#[derive(Clone, Debug)]
struct Timing {
    threads: usize,
    /// Nanoseconds a unit of work, once measured: in runs, and waited for bytes behind them.
    run_ns: f64,
    wait_ns: f64,
    measured: u32,
    /// Runs with other numbers since it was measured.
    idle: u32,
    /// Runs since then in which its threads had slept.
    waking: u32,
}

impl Timings {
    /// Nothing measured, for up to `max_threads`.
    pub fn new(max_threads: usize) -> Self {
        let max_threads = max_threads.max(1);
        let powers = (0..usize::BITS).map(|bit| 1 << bit);
        let mut numbers: Vec<usize> = powers
            .flat_map(|power: usize| [power, power.saturating_add(power / 2)])
            .take_while(|&threads| threads < max_threads)
            .collect();
        numbers.dedup();
        numbers.push(max_threads);
        let numbers = numbers.into_iter().map(Timing::new).collect();
        Timings { numbers, last: 0 }
    }

    /// What is known when the same work is done another time, maybe in better times: no
    /// number took so long that it is never tried again.
    pub(crate) fn again(&self) -> Self {
        let mut again = self.clone();
        let measured = self.numbers.iter().filter(|timing| timing.measured > 0);
        let least = measured.map(|timing| timing.run_ns);
        let most = MOST_KEPT * least.fold(f64::INFINITY, f64::min);
        for timing in &mut again.numbers {
            timing.run_ns = timing.run_ns.min(most);
        }
        again
    }

    /// Takes a measurement in: a run of `units` of work, in whatever unit, with
    /// `threads` threads took `wall_ns`, and behind it the bytes for the next were
    /// `waited_ns` for.
    pub fn observe(&mut self, threads: usize, units: f64, wall_ns: u64, waited_ns: u64) {
        let slowest =
            self.least(threads, units) + WAKING_NS + CALLED_NS * threads.saturating_sub(1) as f64;
        let (wall_ns, waited_ns) = (wall_ns as f64, waited_ns as f64);
        for timing in &mut self.numbers {
            if timing.threads != threads {
                timing.idle = timing.idle.saturating_add(1);
            } else if units > 0.0 {
                let more = threads > self.last;
                if wall_ns + waited_ns <= slowest && timing.is_waking(more) {
                    timing.waking += 1;
                } else {
                    timing.add(wall_ns / units, waited_ns / units);
                }
            }
        }
        self.last = threads;
    }

    /// The least nanoseconds that `units` of work take with fewer than `threads`, as far as
    /// was measured.
    fn least(&self, threads: usize, units: f64) -> f64 {
        let fewer = self.up_to(threads.saturating_sub(1));
        let measured = fewer.filter(|timing| timing.measured > 0);
        let least = measured.map(|timing| timing.ns() * units);
        least.fold(f64::INFINITY, f64::min)
    }

    /// Of the numbers that are considered, those up to `most`.
    fn up_to(&self, most: usize) -> impl Iterator<Item = &Timing> {
        let most = most.max(1);
        self.numbers
            .iter()
            .take_while(move |timing| timing.threads <= most)
    }

    /// The largest number that is considered and at most `most`.
    pub(crate) fn largest(&self, most: usize) -> usize {
        self.up_to(most).last().map_or(1, |timing| timing.threads)
    }
}

impl Timing {
    fn new(threads: usize) -> Self {
        Timing {
            threads,
            run_ns: 0.0,
            wait_ns: 0.0,
            measured: 0,
            idle: 0,
            waking: 0,
        }
    }

    /// Whether its threads have slept, of which there are `more` than in the run before, and
    /// are not awake yet. In any case it is measured after some runs.
    fn is_waking(&self, more: bool) -> bool {
        let slept = self.measured > 0 && self.idle >= ASLEEP;
        slept && (more || self.waking > 0) && self.waking < WAKING
    }

    /// Nanoseconds a unit of work.
    fn ns(&self) -> f64 {
        self.run_ns + self.wait_ns
    }

    fn add(&mut self, run_ns: f64, wait_ns: f64) {
        if self.measured == 0 {
            (self.run_ns, self.wait_ns) = (run_ns, wait_ns);
        } else {
            let weight = match self.measured {
                // What was measured before may have been threads that slept.
                _ if self.waking == WAKING => 1.0,
                ..FIRST => FIRST_WEIGHT,
                _ if self.idle > OLD => FIRST_WEIGHT,
                _ => WEIGHT,
            };
            let (all, most) = (run_ns + wait_ns, OUTLIER * self.ns());
            let counts = if all > most { most / all } else { 1.0 };
            self.run_ns += (run_ns * counts - self.run_ns) * weight;
            self.wait_ns += (wait_ns * counts - self.wait_ns) * weight;
        }
        self.measured = self.measured.saturating_add(1);
        (self.idle, self.waking) = (0, 0);
    }

    /// Nanoseconds expected for `units` of work that cost `total_ns` in all,
    /// where calling a thread is taken to cost `call_ns`.
    fn expected(&self, units: f64, total_ns: f64, call_ns: f64) -> f64 {
        if self.measured > 0 {
            return units * self.ns();
        }
        let threads = self.threads as f64;
        total_ns / threads + call_ns * (threads - 1.0)
    }

    /// Of what is `expected` for `units` of work, what it may take at least.
    fn hoped(&self, units: f64, expected: f64) -> f64 {
        if self.measured == 0 {
            return expected * (1.0 - HOPE);
        }
        let doubt = self.doubt();
        let run_ns = self.run_ns * (1.0 - doubt.min(MOST_DOUBT));
        units * (run_ns + self.wait_ns * (1.0 - doubt))
    }

    /// What calling a thread costs if a run is to take `expected_ns`.
    fn call_ns(&self, total_ns: f64, expected_ns: f64) -> f64 {
        let threads = self.threads as f64;
        ((expected_ns - total_ns / threads) / (threads - 1.0)).max(0.0)
    }

    /// The part of what was measured that may not hold any more.
    fn doubt(&self) -> f64 {
        if self.waking > 0 {
            // A trial that has begun goes on.
            return 1.0;
        }
        let early = 1.0 + EARLY / f64::from(self.measured);
        (f64::from(self.idle) * DOUBT * early).min(1.0)
    }
}

/// A number of threads, and why.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Decision {
    /// The number.
    pub threads: usize,
    /// The cost of the work, all threads together, in nanoseconds; `None` where
    /// nothing had been measured.
    pub total_ns: Option<f64>,
    /// For each number of threads that was considered the nanoseconds expected;
    /// empty where the number was given or nothing had been measured. The one
    /// chosen need not be the smallest: now and then another is tried.
    pub expected_ns: Vec<(usize, f64)>,
}

impl Decision {
    /// Decides for the number of threads, at most `most`, that `units` of work,
    /// which cost `total_ns` in all, are to be done with: that with the least
    /// time expected, or another that has not been tried for long and might
    /// take less; of equals the smallest.
    pub fn by_timings(timings: &Timings, units: f64, total_ns: f64, most: usize) -> Self {
        let mut decision = Decision::default();
        decision.decide(timings, units, total_ns, most);
        decision
    }

    /// The same, in the memory of an older decision.
    pub(crate) fn decide(&mut self, timings: &Timings, units: f64, total_ns: f64, most: usize) {
        self.total_ns = Some(total_ns);
        self.expected_ns.clear();
        let (mut least, mut call_ns) = (f64::INFINITY, CALL_NS);
        self.threads = 1;
        for timing in timings.up_to(most) {
            let expected = timing.expected(units, total_ns, call_ns);
            if timing.measured > 0 && timing.threads > 1 {
                // What is known of fewer threads tells something of more.
                call_ns = timing.call_ns(total_ns, expected);
            }
            let hoped = timing.hoped(units, expected);
            if hoped < least {
                (self.threads, least) = (timing.threads, hoped);
            }
            self.expected_ns.push((timing.threads, expected));
        }
    }

    /// The number is given, or there is nothing to go by.
    pub(crate) fn take(&mut self, threads: usize, total_ns: Option<f64>) {
        self.threads = threads;
        self.total_ns = total_ns;
        self.expected_ns.clear();
    }
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = if self.threads == 1 { "" } else { "s" };
        write!(f, "{} thread{plural}", self.threads)?;
        if let Some(total) = self.total_ns {
            write!(f, " for {:.0} us of work", total / 1e3)?;
        }
        for (i, (threads, expected)) in self.expected_ns.iter().enumerate() {
            let separator = if i == 0 { "; expected " } else { ", " };
            write!(f, "{separator}{:.0} us with {threads}", expected / 1e3)?;
        }
        Ok(())
    }
}
