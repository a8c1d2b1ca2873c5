//! The number of threads: measured, and close to the best.

use std::process::Command;

use atds_sched::{Decision, Scheduler, Threads, Timings};

#[test]
fn round_numbers_are_considered() {
    let numbers = |max_threads, most| -> Vec<usize> {
        let decision = Decision::by_timings(&Timings::new(max_threads), 1.0, 1.0, most);
        let expected = decision.expected_ns.iter();
        expected.map(|&(threads, _)| threads).collect()
    };
    assert_eq!(numbers(2, 2), [1, 2]);
    assert_eq!(numbers(16, 100), [1, 2, 3, 4, 6, 8, 12, 16]);
    assert_eq!(numbers(16, 7), [1, 2, 3, 4, 6]);
    assert_eq!(numbers(10, 10), [1, 2, 3, 4, 6, 8, 10]);
    assert_eq!(numbers(0, 0), [1]);
}

#[test]
fn what_was_not_measured_is_guessed() {
    let timings = Timings::new(4);
    // Nothing to gain below what calling a second thread takes.
    let few = Decision::by_timings(&timings, 1.0, 1_000.0, 4);
    assert_eq!(few.threads, 1);
    // 100 ms: as many as there are.
    assert_eq!(Decision::by_timings(&timings, 1.0, 1e8, 4).threads, 4);
    assert_eq!(Decision::by_timings(&timings, 1.0, 1e8, 3).threads, 3);
    let some = Decision::by_timings(&timings, 1.0, 90_000.0, 2);
    assert_eq!(some.expected_ns, [(1, 90_000.0), (2, 55_000.0)]);
    assert_eq!(
        some.to_string(),
        "2 threads for 90 us of work; expected 90 us with 1, 55 us with 2"
    );
}

#[test]
fn measurements_count_more_than_guesses() {
    let mut timings = Timings::new(2);
    timings.observe(2, 100.0, 80_000, 0);
    let decision = Decision::by_timings(&timings, 100.0, 90_000.0, 2);
    // The hope that one thread alone is faster than two together is tried out.
    assert_eq!(decision.expected_ns, [(1, 90_000.0), (2, 80_000.0)]);
    assert_eq!(decision.threads, 1);
    timings.observe(1, 100.0, 85_000, 0);
    let decision = Decision::by_timings(&timings, 100.0, 90_000.0, 2);
    assert_eq!(decision.expected_ns, [(1, 85_000.0), (2, 80_000.0)]);
    assert_eq!(decision.threads, 2);
    // Twice the work takes twice the time.
    let double = Decision::by_timings(&timings, 200.0, 180_000.0, 2);
    assert_eq!(double.expected_ns, [(1, 170_000.0), (2, 160_000.0)]);
    // A core that was busy elsewhere is not the threads' fault.
    for _ in 0..10 {
        timings.observe(2, 100.0, 80_000, 0);
    }
    timings.observe(2, 100.0, 100_000_000, 0);
    let after = Decision::by_timings(&timings, 100.0, 90_000.0, 2);
    assert!(after.expected_ns[1].1 < 95_000.0, "{after}");
    // A run without work says nothing.
    timings.observe(2, 0.0, 1_000, 0);
    let same = Decision::by_timings(&timings, 100.0, 90_000.0, 2);
    assert_eq!(same.expected_ns[1], after.expected_ns[1]);
}

#[test]
fn what_was_measured_once_is_tried_again_soon() {
    // Two threads took twice as long as one, in so many runs at first.
    let runs_until_tried = |measured| {
        let mut timings = Timings::new(2);
        for _ in 0..measured {
            timings.observe(2, 100.0, 180_000, 0);
        }
        let alone = |timings: &mut Timings| {
            let decision = Decision::by_timings(timings, 100.0, 90_000.0, 2);
            timings.observe(1, 100.0, 90_000, 0);
            decision.threads == 1
        };
        (0..10_000).take_while(|_| alone(&mut timings)).count()
    };
    let runs = [1, 2, 8, 1_000].map(runs_until_tried);
    assert!(runs.is_sorted_by(|a, b| a < b), "{runs:?}");
    assert!((40..80).contains(&runs[0]), "{runs:?}");
    assert!((450..600).contains(&runs[3]), "{runs:?}");
}

#[test]
fn a_slow_start_is_learnt_and_tried_again() {
    let mut timings = Timings::new(2);
    let mut runs = |nanos: [u64; 2]| -> Vec<usize> {
        let run = |_| {
            let decision = Decision::by_timings(&timings, 100.0, 200_000.0, 2);
            timings.observe(decision.threads, 100.0, nanos[decision.threads - 1], 0);
            decision.threads
        };
        (0..3_000).map(run).collect()
    };
    // Other work on the second core: two threads take twice as long as one.
    let slow = runs([200_000, 400_000]);
    assert_eq!(slow[0], 2);
    let tries = slow.iter().filter(|&&threads| threads == 2).count();
    assert!((3..15).contains(&tries), "{tries}");
    // The core is free again.
    let fast = runs([200_000, 110_000]);
    let first = fast.iter().position(|&threads| threads == 2);
    assert!(first.is_some_and(|first| first < 600), "{first:?}");
    let last = &fast[2_000..];
    let tries = last.iter().filter(|&&threads| threads == 1).count();
    assert!(tries < 15, "{tries}");
}

