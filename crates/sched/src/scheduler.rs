//! The scheduler: cost model, thread count and partition put together.

use std::fmt;
use std::time::Duration;

use crate::choose::{Decision, Timings};
use crate::cost::{BlockWork, CostModel, Observed};
use crate::cut::Cutter;
use crate::limits::{MAX_THREADS, SETTLING, WARM_UP};
use crate::pool::RunReport;
use crate::schedule::{Schedule, Wishes};

/// How many threads to use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Threads {
    /// As many as pay, up to the cores there are.
    #[default]
    Auto,
    /// As many as pay, up to this many, at least 1, or the cores there are if
    /// those are fewer.
    UpTo(usize),
    /// This many, at least 1 and at most [`MAX_THREADS`], but no more than there
    /// are blocks.
    Fixed(usize),
}

/// Decides who does what, and learns from how it went.
#[derive(Clone, Debug)]
pub struct Scheduler {
    threads: Threads,
    max_threads: usize,
    model: CostModel,
    timings: Timings,
    decision: Option<Decision>,
    runs: u64,
    /// Runs before these, of which something may have been learnt.
    runs_before: u64,
    /// The last of them, where there were too few each time for threads to find their cores.
    unsettled: u64,
    /// Work of the last run, in decoded records.
    units: f64,
    /// Whether most of the threads called came late to it.
    was_late: bool,
    steals: u64,
    /// Sums over all runs on several threads: busiest thread, all threads.
    busiest_ns: u64,
    mean_ns: u64,
    costs: Vec<f64>,
    cutter: Cutter,
}

/// All work of the blocks that take part.
fn sum(work: &[BlockWork]) -> BlockWork {
    let mut all = BlockWork::default();
    for block in work {
        let takes_part = u64::from(block.records_to_decode > 0);
        let decompressed = takes_part * block.records_to_decompress;
        all.records_to_decompress = all.records_to_decompress.saturating_add(decompressed);
        all.records_to_decode = all
            .records_to_decode
            .saturating_add(block.records_to_decode);
    }
    all
}

impl Scheduler {
    /// A scheduler that has measured nothing.
    pub fn new(threads: Threads) -> Self {
        // What this process may use of the machine, not what there is.
        let cores = || std::thread::available_parallelism().map_or(1, usize::from);
        let max_threads = match threads {
            Threads::Auto => cores(),
            Threads::UpTo(n) => n.min(cores()),
            Threads::Fixed(n) => n,
        };
        let max_threads = max_threads.clamp(1, MAX_THREADS);
        Scheduler {
            threads,
            max_threads,
            model: CostModel::default(),
            timings: Timings::new(max_threads),
            decision: None,
            runs: 0,
            runs_before: 0,
            unsettled: 0,
            units: 0.0,
            was_late: false,
            steals: 0,
            busiest_ns: 0,
            mean_ns: 0,
            costs: Vec::new(),
            cutter: Cutter::default(),
        }
    }

    /// One for the same work another time, with memory and threads that may be new: the
    /// counts start anew, what was learnt stays. Where this process may use another number of
    /// cores by now, nothing does.
    #[doc(hidden)]
    pub fn again(&self) -> Self {
        self.again_on(Scheduler::new(self.threads))
    }

    fn again_on(&self, new: Self) -> Self {
        if new.max_threads != self.max_threads {
            return new;
        }
        let is_short = self.runs <= SETTLING;
        Scheduler {
            model: self.model,
            timings: self.timings.again(),
            runs_before: self.runs_in_all(),
            unsettled: u64::from(is_short) * (self.unsettled + self.runs),
            ..new
        }
    }

    /// Runs of which something may have been learnt, those before it was made
    /// [again](Self::again) too.
    #[doc(hidden)]
    pub fn runs_in_all(&self) -> u64 {
        self.runs_before + self.runs
    }

    /// The most threads it ever decides for.
    pub fn max_threads(&self) -> usize {
        self.max_threads
    }

    /// Decides how many threads do `work`, and which of them what.
    pub fn plan(&mut self, work: &[BlockWork]) -> Schedule {
        let mut schedule = Schedule::default();
        self.plan_into(work, &Wishes::default(), &mut schedule);
        schedule
    }

