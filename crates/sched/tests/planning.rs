//! Costs, partitions, thread counts and the scheduler that puts them together.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

use atds_sched::{
    BlockWork, CostModel, MAX_THREADS, Observed, Pool, RunReport, Schedule, Scheduler, Threads,
    Wishes, partition,
};
use proptest::prelude::*;

fn decode(records: u64) -> BlockWork {
    BlockWork {
        records_to_decompress: 0,
        records_to_decode: records,
    }
}

fn decoded(records: u64, nanos: u64) -> Observed {
    Observed {
        records_decoded: records,
        decode_ns: nanos,
        ..Observed::default()
    }
}

#[test]
fn costs_are_averages_per_record() {
    let mut model = CostModel::default();
    let work = BlockWork {
        records_to_decompress: 10,
        records_to_decode: 4,
    };
    assert!(!model.is_measured());
    assert_eq!(model.cost(&work), 1.0);
    assert_eq!(model.cost(&decode(1_000)), 1.0);
    model.observe(&Observed {
        records_decompressed: 100,
        decompress_ns: 5_000,
        records_decoded: 40,
        decode_ns: 800,
    });
    assert!(model.is_measured());
    assert_eq!(model.decompress_ns_per_record(), Some(50.0));
    assert_eq!(model.decode_ns_per_record(), Some(20.0));
    assert_eq!(model.cost(&work), 10.0 * 50.0 + 4.0 * 20.0);
    assert_eq!(model.cost(&decode(4)), 80.0);
    assert_eq!(model.cost(&BlockWork::default()), 0.0);
    // A run that decompressed nothing says nothing of decompressing.
    model.observe(&decoded(40, 800));
    assert_eq!(model.decompress_ns_per_record(), Some(50.0));
}

#[test]
fn costs_follow_the_data() {
    let mut model = CostModel::default();
    model.observe(&decoded(1_000, 10_000));
    let mut last = 10.0;
    for _ in 0..50 {
        model.observe(&decoded(1_000, 30_000));
        let now = model.decode_ns_per_record().expect("measured");
        assert!(now > last && now < 30.0);
        last = now;
    }
    assert!(last > 29.9, "{last}");
}

/// The blocks of a schedule's owners.
fn covers(schedule: &Schedule, blocks: usize) {
    assert_eq!(schedule.chunks.len(), schedule.owners.len());
    assert!(schedule.chunks.iter().all(|chunk| !chunk.is_empty()));
    assert!(schedule.chunks.iter().cloned().flatten().eq(0..blocks));
    let dear = |chunk: &usize| schedule.first.contains(chunk);
    assert!(schedule.rest.is_sorted_by(|a, b| a < b));
    assert!((0..schedule.chunks.len()).all(|chunk| dear(&chunk) != schedule.rest.contains(&chunk)));
    assert_eq!(
        schedule.first.len() + schedule.rest.len(),
        schedule.chunks.len()
    );
    assert!(
        schedule
            .rest
            .is_sorted_by_key(|&chunk| schedule.owners[chunk])
    );
    assert!(
        schedule
            .owners
            .iter()
            .all(|&owner| owner < schedule.threads)
    );
}

#[test]
fn the_first_batch_is_split_by_blocks() {
    let mut scheduler = Scheduler::new(Threads::Fixed(2));
    let mut work = vec![decode(1); 50];
    work.extend(vec![decode(1_000); 50]);
    let schedule = scheduler.plan(&work);
    covers(&schedule, 100);
    assert_eq!(schedule.threads, 2);
    assert_eq!(schedule.owners, [0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1]);
    assert_eq!(schedule.chunks[5].end, 50);
    // Those at the back of a share are smaller.
    let sizes = |chunks: &[std::ops::Range<usize>]| {
        chunks.iter().map(|chunk| chunk.len()).collect::<Vec<_>>()
    };
    assert_eq!(sizes(&schedule.chunks[..6]), [16, 12, 10, 6, 3, 3]);
    assert_eq!(
        scheduler.stats().to_string(),
        "2 threads; 0 runs, 0 chunks stolen"
    );
}

