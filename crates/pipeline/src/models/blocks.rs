//! Blocks: workers prepare them once, and publish positions.

use std::sync::atomic::Ordering::Relaxed;

use super::*;
use crate::flow::Denied;
use crate::ops::EarlyBlock;

/// Two batches read a block. One worker prepares it, and the other waits.
#[test]
fn a_worker_waits_for_a_prepare() {
    check(1, || {
        let mut run = Iteration::start(&threads(2));
        run.push(ops(plans(1, &[block(&[1, 2], true)])));
        run.flow.end(None);
        assert_eq!(run.rest(), [1, 2]);
        run.end();
    });
}

/// A block is prepared by an op of its own, beside the batches that read it.
#[test]
fn an_early_prepare_and_its_batches() {
    check(1, || {
        let mut run = Iteration::start(&threads(2));
        let block = block(&[1, 2], true);
        let early = Op::Prepare(vec![EarlyBlock {
            block: block.clone(),
            interval: Some(1),
        }]);
        run.flow.push(early).unwrap();
        let plans = plans(1, &[block]);
        let op = make(0, plans);
        run.flow.push(op).unwrap();
        run.flow.end(None);
        assert_eq!(run.rest(), [1, 2]);
        run.end();
    });
}

/// The worker that has claimed a payload gives it up: the one that waits claims it.
#[test]
fn a_prepare_is_given_up() {
    check(3, || {
        let run = Iteration::new(&threads(2));
        let block = block(&[1], true);
        assert!(block.payload.claim());
        let (flow, waits) = (run.flow.clone(), block.clone());
        let other = loom::thread::spawn(move || {
            flow.wait_for_prepare(&waits.payload).unwrap();
            assert!(waits.payload.claim());
        });
        block.payload.give_up();
        run.flow.notify_prepared();
        other.join().unwrap();
    });
}

/// Who sees that a payload is prepared sees what it is.
#[test]
fn a_payload_is_prepared() {
    check(3, || {
        let run = Iteration::new(&threads(2));
        let block = block(&[1, 2, 3], true);
        let (flow, waits) = (run.flow.clone(), block.clone());
        let other = loom::thread::spawn(move || {
            while waits.payload.prepared().is_none() {
                if waits.payload.claim() {
                    return false;
                }
                flow.wait_for_prepare(&waits.payload).unwrap();
            }
            let prepared = waits.payload.prepared().unwrap().unwrap();
            assert_eq!(prepared.value::<Vec<u8>>().unwrap(), &[1, 2, 3]);
            assert_eq!(waits.payload.size().bytes.load(Relaxed), 3);
            true
        });
        if block.payload.claim() {
            let bytes = block.payload.parts().concat();
            let prepared = Prepared::of_value(bytes, 3, 3);
            block.payload.set(Ok((prepared, None)));
            run.flow.notify_prepared();
            assert!(other.join().unwrap());
        } else {
            assert!(!other.join().unwrap());
        }
    });
}

/// Two workers publish positions, and a third looks for one: it gets one of theirs, or the start.
#[test]
fn positions_are_published_side_by_side() {
    check(3, || {
        let block = block(&[0; 10], false);
        let publish = |record| {
            let block = block.clone();
            loom::thread::spawn(move || block.publish(at(record), true))
        };
        let (one, other) = (publish(3), publish(6));
        let found = block.nearest(7);
        assert!([0, 3, 6].map(at).contains(&found), "{found:?}");
        one.join().unwrap();
        other.join().unwrap();
        assert_eq!(block.nearest(7), at(6));
        assert_eq!(block.nearest(5), at(3));
        assert_eq!(block.nearest(2), at(0));
    });
}

/// Stopping wakes a worker that waits for a prepare which never ends.
#[test]
fn stopping_ends_the_wait_for_a_prepare() {
    check(3, || {
        let run = Iteration::new(&threads(2));
        let block = block(&[1], true);
        assert!(block.payload.claim());
        let flow = run.flow.clone();
        let other = loom::thread::spawn(move || flow.wait_for_prepare(&block.payload));
        run.flow.stop();
        assert_eq!(other.join().unwrap(), Err(Denied::Cancelled));
    });
}
