//! Schedules on simulated threads, compared with the ideal.

use atds_sched::{BlockWork, Machine, Observed, RunReport, Scheduler, Threads, simulate};

const NS: u64 = 700;

/// What a batch of blocks of so many records takes, and the ideal: an equal
/// share, or the dearest block where that is more.
fn makespan_and_ideal(blocks: &[u64], threads: usize) -> (u64, u64) {
    let mut scheduler = Scheduler::new(Threads::Fixed(threads));
    let work = |&records: &u64| BlockWork {
        records_to_inflate: 0,
        records_to_decode: records,
    };
    let work: Vec<BlockWork> = blocks.iter().map(work).collect();
    scheduler.plan(&work);
    let observed = Observed {
        records_decoded: 1_000,
        decode_ns: 1_000 * NS,
        ..Observed::default()
    };
    scheduler.record(&RunReport::default(), &observed);
    let schedule = scheduler.plan(&work);
    let chunks = schedule.chunks.iter().cloned();
    let chunks: Vec<u64> = chunks
        .map(|chunk| NS * blocks[chunk].iter().sum::<u64>())
        .collect();
    let machine = Machine::default();
    let makespan = simulate(schedule.threads, &schedule.owners, &chunks, machine);
    let share = NS * blocks.iter().sum::<u64>() / threads as u64;
    let dearest = NS * blocks.iter().max().expect("there are blocks");
    (makespan, share.max(dearest))
}

#[test]
fn even_blocks_and_one_giant_are_balanced_within_five_per_cent() {
    for batch in [1_024, 8_192, 65_536] {
        let count = batch / 8;
        let even = vec![8; count as usize];
        let mut giant = vec![8; count as usize / 2];
        giant.insert(giant.len() / 3, batch / 2);
        for blocks in [even, giant] {
            for threads in [4, 16, 64, 128] {
                let (makespan, ideal) = makespan_and_ideal(&blocks, threads);
                assert!(makespan >= ideal);
                let over = makespan as f64 / ideal as f64;
                assert!(over < 1.05, "{over:.3}: {batch} records, {threads} threads");
            }
        }
    }
}

#[test]
fn no_schedule_is_worse_than_a_share_and_a_block() {
    for batch in [1_024, 8_192, 65_536] {
        let block = |i: u64| if i % 20 == 7 { 800 } else { 8 };
        let blocks: Vec<u64> = (0..batch / 48).map(block).collect();
        for threads in [2, 4, 16, 64, 128] {
            let (makespan, ideal) = makespan_and_ideal(&blocks, threads);
            assert!(makespan >= ideal);
            assert!(makespan <= ideal + 800 * NS, "{batch}, {threads} threads");
        }
    }
}

#[test]
fn threads_start_late_and_tasks_have_a_price() {
    let machine = Machine {
        call_ns: 5,
        start_ns: 100,
        task_ns: 1,
    };
    assert_eq!(simulate(1, &[0, 0], &[10, 20], machine), 32);
    // The caller calls two, does its task, and both others' before they start.
    assert_eq!(simulate(3, &[0, 1, 2], &[20, 20, 20], machine), 10 + 63);
    // One of them starts in time for its own.
    assert_eq!(simulate(3, &[0, 1, 2], &[120, 20, 20], machine), 131);
    assert_eq!(simulate(2, &[], &[], machine), 5);
}