#[test]
fn later_batches_are_split_by_cost() {
    let mut scheduler = Scheduler::new(Threads::Fixed(2));
    let mut pool = Pool::new(scheduler.max_threads());
    let decompress = BlockWork {
        records_to_decompress: 100,
        records_to_decode: 10,
    };
    let mut work = vec![decompress; 10];
    work.extend(vec![decode(10); 40]);
    let schedule = scheduler.plan(&work);
    let (_, report) = pool.run(
        schedule.threads,
        &schedule.owners,
        schedule.chunks,
        |_, _| (),
    );
    scheduler.record(
        &report,
        &Observed {
            records_decompressed: 1_000,
            decompress_ns: 1_000_000,
            records_decoded: 500,
            decode_ns: 5_000_000,
        },
    );
    // A block to decompress costs 200 us, one decompressed 100 us: 6 ms in all.
    let schedule = scheduler.plan(&work);
    covers(&schedule, 50);
    let second = schedule.owners.iter().position(|&owner| owner == 1);
    assert_eq!(schedule.chunks[second.expect("two threads")].start, 20);

    let stats = scheduler.stats();
    assert_eq!(stats.decompress_ns_per_record, Some(1_000.0));
    assert_eq!(stats.decode_ns_per_record, Some(10_000.0));
    assert_eq!(stats.runs, 1);
    let decision = stats.decision.clone().expect("a batch was planned");
    assert_eq!((decision.threads, decision.total_ns), (2, Some(6e6)));
    let text = stats.to_string();
    for part in [
        "2 threads for 6000 us",
        "decompressing 1000 ns a record",
        "1 run",
    ] {
        assert!(text.contains(part), "{text}");
    }
}

/// A schedule for two threads once a record is known to cost a millisecond.
fn two_threads(records: &[u64]) -> Schedule {
    let mut scheduler = Scheduler::new(Threads::Fixed(2));
    let work: Vec<BlockWork> = records.iter().map(|&records| decode(records)).collect();
    scheduler.plan(&work);
    scheduler.record(&RunReport::default(), &decoded(1, 1_000_000));
    let schedule = scheduler.plan(&work);
    covers(&schedule, records.len());
    schedule
}

#[test]
fn dear_blocks_are_begun_first_and_make_the_share_smaller() {
    let mut records = [10; 100];
    (records[20], records[70], records[71]) = (300, 500, 200);
    let schedule = two_threads(&records);
    let chunk = |block: usize| {
        let chunks = &mut schedule.chunks.iter();
        let found = chunks.position(|chunk| *chunk == (block..block + 1));
        found.expect("a chunk by itself")
    };
    let dear = [70, 20, 71].map(chunk);
    assert_eq!(schedule.first, dear);
    // 500 and 500: the rest is cut in half.
    assert_eq!(dear.map(|chunk| schedule.owners[chunk]), [0, 1, 1]);
    let second = schedule
        .rest
        .iter()
        .find(|&&chunk| schedule.owners[chunk] == 1);
    assert_eq!(schedule.chunks[*second.expect("two shares")].start, 50);
}

#[test]
fn a_block_that_costs_half_leaves_the_others_to_the_other_thread() {
    let mut records = [10; 100];
    records[60] = 1_000;
    let schedule = two_threads(&records);
    assert_eq!(schedule.first.len(), 1);
    assert_eq!(schedule.owners[schedule.first[0]], 0);
    let mut owners = schedule.rest.iter().map(|&chunk| schedule.owners[chunk]);
    assert!(owners.all(|owner| owner == 1));
}

#[test]
fn few_uneven_blocks_are_dealt_out_dearest_first() {
    let schedule = two_threads(&[1, 5, 0, 0, 4, 3, 0, 3]);
    assert_eq!(schedule.chunks, [0..1, 1..4, 4..5, 5..7, 7..8]);
    assert_eq!(schedule.first, [1, 2, 3, 4, 0]);
    assert_eq!(schedule.owners, [1, 0, 1, 1, 0]);
    assert!(schedule.rest.is_empty());
    // Even ones are not: neighbours are for the same thread.
    let schedule = two_threads(&[4; 4]);
    assert_eq!(
        (schedule.rest, schedule.owners),
        (vec![0, 1, 2, 3], vec![0, 0, 1, 1])
    );
}

#[test]
fn auto_uses_what_pays() {
    let mut scheduler = Scheduler::new(Threads::Auto);
    let most = scheduler.max_threads();
    assert!(most >= 1);
    // Cheap: 100 records of 1 ns.
    let mut pool = Pool::new(1);
    let (_, report) = pool.run(1, &[], Vec::<()>::new(), |_, ()| ());
    scheduler.plan(&[decode(1); 100]);
    scheduler.record(&report, &decoded(100, 100));
    let schedule = scheduler.plan(&[decode(1); 100]);
    assert_eq!((schedule.threads, schedule.chunks.len()), (1, 1));
    covers(&schedule, 100);
    let decision = scheduler.stats().decision.expect("a batch was planned");
    assert!(decision.expected_ns.len() <= most);
    // Dear: a second a record.
    for _ in 0..200 {
        scheduler.record(&report, &decoded(100, 100_000_000_000));
        scheduler.took(Duration::from_secs(100), Duration::ZERO);
    }
    assert_eq!(scheduler.plan(&[decode(1); 1_000]).threads, most.min(1_000));
}

