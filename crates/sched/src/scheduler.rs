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
        let inflated = takes_part * block.records_to_inflate;
        all.records_to_inflate = all.records_to_inflate.saturating_add(inflated);
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
        let are_inflated =
            |block: usize| work[block].records_to_inflate > 0 && work[block].records_to_decode > 0;
        self.cutter
            .cut(&self.costs, are_inflated, threads, wishes, schedule);
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
            inflate_ns_per_record: self.model.inflate_ns_per_record(),
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
    /// Nanoseconds to inflate a record, if any were; like the next, also of runs before
    /// those that are counted here.
    pub inflate_ns_per_record: Option<f64>,
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
        if let Some(inflate) = self.inflate_ns_per_record {
            write!(f, "; inflating {inflate:.0} ns a record")?;
        }
        if let Some(decode) = self.decode_ns_per_record {
            write!(f, "; decoding {decode:.0} ns a record")?;
        }
        write!(f, "; {} runs, {} chunks stolen", self.runs, self.steals)?;
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
mod tests {
    use super::*;

    const WORK: [BlockWork; 30] = [BlockWork {
        records_to_inflate: 0,
        records_to_decode: 10,
    }; 30];

    /// One for two cores, whatever this machine has.
    fn scheduler() -> Scheduler {
        let mut scheduler = Scheduler::new(Threads::Auto);
        (scheduler.max_threads, scheduler.timings) = (2, Timings::new(2));
        scheduler
    }

    /// Has it learn of a run of the work, `late` or not, and of the wait behind it.
    fn learn(scheduler: &mut Scheduler, threads: usize, late: bool, wall: u64, waited: u64) {
        let mut report = RunReport::default();
        (report.threads, report.wall_ns) = (threads, wall);
        report.late = usize::from(late);
        let observed = Observed {
            records_decoded: 300,
            decode_ns: 150_000,
            ..Observed::default()
        };
        scheduler.record(&report, &observed);
        scheduler.took(Duration::from_nanos(wall), Duration::from_nanos(waited));
    }

    /// What is decided after so many runs, `late` ones of which took two threads as long as
    /// one and a half times one alone, all others two thirds of it.
    fn decided(runs: u64, late: impl Fn(u64) -> bool) -> Option<usize> {
        let mut scheduler = scheduler();
        for run in 0..runs {
            let threads = scheduler.plan(&WORK).threads;
            let wall_ns = match (threads, late(run)) {
                (1, _) => 150_000,
                (_, true) => 225_000,
                (_, false) => 100_000,
            };
            let is_late = threads > 1 && late(run);
            learn(&mut scheduler, threads, is_late, wall_ns, 0);
        }
        scheduler.stats().decision.map(|decision| decision.threads)
    }

    #[test]
    fn first_runs_that_a_thread_comes_late_to_are_not_learnt_from() {
        assert_eq!(decided(30, |run| run < 13), Some(2));
        assert_eq!(decided(60, |run| run < 60), Some(2));
        // If it goes on so, that is what two threads take.
        assert_eq!(decided(90, |_| true), Some(1));
    }

    #[test]
    fn what_was_learnt_stays_and_counts_start_anew() {
        let (mut learning, mut threads) = (scheduler(), Vec::new());
        for _ in 0..5 {
            // Each time too few to settle, with a second thread that always comes late.
            for _ in 0..20 {
                threads.push(learning.plan(&WORK).threads);
                let threads = threads[threads.len() - 1];
                let wall = [150_000, 225_000][threads - 1];
                learn(&mut learning, threads, threads > 1, wall, 0);
            }
            learning = learning.again_on(scheduler());
            let stats = learning.stats();
            assert_eq!(stats.runs, 0);
            assert!(stats.decode_ns_per_record.is_some());
        }
        // On another machine nothing of it holds.
        let mut other = scheduler();
        other.max_threads = 3;
        assert_eq!(learning.again_on(other).stats().decode_ns_per_record, None);
        assert_eq!(threads[..20], [2; 20]);
        assert_eq!(threads[80..], [1; 20]);
    }

    #[test]
    fn first_runs_that_come_late_are_not_learnt_from_behind_long_iterations_either() {
        let mut learning = scheduler();
        for iteration in 0..5 {
            let run = |run| {
                let threads = learning.plan(&WORK).threads;
                let is_late = threads > 1 && run < 13;
                let wall = match (threads, is_late) {
                    (1, _) => 150_000,
                    (_, true) => 225_000,
                    (_, false) => 100_000,
                };
                learn(&mut learning, threads, is_late, wall, 0);
                threads
            };
            let alone = (0..90).map(run).filter(|&threads| threads == 1).count();
            assert!(alone < 5, "{alone} in iteration {iteration}");
            learning = learning.again_on(scheduler());
        }
    }

