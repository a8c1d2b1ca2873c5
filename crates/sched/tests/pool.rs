//! The pool runs every task once, whoever does it, and survives panics.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Barrier, Mutex};
use std::thread;

use atds_sched::{BlockWork, MAX_THREADS, Observed, Pool, RunReport, Scheduler, Threads};
use proptest::prelude::*;

/// Miri takes a thousand times as long.
const ROUNDS: usize = if cfg!(miri) { 20 } else { 2_000 };

#[test]
fn every_task_runs_once_and_results_keep_their_order() {
    let mut pool = Pool::new(4);
    for round in 0..ROUNDS {
        let threads = round % 5;
        let len = round % 23;
        // Owners of all kinds: all one's, in turn, numbers beyond the threads.
        let owners: Vec<usize> = (0..len).map(|task| task * (round % 7)).collect();
        let runs: Vec<AtomicUsize> = (0..len).map(|_| AtomicUsize::new(0)).collect();
        let (results, report) = pool.run(threads, &owners, (0..len).collect(), |worker, task| {
            assert!(worker < threads.max(1));
            runs[task].fetch_add(1, SeqCst);
            task * 10
        });
        assert_eq!(results, (0..len).map(|task| task * 10).collect::<Vec<_>>());
        assert!(runs.iter().all(|runs| runs.load(SeqCst) == 1));
        assert_eq!(report.threads, threads.max(1));
        assert_eq!(report.busy_ns.len(), report.threads);
        assert!(report.steals <= len as u64);
        assert!(report.start_delay_ns <= report.wall_ns);
        assert_eq!(report.late > 0, report.start_delay_ns > report.wall_ns / 2);
        assert!(report.busy_ns.iter().all(|&busy| busy <= report.wall_ns));
    }
}

#[test]
fn workers_work_at_the_same_time() {
    // Each of two tasks waits for the other: one thread could not do them.
    let mut pool = Pool::new(2);
    for owners in [[0, 1], [0, 0], [1, 1]] {
        let both = Barrier::new(2);
        let (workers, report) = pool.run(2, &owners, vec![(), ()], |worker, ()| {
            both.wait();
            worker
        });
        assert_ne!(workers[0], workers[1]);
        let stolen = workers
            .iter()
            .zip(owners)
            .filter(|(w, owner)| **w != *owner);
        assert_eq!(report.steals, stolen.count() as u64);
        assert!(report.start_delay_ns > 0);
    }
}

#[test]
fn owners_go_forward_and_thieves_backward() {
    // Who begins first stays in that task until the other has done the rest.
    let mut pool = Pool::new(2);
    for _ in 0..ROUNDS.min(200) {
        let order = Mutex::new(Vec::new());
        let done = AtomicUsize::new(0);
        let (_, report) = pool.run(2, &[0; 5], (0..5).collect(), |worker, task| {
            let first = {
                let mut order = order.lock().expect("no task panics");
                order.push((worker, task));
                order.len() == 1
            };
            while first && done.load(SeqCst) < 4 {
                thread::yield_now();
            }
            done.fetch_add(1, SeqCst);
        });
        let order = order.into_inner().expect("no task panics");
        if order[0].0 == 0 {
            assert_eq!(order, [(0, 0), (1, 4), (1, 3), (1, 2), (1, 1)]);
            assert_eq!(report.steals, 4);
        } else {
            assert_eq!(order, [(1, 4), (0, 0), (0, 1), (0, 2), (0, 3)]);
            assert_eq!(report.steals, 1);
        }
    }
}

