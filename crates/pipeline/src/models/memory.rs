//! Memory: ops give back what they made, and threads wait for leases.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::*;
use crate::memory::{Lease, Memory};

/// Two batches do not fit together: an op gives back what it made, and runs again alone.
#[test]
fn an_op_runs_again() {
    static REPEATED: AtomicU64 = AtomicU64::new(0);
    check(2, || {
        let mut options = threads(2);
        options.memory_limit = LITTLE;
        let mut run = Iteration::start(&options);
        run.push(ops(plans(ROWS, &[block(&[1; 2 * ROWS as usize], false)])));
        run.flow.end(None);
        assert_eq!(run.rest(), [1; 2 * ROWS as usize]);
        REPEATED.fetch_add(run.flow.counters.snapshot().repeated_ops, Relaxed);
        assert_eq!(run.flow.memory.held(), 0);
        run.end();
    });
    assert!(REPEATED.load(Relaxed) > 0, "no op has run again");
}

/// A payload is prepared where there is no memory for it beside a batch.
#[test]
fn a_prepare_is_denied_and_granted() {
    check(1, || {
        let mut options = threads(2);
        options.memory_limit = LITTLE_EARLY;
        let mut run = Iteration::start(&options);
        run.push(ops(plans(ROWS, &[block(&[1; 2 * ROWS as usize], true)])));
        run.flow.end(None);
        assert_eq!(run.rest(), [1; 2 * ROWS as usize]);
        run.end();
    });
}

/// The planning thread waits for memory that a ready batch holds, until the consumer takes it.
#[test]
fn the_planning_thread_gets_the_memory_of_a_batch() {
    check(2, || {
        let mut options = threads(1);
        options.memory_limit = LITTLE;
        let mut run = Iteration::start(&options);
        let flow = run.flow.clone();
        let planner = loom::thread::spawn(move || {
            for op in ops(plans(ROWS, &[block(&[1; ROWS as usize], false)])) {
                flow.push(op).unwrap();
            }
            let lease = flow.lease_ahead(0, LITTLE).unwrap();
            assert_eq!(lease.bytes(), LITTLE);
            drop(lease);
            flow.end(None);
        });
        assert_eq!(run.rest(), [1; ROWS as usize]);
        planner.join().unwrap();
        run.end();
    });
}

/// Rows of a batch.
const ROWS: u64 = 512;
/// Bytes that are enough for one batch with its window, and not for two batches.
const LITTLE: u64 = 7_900;
/// Bytes that are enough for a batch and its prepared block, but not to prepare a block early.
const LITTLE_EARLY: u64 = 9_500;

/// Leases are never more than the limit, and all is given back.
#[test]
fn leases_hold_the_limit() {
    check(3, || {
        let memory = Arc::new(Memory::new(10, false));
        let take = |bytes| {
            let memory = memory.clone();
            loom::thread::spawn(move || {
                let lease = Lease::try_new(&memory, bytes);
                assert!(memory.held() <= 10);
                lease.is_some()
            })
        };
        let (one, other) = (take(6), take(7));
        let granted = [one.join().unwrap(), other.join().unwrap()];
        assert!(granted.contains(&true));
        assert_eq!(memory.held(), 0);
    });
}