#[test]
fn no_more_threads_than_blocks_take_part() {
    let mut scheduler = Scheduler::new(Threads::Fixed(8));
    let mut work = vec![decode(0); 20];
    work[3] = decode(5);
    work[17] = decode(5);
    let schedule = scheduler.plan(&work);
    assert_eq!(schedule.threads, 2);
    covers(&schedule, 20);
    let schedule = scheduler.plan(&[]);
    assert_eq!((schedule.threads, schedule.chunks.len()), (1, 0));
    assert_eq!(Scheduler::new(Threads::Fixed(0)).max_threads(), 1);
    assert_eq!(
        Scheduler::new(Threads::Fixed(usize::MAX)).max_threads(),
        MAX_THREADS
    );
}

/// A schedule of so many even blocks for two threads that heeds `wishes`.
fn wished(blocks: usize, wishes: Wishes) -> Schedule {
    let mut scheduler = Scheduler::new(Threads::Fixed(2));
    scheduler.record(&RunReport::default(), &decoded(1_000, 40_000_000));
    let mut schedule = Schedule::default();
    let work = BlockWork {
        records_to_decompress: 1,
        records_to_decode: 1,
    };
    scheduler.plan_into(&vec![work; blocks], &wishes, &mut schedule);
    covers(&schedule, blocks);
    schedule
}

/// Where the second thread's share starts.
fn second_share(schedule: &Schedule) -> usize {
    let second = schedule.owners.iter().position(|&owner| owner == 1);
    schedule.chunks[second.expect("two threads")].start
}

#[test]
fn chunks_hold_whole_groups() {
    for (blocks, start) in [(256, None), (257, None), (261, Some(135)), (21, None)] {
        let schedule = wished(blocks, Wishes { together: 4, start });
        let mut before = None;
        for (chunk, &owner) in schedule.chunks.iter().zip(&schedule.owners) {
            if before.replace(owner) == Some(owner) {
                assert_eq!(chunk.len() % 4, 0, "{schedule:?}");
            }
        }
        assert!(schedule.chunks.len() >= blocks / 16, "{schedule:?}");
    }
}

#[test]
fn of_blocks_that_are_decompressed_chunks_hold_whole_groups() {
    // As a shuffled batch has them: about one in five is decompressed, not every fifth.
    let is_decompressed = |block: usize| block * block % 37 < 6;
    let work = |block| BlockWork {
        records_to_decompress: u64::from(is_decompressed(block)),
        records_to_decode: 1,
    };
    let work = Vec::from_iter((0..700).map(work));
    let mut scheduler = Scheduler::new(Threads::Fixed(2));
    scheduler.record(
        &RunReport::default(),
        &Observed {
            records_decompressed: 1_000,
            decompress_ns: 20_000_000,
            records_decoded: 1_000,
            decode_ns: 1_000_000,
        },
    );
    let wishes = |together| Wishes {
        together,
        ..Wishes::default()
    };
    let decompressed =
        |blocks: Range<usize>| blocks.filter(|&block| is_decompressed(block)).count();
    let [schedule, alone] = [4, 1].map(|together| {
        let mut schedule = Schedule::default();
        scheduler.plan_into(&work, &wishes(together), &mut schedule);
        covers(&schedule, work.len());
        schedule
    });
    assert_eq!(schedule.owners, alone.owners);
    let second = schedule.owners.iter().position(|&owner| owner == 1);
    let mut odd = 0;
    for (nth, (chunk, before)) in schedule.chunks.iter().zip(&alone.chunks).enumerate() {
        // What is left over is in the first chunk of each.
        if nth > 0 && Some(nth) != second {
            assert_eq!(decompressed(chunk.clone()) % 4, 0, "{schedule:?}");
            odd += usize::from(decompressed(before.clone()) % 4 != 0);
        }
        // No cut is moved further than that takes.
        let [from, to] = [chunk.end.min(before.end), chunk.end.max(before.end)];
        assert!(decompressed(from..to) <= 2, "{schedule:?}, {alone:?}");
    }
    assert!(odd > 0, "{alone:?}");
}