#[test]
fn what_comes_first_is_begun_before_all_others() {
    let mut scheduler = Scheduler::new(Threads::Fixed(2));
    let mut records = [1; 60];
    for (dear, block) in (6..).zip([5, 2, 50, 31]) {
        records[block] = dear;
    }
    let work = records.map(|records| BlockWork {
        records_to_decompress: 0,
        records_to_decode: records,
    });
    scheduler.plan(&work);
    let observed = Observed {
        records_decoded: 1,
        decode_ns: 1_000_000,
        ..Observed::default()
    };
    scheduler.record(&RunReport::default(), &observed);
    let schedule = scheduler.plan(&work);
    assert!(schedule.first.len() == 4 && !schedule.rest.is_empty());
    let total = schedule.chunks.len();
    let mut pool = Pool::new(2);
    for _ in 0..ROUNDS.min(200) {
        // Who begins first stays in that chunk until the other has done the rest.
        let order = Mutex::new(Vec::new());
        let done = AtomicUsize::new(0);
        pool.run_schedule(&schedule, |worker, chunk| {
            let first = {
                let mut order = order.lock().expect("no task panics");
                order.push((worker, chunk));
                order.len() == 1
            };
            while first && done.load(SeqCst) < total - 1 {
                thread::yield_now();
            }
            done.fetch_add(1, SeqCst);
        });
        let order = order.into_inner().expect("no task panics");
        let (stays, stays_in) = order[0];
        let of = |chunks: &[usize], owner| -> Vec<usize> {
            let own = chunks.iter().copied();
            own.filter(|&chunk| schedule.owners[chunk] == owner && chunk != stays_in)
                .collect()
        };
        let mut expected = of(&schedule.first, 1 - stays);
        expected.extend(of(&schedule.first, stays));
        expected.extend(of(&schedule.rest, 1 - stays));
        expected.extend(of(&schedule.rest, stays).into_iter().rev());
        let first = schedule.first.iter();
        let mut of_who_stays = first.filter(|&&chunk| schedule.owners[chunk] == stays);
        assert_eq!(of_who_stays.next(), Some(&stays_in));
        let others = order[1..].iter().map(|&(worker, chunk)| {
            assert_eq!(worker, 1 - stays);
            chunk
        });
        assert!(others.eq(expected));
    }
    // Alone, the caller does the same.
    let mut alone = Pool::new(1);
    let order = Mutex::new(Vec::new());
    alone.run_schedule(&schedule, |_, chunk| {
        order.lock().expect("no task panics").push(chunk)
    });
    let expected = schedule.first.iter().chain(&schedule.rest);
    assert!(
        order
            .into_inner()
            .expect("no task panics")
            .iter()
            .eq(expected)
    );
}

#[test]
fn tasks_and_closures_borrow() {
    let mut pool = Pool::new(3);
    let mut numbers = vec![1u32; 999];
    let factor = &7;
    for _ in 0..3 {
        let tasks: Vec<&mut [u32]> = numbers.chunks_mut(100).collect();
        let owners: Vec<usize> = (0..tasks.len()).map(|task| task / 4).collect();
        let (lens, _) = pool.run(3, &owners, tasks, |_, part| {
            part.iter_mut().for_each(|number| *number *= factor);
            part.len()
        });
        assert_eq!(lens.iter().sum::<usize>(), 999);
    }
    assert!(numbers.iter().all(|&number| number == 343));
}

#[test]
fn a_task_may_use_a_pool_of_its_own() {
    let mut pool = Pool::new(2);
    let (sums, _) = pool.run(2, &[0, 1, 1], vec![1, 2, 3], |_, task| {
        let mut inner = Pool::new(2);
        let (parts, _) = inner.run(2, &[0, 1], vec![task, 10 * task], |_, part| part);
        parts.iter().sum::<i32>()
    });
    assert_eq!(sums, [11, 22, 33]);
}

#[test]
fn a_panic_reaches_the_caller_and_the_pool_goes_on() {
    let mut pool = Pool::new(3);
    let dropped = Arc::new(());
    for round in 0..ROUNDS.min(300) {
        for threads in [1, 3] {
            let bad = round % 9;
            let tasks: Vec<Arc<()>> = (0..9).map(|_| dropped.clone()).collect();
            let begun = AtomicUsize::new(0);
            let result = catch_unwind(AssertUnwindSafe(|| {
                let tasks = (0..).zip(tasks).collect();
                pool.run(
                    threads,
                    &[0, 0, 0, 1, 1, 1, 2, 2, 2],
                    tasks,
                    |_, (task, _)| {
                        begun.fetch_add(1, SeqCst);
                        if task == bad {
                            std::panic::resume_unwind(Box::new("bad task"));
                        }
                    },
                )
            }));
            let panic = result.expect_err("the task panics");
            assert_eq!(panic.downcast_ref(), Some(&"bad task"));
            assert!(begun.load(SeqCst) <= 9);
            // Tasks that were not begun are not kept, nor run later.
            assert_eq!(Arc::strong_count(&dropped), 1);
            let (results, _) = pool.run(threads, &[0, 1], vec![5, 6], |_, task| task);
            assert_eq!(results, [5, 6]);
        }
    }
}

