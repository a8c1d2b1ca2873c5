//! The queue: workers take ops, the consumer takes batches.

use std::sync::Arc;

use super::*;

/// Two workers make the batches of two ops, and the consumer takes them in order.
#[test]
fn workers_take_ops_to_the_end() {
    check(2, || {
        let mut run = Iteration::start(&threads(2));
        run.push(ops(plans(1, &[block(&[1, 2], false)])));
        run.flow.end(None);
        assert_eq!(run.rest(), [1, 2]);
        run.end();
    });
}

/// The consumer comes before the ops: a thread of its own plans them.
#[test]
fn the_consumer_waits_for_ops() {
    check(2, || {
        let mut run = Iteration::start(&threads(1));
        let flow = run.flow.clone();
        let planner = loom::thread::spawn(move || {
            for op in ops(plans(1, &[block(&[1, 2, 3], false)])) {
                flow.push(op).unwrap();
            }
            flow.end(None);
        });
        assert_eq!(run.rest(), [1, 2, 3]);
        planner.join().unwrap();
        run.end();
    });
}

/// More batches than may be ready: workers wait for the consumer.
#[test]
fn ready_batches_are_limited() {
    check(2, || {
        let mut options = threads(2);
        options.prefetch = 1;
        let mut run = Iteration::start(&options);
        run.push(ops(plans(1, &[block(&[1, 2], false)])));
        let (first, _) = run.next().unwrap();
        run.push(vec![make(2, plans(1, &[block(&[3], false)]))]);
        run.flow.end(None);
        assert_eq!(first, [1]);
        assert_eq!(run.rest(), [2, 3]);
        run.end();
    });
}

/// A read comes before ops, and its answer to the thread that waits for it.
#[test]
fn a_worker_reads() {
    use atds_format::{Access, ByteSource, Completion, ReadBuffer};

    use crate::ops::FileRead;
    use crate::sync::{Condvar, Mutex};

    #[derive(Debug)]
    struct Source(Location);

    impl ByteSource for Source {
        fn location(&self) -> &Location {
            &self.0
        }

        fn size(&self) -> std::io::Result<Option<u64>> {
            Ok(Some(1))
        }

        fn access(&self) -> Access {
            Access::Blocking
        }

        fn read(&self, _: std::ops::Range<u64>, _: ReadBuffer, done: Completion) {
            done.complete(Ok(Bytes::from_static(&[7])));
        }
    }

    check(2, || {
        let mut run = Iteration::start(&threads(2));
        let answer = Arc::new((Mutex::new(None), Condvar::new()));
        let answered = answer.clone();
        run.flow.queue_read(FileRead {
            source: Arc::new(Source(Location::Url("memory:///a".into()))),
            range: 0..1,
            buffer: ReadBuffer::new(bytes::BytesMut::new(), None),
            done: Completion::new(move |bytes| {
                *answered.0.lock().unwrap() = bytes.ok();
                answered.1.notify_one();
            }),
        });
        let mut bytes = answer.0.lock().unwrap();
        while bytes.is_none() {
            bytes = answer.1.wait(bytes).unwrap();
        }
        run.push(ops(plans(1, &[block(bytes.as_ref().unwrap(), false)])));
        drop(bytes);
        run.flow.end(None);
        assert_eq!(run.rest(), [7]);
        run.end();
    });
}

/// Two workers write to one batch, and the last of them finishes it.
#[test]
fn workers_make_pieces_of_a_batch() {
    check(2, || make_pieces(&threads(2)));
}

/// Its lists are laid end to end by two joins, which either worker does.
#[test]
fn workers_join_pieces_of_a_batch() {
    let mut options = threads(2);
    options.piece_rows = Some(1);
    check(2, move || make_pieces(&options));
}

fn make_pieces(options: &Options) {
    let mut run = Iteration::start(options);
    let plan = plans(2, &[block(&[1], false), block(&[2], false)]);
    let pieces = plan.into_iter().flat_map(cut).collect();
    let batch = Arc::new(PieceBatch::new(0, pieces));
    for number in 0..2 {
        let batch = batch.clone();
        let op = Op::Make(vec![Piece { batch, number }]);
        run.flow.push(op).unwrap();
    }
    drop(batch);
    run.flow.end(None);
    assert_eq!(run.rest(), [1, 2]);
    run.end();
}

/// A piece for each read.
fn cut(plan: BatchPlan) -> Vec<BatchPlan> {
    let piece = |read: crate::planner::BlockRead| BatchPlan {
        rows: read.records,
        reads: vec![read],
        window: Default::default(),
    };
    plan.reads.into_iter().map(piece).collect()
}