#[test]
fn fewer_blocks_than_a_group_are_a_chunk() {
    let together = Wishes {
        together: 8,
        ..Wishes::default()
    };
    assert_eq!(wished(6, together).chunks, [0..3, 3..6]);
}

#[test]
fn a_share_starts_where_it_is_wished_if_that_is_near() {
    let start_at = |block| Wishes {
        start: Some(block),
        ..Wishes::default()
    };
    let even = wished(256, Wishes::default());
    assert_eq!(second_share(&even), 128);
    for near in [120, 127, 128, 131, 136] {
        assert_eq!(second_share(&wished(256, start_at(near))), near);
    }
    for far in [0, 119, 137, 256, 1_000] {
        assert_eq!(wished(256, start_at(far)), even);
    }
}

#[test]
fn ranges_end_at_the_nearest_boundary() {
    assert_eq!(partition(&[3.0, 1.0], 2), [0..1, 1..2]);
    assert_eq!(partition(&[1.0, 1.0, 3.0], 2), [0..2, 2..3]);
    assert_eq!(partition(&[1.0, 3.0, 3.0], 2), [0..2, 2..3]);
    assert_eq!(partition(&[9.0, 1.0, 1.0], 3), [0..0, 0..1, 1..3]);
    assert_eq!(partition(&[], 2), [0..0, 0..0]);
}

proptest! {
    #[test]
    fn partitions_cover_and_balance(
        costs in proptest::collection::vec(prop_oneof![Just(0u32), 1u32..100, 1u32..1_000_000], 0..200),
        parts in 1usize..70,
    ) {
        // Sums of integers of this size are exact.
        let costs: Vec<f64> = costs.into_iter().map(f64::from).collect();
        let ranges = partition(&costs, parts);
        prop_assert_eq!(ranges.len(), parts);
        prop_assert!(ranges.iter().cloned().flatten().eq(0..costs.len()));
        let total: f64 = costs.iter().sum();
        let max = costs.iter().copied().fold(0.0, f64::max);
        for range in ranges {
            let cost: f64 = costs[range].iter().sum();
            prop_assert!(cost <= total / parts as f64 + max + 1e-6);
        }
    }

    #[test]
    fn odd_costs_are_still_covered(
        costs in proptest::collection::vec(any::<f64>(), 0..50), parts in 1usize..10,
    ) {
        let ranges = partition(&costs, parts);
        prop_assert_eq!(ranges.len(), parts);
        prop_assert!(ranges.into_iter().flatten().eq(0..costs.len()));
    }

    #[test]
    fn schedules_cover_all_blocks(
        work in proptest::collection::vec(
            // Some are dear.
            (
                prop_oneof![2 => Just(0), 1 => 0u64..200],
                prop_oneof![9 => 0u64..200, 1 => 2_000u64..20_000],
            ),
            0..300,
        ),
        threads in prop_oneof![Just(Threads::Auto), (0usize..9).prop_map(Threads::Fixed)],
        nanos in proptest::option::of((0u64..1_000_000_000, 0u64..1_000_000_000)),
        (together, start) in (
            prop_oneof![9 => 0usize..9, 1 => Just(usize::MAX)], proptest::option::of(0usize..300),
        ),
    ) {
        let work: Vec<BlockWork> = work
            .into_iter()
            .map(|(records_to_decompress, records_to_decode)| BlockWork {
                records_to_decompress,
                records_to_decode,
            })
            .collect();
        let mut scheduler = Scheduler::new(threads);
        let mut pool = Pool::new(2);
        let (wishes, mut schedule) = (Wishes { together, start }, Schedule::default());
        for _ in 0..8 {
            scheduler.plan_into(&work, &wishes, &mut schedule);
            covers(&schedule, work.len());
            prop_assert!(schedule.threads <= scheduler.max_threads());
            prop_assert!(schedule.chunks.len() <= 45 * schedule.threads);
            let runs: Vec<_> = schedule.chunks.iter().map(|_| AtomicU32::new(0)).collect();
            let count = |_, chunk: usize| _ = runs[chunk].fetch_add(1, Relaxed);
            let report = pool.run_schedule(&schedule, count).clone();
            prop_assert!(runs.into_iter().all(|runs| runs.into_inner() == 1));
            let (decompress_ns, decode_ns) = nanos.unwrap_or_default();
            let records = u64::from(nanos.is_some()) * 1_000;
            let observed = Observed {
                records_decompressed: records,
                decompress_ns,
                records_decoded: records,
                decode_ns,
            };
            scheduler.record(&report, &observed);
            scheduler.took(Duration::from_nanos(report.wall_ns), Duration::ZERO);
        }
    }
}