#[test]
fn after_a_panic_nobody_begins_another_task() {
    /// Tells that its task is unwinding.
    struct Unwinding<'a>(&'a AtomicBool);
    impl Drop for Unwinding<'_> {
        fn drop(&mut self) {
            self.0.store(true, SeqCst);
        }
    }
    const TASKS: usize = 10_000;
    let mut pool = Pool::new(2);
    let begun = AtomicUsize::new(0);
    let unwinding = AtomicBool::new(false);
    let result = catch_unwind(AssertUnwindSafe(|| {
        pool.run(2, &[1; TASKS], vec![(); TASKS], |_, ()| {
            if begun.fetch_add(1, SeqCst) == 0 {
                let _unwinding = Unwinding(&unwinding);
                std::panic::resume_unwind(Box::new(()));
            }
            // From here on the other's end is near: let it have the core.
            while !unwinding.load(SeqCst) {
                thread::yield_now();
            }
            thread::yield_now();
        })
    }));
    assert!(result.is_err());
    assert!(begun.load(SeqCst) < TASKS);
}

#[test]
fn all_workers_may_panic_even_with_something_that_panics() {
    /// What a panic carries, itself panicking when it is dropped.
    struct Bomb(Arc<AtomicUsize>);
    impl Drop for Bomb {
        fn drop(&mut self) {
            self.0.fetch_add(1, SeqCst);
            if !thread::panicking() {
                std::panic::resume_unwind(Box::new("dropped"));
            }
        }
    }
    let mut pool = Pool::new(2);
    let bombs = Arc::new(AtomicUsize::new(0));
    let both = Barrier::new(2);
    let result = catch_unwind(AssertUnwindSafe(|| {
        pool.run(2, &[0, 1], vec![(), ()], |_, ()| {
            both.wait();
            std::panic::resume_unwind(Box::new(Bomb(bombs.clone())));
        })
    }));
    let panic = result.expect_err("both tasks panic");
    // One bomb was given on or went off in place of the other's.
    let _ = catch_unwind(AssertUnwindSafe(|| drop(panic)));
    assert_eq!(bombs.load(SeqCst), 2);
    let (results, _) = pool.run(2, &[0, 1], vec![5, 6], |_, task| task);
    assert_eq!(results, [5, 6]);
}

#[test]
fn dropping_the_pool_ends_its_threads() {
    thread_local! {
        static TOLD: std::cell::RefCell<Option<Ends>> = const { std::cell::RefCell::new(None) };
    }
    /// Tells when its thread has ended.
    struct Ends(Arc<AtomicBool>);
    impl Drop for Ends {
        fn drop(&mut self) {
            self.0.store(true, SeqCst);
        }
    }
    let ended = Arc::new(AtomicBool::new(false));
    let mut pool = Pool::new(2);
    let both = Barrier::new(2);
    pool.run(2, &[0, 1], vec![(), ()], |worker, ()| {
        both.wait();
        if worker == 1 {
            TOLD.with(|told| *told.borrow_mut() = Some(Ends(ended.clone())));
        }
    });
    assert!(!ended.load(SeqCst), "threads live between runs");
    drop(pool);
    assert!(ended.load(SeqCst));
}

#[test]
fn one_thread_runs_on_the_caller() {
    let mut pool = Pool::new(1);
    assert_eq!(pool.max_threads(), 1);
    let caller = thread::current().id();
    let (threads, report) = pool.run(8, &[3, 2, 1], vec![(), (), ()], |worker, ()| {
        assert_eq!(worker, 0);
        thread::current().id()
    });
    assert_eq!(threads, [caller; 3]);
    assert_eq!(
        (
            report.threads,
            report.steals,
            report.start_delay_ns,
            report.late
        ),
        (1, 0, 0, 0)
    );
    assert_eq!(Pool::new(0).max_threads(), 1);
}

#[test]
#[cfg_attr(miri, ignore = "too many threads")]
fn a_mistyped_number_of_threads_does_no_harm() {
    assert!(Pool::new(usize::MAX).max_threads() <= MAX_THREADS);
}

#[test]
#[should_panic = "an owner for each task"]
fn tasks_need_owners() {
    Pool::new(2).run(2, &[0], vec![1, 2], |_, task| task);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 5 } else { 200 }))]

    #[test]
    fn any_run_maps_its_tasks(
        pool_threads in 0usize..5,
        runs in proptest::collection::vec(
            (0usize..6, proptest::collection::vec((any::<usize>(), any::<u8>()), 0..40)),
            1..6,
        ),
    ) {
        let mut pool = Pool::new(pool_threads);
        for (threads, tasks) in runs {
            let (owners, tasks): (Vec<usize>, Vec<u8>) = tasks.into_iter().unzip();
            let expected: Vec<u16> = tasks.iter().map(|&task| u16::from(task) + 1).collect();
            let (results, _) = pool.run(threads, &owners, tasks, |_, task| u16::from(task) + 1);
            prop_assert_eq!(results, expected);
        }
    }
}
