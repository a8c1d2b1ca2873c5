//! What a scheduler learns, on made-up machines.

use super::*;

const WORK: [BlockWork; 30] = [BlockWork {
    records_to_decompress: 0,
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
