//! Schedules on simulated threads, compared with the best that whole blocks
//! allow.

#[path = "../examples/simulate/cases.rs"]
mod cases;

use atds_sched::{Machine, Schedule, simulate};
use cases::{BATCHES, NO_SURPRISE, Outcome, SHAPES, Surprise, THREADS, outcome};

/// What a record costs in nanoseconds: decompressing and decoding it, and decoding
/// alone.
const DEFLATE: u64 = 3_810;
const NULL: u64 = 560;

/// Every batch on every number of threads, at no cost but the work.
fn each(record_ns: u64, surprise: Surprise, check: impl Fn(&str, &Outcome)) {
    for shape in SHAPES {
        for batch in BATCHES {
            let blocks = (shape.blocks)(batch);
            for threads in THREADS {
                let name = format!("{}, {batch} records, {threads} threads", shape.name);
                let machine = Machine::default();
                check(
                    &name,
                    &outcome(&blocks, record_ns, threads, machine, surprise),
                );
            }
        }
    }
}

/// How much longer than what whole blocks allow.
fn over(outcome: &Outcome) -> f64 {
    assert!(outcome.makespan as f64 >= outcome.ideal * 0.999_999);
    outcome.makespan as f64 / outcome.dearest_first as f64
}

#[test]
fn all_batches_are_balanced_within_five_per_cent_of_what_whole_blocks_allow() {
    each(DEFLATE, NO_SURPRISE, |name, outcome| {
        assert!(over(outcome) < 1.05, "{:.3}: {name}", over(outcome));
    });
}

#[test]
fn blocks_that_are_not_worth_a_chunk_are_balanced_where_there_are_many() {
    each(NULL, NO_SURPRISE, |name, outcome| {
        let many = outcome.dearest < outcome.share / 10.0;
        let most = if many { 1.05 } else { 1.10 };
        assert!(over(outcome) < most, "{:.3}: {name}", over(outcome));
    });
}

#[test]
fn errors_of_estimates_are_stolen_away() {
    let noise = Surprise {
        noise: 0.2,
        ..NO_SURPRISE
    };
    each(DEFLATE, noise, |name, outcome| {
        if outcome.dearest < outcome.share / 20.0 {
            assert!(over(outcome) < 1.05, "{:.3}: {name}", over(outcome));
        }
        // Nobody is alone with more than a block that nobody could foresee.
        let most = 1.05 * outcome.ideal + outcome.dearest;
        assert!((outcome.makespan as f64) < most, "{name}");
    });
}

#[test]
fn a_thread_that_is_half_as_fast_holds_nobody_up() {
    let slow = Surprise {
        slow: true,
        ..NO_SURPRISE
    };
    each(DEFLATE, slow, |name, outcome| {
        // Shares that take so long are cut finer.
        let fine = outcome.share > 5_000_000.0;
        if fine && outcome.dearest < outcome.share / 40.0 {
            assert!(over(outcome) < 1.05, "{:.3}: {name}", over(outcome));
        }
        let most = if fine { 1.05 } else { 1.2 } * outcome.ideal + 2.0 * outcome.dearest;
        assert!((outcome.makespan as f64) < most, "{name}");
    });
}

#[test]
fn chunks_are_few() {
    for record_ns in [1, NULL, DEFLATE, 1_000_000] {
        for threads in [2, 3, 16, 128] {
            for (shape, batch) in SHAPES
                .iter()
                .flat_map(|shape| BATCHES.map(|batch| (shape, batch)))
            {
                let blocks = (shape.blocks)(batch);
                let outcome = outcome(&blocks, record_ns, threads, Machine::default(), NO_SURPRISE);
                assert!(
                    outcome.chunks <= 45 * threads.min(blocks.len()),
                    "{}",
                    shape.name
                );
            }
        }
    }
}

#[test]
fn no_schedule_is_worse_than_the_ideal_and_a_block() {
    let block = |i: u64| if i % 20 == 7 { 800 } else { 8 };
    for batch in BATCHES {
        let blocks: Vec<u64> = (0..batch / 48).map(block).collect();
        for threads in [2, 4, 16, 64, 128] {
            for ns in [1, NULL, DEFLATE] {
                let outcome = outcome(&blocks, ns, threads, Machine::default(), NO_SURPRISE);
                let most = outcome.ideal + (800 * ns) as f64;
                assert!(over(&outcome) >= 0.9);
                assert!(
                    (outcome.makespan as f64) <= most,
                    "{batch}, {threads} threads"
                );
            }
        }
    }
}

#[test]
fn threads_start_late_and_tasks_have_a_price() {
    let machine = Machine {
        call_ns: 5,
        start_ns: 100,
        task_ns: 1,
        ..Machine::default()
    };
    let run = |threads, owners: &[usize], ns: &[u64]| {
        simulate(&Schedule::of_owners(threads, owners), ns, machine)
    };
    assert_eq!(run(1, &[0, 0], &[10, 20]), 32);
    // The caller calls two, does its task, and both others' before they start.
    assert_eq!(run(3, &[0, 1, 2], &[20, 20, 20]), 10 + 63);
    // One of them starts in time for its own.
    assert_eq!(run(3, &[0, 1, 2], &[120, 20, 20]), 131);
    assert_eq!(run(2, &[], &[]), 5);
}