#[test]
fn threads_that_slept_are_tried_until_they_are_awake() {
    // Alone 100 us. With two threads 60, but 150 as long as the second is late, since it
    // slept: in the first three runs with it.
    let mut timings = Timings::new(2);
    let mut awake = 0;
    let mut run = |asleep: u64| {
        let decision = Decision::by_timings(&timings, 100.0, 100_000.0, 2);
        awake = if decision.threads == 2 { awake + 1 } else { 0 };
        let wall = match decision.threads {
            1 => 100_000,
            _ if awake > 3 => 60_000,
            _ => asleep,
        };
        timings.observe(decision.threads, 100.0, wall, 0);
        decision.threads
    };
    let threads: Vec<usize> = (0..1_000).map(|_| run(150_000)).collect();
    assert_eq!(threads[..2], [2, 1]);
    // The first trial is long enough, and what was measured before it forgotten.
    assert!(threads[1..100].is_sorted() && threads[50] == 2);
    let alone = threads[50..].iter().filter(|&&threads| threads == 1);
    assert!(alone.count() < 10);

    // Where it takes so long that sleep cannot be the reason, it is not tried on.
    let mut timings = Timings::new(2);
    let mut run = || {
        let decision = Decision::by_timings(&timings, 100.0, 100_000.0, 2);
        let wall = if decision.threads == 1 {
            100_000
        } else {
            300_000
        };
        timings.observe(decision.threads, 100.0, wall, 0);
        decision.threads
    };
    let threads: Vec<usize> = (0..2_000).map(|_| run()).collect();
    assert!(threads.windows(2).all(|pair| pair != [2, 2]));
}

#[test]
fn a_trial_ends_where_few_runs_can_have_so_many_threads() {
    // Every other run is of one block only. With two threads the others take 80 us at first,
    // 200 later, and alone 100.
    let mut timings = Timings::new(2);
    let mut runs = |with_two: u64| {
        let mut several = 0;
        for _ in 0..1_000 {
            let decision = Decision::by_timings(&timings, 100.0, 100_000.0, 2);
            several += usize::from(decision.threads == 2);
            let wall = [100_000, with_two][decision.threads - 1];
            timings.observe(decision.threads, 100.0, wall, 0);
            timings.observe(1, 100.0, 100_000, 0);
        }
        several
    };
    let fast = runs(80_000);
    assert!(fast > 980, "{fast}");
    let slow = runs(200_000);
    assert!(slow < 60, "{slow}");
}

/// A random number from 0 to 1, from the generator of Marsaglia (2003).
fn random(state: &mut u64) -> f64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state as f64 / u64::MAX as f64
}

#[test]
fn automatic_comes_within_five_per_cent_of_the_best() {
    // Nanoseconds to call a thread, and how much slower each other one makes a
    // thread, by sharing its memory.
    for (cores, call, sharing) in [
        (2, 5e3, 0.1),
        (2, 40e3, 0.5),
        (4, 20e3, 0.05),
        (16, 5e3, 0.02),
        (16, 30e3, 0.1),
        (128, 10e3, 0.005),
    ] {
        for work in [1e4, 5e4, 2e5, 1e6, 5e6, 5e7] {
            let wall = |threads: usize| {
                let others = threads as f64 - 1.0;
                let slower = work * (1.0 + sharing * others);
                (slower, slower / threads as f64 + call * others.sqrt())
            };
            let (mut timings, mut state) = (Timings::new(cores), 88_172_645_463_325_252);
            let (mut took, mut total) = (0.0, work);
            const RUNS: usize = 4_000;
            for _ in 0..RUNS {
                let decision = Decision::by_timings(&timings, work / 100.0, total, cores);
                let (cost, wall) = wall(decision.threads);
                took += wall;
                // As measured: a tenth more or less, and now and then far more.
                let busy = if random(&mut state) < 0.01 { 20.0 } else { 0.0 };
                let measured = wall * (0.9 + 0.2 * random(&mut state) + busy);
                timings.observe(decision.threads, work / 100.0, measured as u64, 0);
                total += (cost - total) / 10.0;
            }
            let best = (1..=cores).map(|threads| wall(threads).1);
            let best = best.fold(f64::INFINITY, f64::min) * RUNS as f64;
            let over = took / best;
            assert!(over < 1.05, "{over:.3} for {work} on {cores} cores, {call}");
        }
    }
}

#[test]
fn no_more_threads_than_the_process_may_use() {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    assert_eq!(Scheduler::new(Threads::Auto).max_threads(), cores);
    assert_eq!(Scheduler::new(Threads::UpTo(1)).max_threads(), 1);
    assert_eq!(
        Scheduler::new(Threads::UpTo(usize::MAX)).max_threads(),
        cores
    );
    assert_eq!(Scheduler::new(Threads::UpTo(0)).max_threads(), 1);
}

/// Run on one core, by the test below.
#[test]
#[ignore = "holds on one core only"]
fn one_core_is_one_thread() {
    assert_eq!(Scheduler::new(Threads::Auto).max_threads(), 1);
}

#[test]
#[cfg(target_os = "linux")]
#[cfg_attr(miri, ignore = "no processes")]
fn on_one_core_automatic_is_one_thread() {
    let own = std::env::current_exe().expect("this test is a program");
    let process = std::fs::read_to_string("/proc/self/status").expect("this is Linux");
    let cores = process
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    let first = cores.and_then(|cores| cores.trim().split([',', '-']).next());
    let status = Command::new("taskset")
        .args(["-c", first.expect("there is a core")])
        .arg(own)
        .args(["--ignored", "--exact", "one_core_is_one_thread"])
        .status();
    let status = status.expect("taskset, of util-linux, is installed");
    assert!(status.success());
}
