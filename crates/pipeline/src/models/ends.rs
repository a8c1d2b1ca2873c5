//! Errors and stops: every thread that waits is woken.

use super::*;
use crate::flow::Denied;

/// The consumer stops after a batch, while workers make others or wait.
#[test]
fn the_consumer_stops() {
    for taken in 0..2 {
        check(1, move || {
            let mut run = Iteration::start(&threads(2));
            run.push(ops(plans(1, &[block(&[1, 2], true)])));
            for _ in 0..taken {
                run.next().unwrap();
            }
            run.flow.stop();
            // Those that were ready, at most.
            while run.next().is_some() {}
            run.end();
        });
    }
}

/// Stopping, as a thread does that panics, wakes the consumer and the planning thread.
#[test]
fn a_stop_wakes_all() {
    check(1, || {
        let mut run = Iteration::start(&threads(1));
        let flow = run.flow.clone();
        let planner = loom::thread::spawn(move || {
            for op in ops(plans(1, &[block(&[1, 2, 3], false)])) {
                // Waits for room in the queue.
                if flow.push(op).is_err() {
                    return;
                }
            }
        });
        let flow = run.flow.clone();
        let panics = loom::thread::spawn(move || flow.stop());
        // Without a stop, the consumer would wait for a fourth batch for ever.
        while run.next().is_some() {}
        for thread in [planner, panics] {
            thread.join().unwrap();
        }
        run.end();
    });
}

/// Stopping wakes a planning thread that waits for memory.
#[test]
fn a_stop_ends_the_wait_for_memory() {
    check(3, || {
        let mut options = threads(1);
        options.memory_limit = 1 << 10;
        let run = Iteration::new(&options);
        // Not starved: a batch is being made.
        run.push(ops(plans(1, &[block(&[1], false)])));
        let flow = run.flow.clone();
        let planner = loom::thread::spawn(move || {
            let lease = flow.lease_ahead(0, 1 << 20);
            assert!(matches!(lease, Err(Denied::Cancelled)), "{lease:?}");
        });
        run.flow.stop();
        planner.join().unwrap();
    });
}

/// A bad row ends the iteration after the rows before it, whichever batches are made meanwhile.
#[test]
fn an_error_wakes_all() {
    check(1, || {
        let mut run = Iteration::start(&threads(2));
        for op in ops(plans(2, &[block(&[1, BAD, 3, 4], false)])) {
            // Refused after the error.
            let _ = run.flow.push(op);
        }
        let flow = run.flow.clone();
        let planner = loom::thread::spawn(move || {
            // Refused, or dropped after it was queued.
            let plans = plans(1, &[block(&[5], false)]);
            let op = make(2, plans);
            let _ = flow.push(op);
        });
        let (rows, error) = run.next().unwrap();
        assert_eq!(rows, [1]);
        assert_eq!(error.unwrap().place.record, Some(1));
        assert!(run.next().is_none());
        planner.join().unwrap();
        run.end();
    });
}

/// The planning thread ends with an error, which follows the batches.
#[test]
fn an_error_of_the_planning_thread_is_last() {
    check(2, || {
        let mut run = Iteration::start(&threads(2));
        run.push(ops(plans(1, &[block(&[1], false)])));
        let kind = crate::ErrorKind::BlockTooLarge { limit: 1 };
        run.flow.end(Some(crate::Error::new(kind)));
        assert_eq!(run.next().unwrap().0, [1]);
        assert!(run.next().unwrap().1.is_some());
        assert!(run.next().is_none());
        run.end();
    });
}