    /// Two cores and a reader, who reads up to four runs ahead.
    #[derive(Clone, Copy)]
    struct Machine {
        /// Nanoseconds to read what a run needs, with a core for it.
        read: f64,
        /// Nanoseconds a run takes with one thread, and with two.
        run: [f64; 2],
        /// How much of a core the reader has during a run, with one thread and with two.
        cores: [f64; 2],
    }

    /// Nanoseconds that `runs` take a machine with a fixed number of threads, or by what a
    /// scheduler says, which learns of each.
    fn play(machine: Machine, runs: usize, scheduler: &mut Scheduler, fixed: Option<usize>) -> f64 {
        let (mut ahead, mut took) = (0.0f64, 0.0);
        for _ in 0..runs {
            let threads = fixed.unwrap_or_else(|| scheduler.plan(&WORK).threads);
            let run = machine.run[threads - 1];
            ahead = (ahead + run * machine.cores[threads - 1] / machine.read).min(4.0);
            let waited = (1.0 - ahead).max(0.0) * machine.read;
            ahead = (ahead - 1.0).max(0.0);
            took += run + waited;
            if fixed.is_none() {
                learn(scheduler, threads, false, run as u64, waited as u64);
            }
        }
        took
    }

    #[test]
    fn threads_that_keep_the_reader_from_a_core_gain_nothing() {
        let machine = |read, with_two, share| Machine {
            read,
            run: [150e3, with_two],
            cores: [1.0, share],
        };
        for machine in [
            // One decodes about as fast as the reader reads; two leave him half a core or less.
            machine(160e3, 90e3, 0.0),
            machine(160e3, 90e3, 0.5),
            machine(140e3, 80e3, 0.25),
            machine(190e3, 100e3, 0.0),
            machine(300e3, 60e3, 0.0),
            machine(400e3, 90e3, 0.0),
            machine(400e3, 90e3, 0.5),
            machine(1.8e6, 90e3, 0.0),
            // He has little to do, or enough cores, or waits for a slow disk.
            machine(10e3, 80e3, 0.0),
            machine(60e3, 80e3, 0.5),
            machine(100e3, 80e3, 1.0),
            machine(20e6, 80e3, 0.5),
        ] {
            const RUNS: usize = 4_000;
            let fixed = [1, 2].map(|n| play(machine, RUNS, &mut scheduler(), Some(n)));
            let best = fixed[0].min(fixed[1]);
            let over = play(machine, RUNS, &mut scheduler(), None) / best;
            let Machine { read, run, cores } = machine;
            assert!(over < 1.05, "{over:.3} for {read}, {run:?}, {cores:?}");
        }
    }

    #[test]
    fn what_bytes_took_once_is_not_remembered() {
        // The first time from a disk, where one thread is better; later from memory.
        let disk = Machine {
            read: 20e6,
            run: [90e3, 100e3],
            cores: [1.0, 0.0],
        };
        let memory = Machine {
            read: 5e3,
            run: [150e3, 90e3],
            ..disk
        };
        let mut learning = scheduler();
        play(disk, 1_000, &mut learning, None);
        assert_eq!(learning.plan(&WORK).threads, 1);
        // It has forgotten soon enough.
        play(memory, 1_200, &mut learning, None);
        let took = play(memory, 4_000, &mut learning, None);
        let with_two = play(memory, 4_000, &mut scheduler(), Some(2));
        assert!(took / with_two < 1.05, "{:.3}", took / with_two);
    }

    #[test]
    fn what_runs_took_once_is_not_remembered_for_ever() {
        // Pages of the files are read in by the workers, the first time.
        let cold = Machine {
            read: 5e3,
            run: [20e6, 18e6],
            cores: [1.0, 1.0],
        };
        let warm = Machine {
            run: [150e3, 225e3],
            ..cold
        };
        let mut learning = scheduler();
        play(cold, 200, &mut learning, None);
        assert_eq!(learning.plan(&WORK).threads, 2);
        let mut epochs = |count| {
            let epoch = |_| {
                learning = learning.again_on(scheduler());
                play(warm, 100, &mut learning, None)
            };
            (0..count).map(epoch).sum::<f64>()
        };
        epochs(10);
        let took = epochs(40);
        let alone = play(warm, 4_000, &mut scheduler(), Some(1));
        assert!(took / alone < 1.05, "{:.3}", took / alone);
    }

    #[test]
    fn many_short_iterations_learn_as_a_long_one_does() {
        for runs in [1, 3, 5] {
            let machine = Machine {
                read: 5e3,
                run: [150e3, 225e3],
                cores: [1.0, 1.0],
            };
            let mut learning = scheduler();
            for _ in 0..20 {
                play(machine, runs, &mut learning, None);
                learning = learning.again_on(scheduler());
            }
            assert_eq!(learning.plan(&WORK).threads, 1, "{runs}");
            assert_eq!(learning.runs_in_all(), 20 * runs as u64);
        }
    }
}