    /// The same as is wished, in the memory of an older schedule.
    pub fn plan_into(&mut self, work: &[BlockWork], wishes: &Wishes, schedule: &mut Schedule) {
        if self.max_threads == 1 {
            // Nobody to share with: all that counts is the sum.
            self.decide(self.model.cost(&sum(work)), 1);
            return schedule.give_all(work.len());
        }
        self.costs.clear();
        self.costs
            .extend(work.iter().map(|work| self.model.cost(work)));
        let taking_part = work
            .iter()
            .filter(|work| work.records_to_decode > 0)
            .count();
        // More threads than blocks would have nothing to do.
        let most = self.max_threads.min(taking_part).max(1);
        let threads = self.decide(self.costs.iter().sum(), most);
        let are_decompressed = |block: usize| {
            work[block].records_to_decompress > 0 && work[block].records_to_decode > 0
        };
        self.cutter
            .cut(&self.costs, are_decompressed, threads, wishes, schedule);
    }

    /// How many threads, at most `most`, do work that costs `total`.
    fn decide(&mut self, total: f64, most: usize) -> usize {
        let decision = self.decision.get_or_insert_default();
        match (self.threads, self.model.decode_ns_per_record()) {
            (Threads::Fixed(_), measured) => decision.take(most, measured.map(|_| total)),
            (Threads::Auto | Threads::UpTo(_), None) => {
                decision.take(self.timings.largest(most), None)
            }
            (Threads::Auto | Threads::UpTo(_), Some(decode)) => {
                let units = total / decode.max(f64::MIN_POSITIVE);
                decision.decide(&self.timings, units, total, most);
            }
        }
        decision.threads
    }

    /// Learns how a run of the last schedule went.
    pub fn record(&mut self, report: &RunReport, observed: &Observed) {
        self.model.observe(observed);
        self.runs += 1;
        self.units = self.model.in_decoded_records(observed);
        self.was_late = 2 * report.late > report.threads.saturating_sub(1);
        self.steals += report.steals;
        if report.threads > 1 {
            self.busiest_ns += report.busy_ns.iter().max().copied().unwrap_or(0);
            self.mean_ns += report.busy_ns.iter().sum::<u64>() / report.threads as u64;
        }
    }

    /// Learns how long the whole of what was recorded last took, from its plan
    /// until all was done that depends on the number of threads, and how long the
    /// bytes for what follows were `waited` for behind it: the time that number is
    /// decided by. Threads that do the work sooner, but keep whoever reads from a
    /// core, gain nothing.
    pub fn took(&mut self, wall: Duration, waited: Duration) {
        let has_settled = !self.was_late || self.unsettled + self.runs > SETTLING;
        if let Some(decision) = &self.decision
            && self.runs_in_all() > WARM_UP
            && has_settled
        {
            let [wall, waited] = [wall, waited].map(|time| time.as_nanos() as u64);
            self.timings
                .observe(decision.threads, self.units, wall, waited);
        }
    }

    /// What has been measured and decided up to now.
    pub fn stats(&self) -> SchedulerStats {
        SchedulerStats {
            decompress_ns_per_record: self.model.decompress_ns_per_record(),
            decode_ns_per_record: self.model.decode_ns_per_record(),
            decision: self.decision.clone(),
            runs: self.runs,
            steals: self.steals,
            imbalance: (self.mean_ns > 0)
                .then(|| self.busiest_ns as f64 / self.mean_ns as f64 - 1.0),
        }
    }
}

/// What a scheduler has measured and decided.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SchedulerStats {
    /// Nanoseconds to decompress a record, if any were; like the next, also of runs before
    /// those that are counted here.
    pub decompress_ns_per_record: Option<f64>,
    /// Nanoseconds to decode a record.
    pub decode_ns_per_record: Option<f64>,
    /// The last decision.
    pub decision: Option<Decision>,
    /// Runs.
    pub runs: u64,
    /// Chunks done by another thread than they were meant for.
    pub steals: u64,
    /// How much longer than the mean the busiest thread worked, over all runs
    /// on several threads.
    pub imbalance: Option<f64>,
}

impl fmt::Display for SchedulerStats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.decision {
            Some(decision) => write!(f, "{decision}")?,
            None => write!(f, "nothing decided yet")?,
        }
        if let Some(decompress) = self.decompress_ns_per_record {
            write!(f, "; decompressing {decompress:.0} ns a record")?;
        }
        if let Some(decode) = self.decode_ns_per_record {
            write!(f, "; decoding {decode:.0} ns a record")?;
        }
        let plural = |n: u64| if n == 1 { "" } else { "s" };
        let (runs, steals) = (self.runs, self.steals);
        write!(
            f,
            "; {runs} run{}, {steals} chunk{} stolen",
            plural(runs),
            plural(steals)
        )?;
        if let Some(imbalance) = self.imbalance {
            write!(
                f,
                ", busiest thread {:.1} % above the mean",
                100.0 * imbalance
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
