//! Slots and tasks that own their builder: any threads may end or drop them, in any order.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::thread;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use tensor_batch::{
    BatchBuilder, BatchSpec, ColumnSpec, DType, OwnedGatherTasks, OwnedRowSlots, Scalar, UNKNOWN,
};

use crate::any::{any_rows, any_runs, any_spec};
use crate::model::{List, Row, batch, fill};
use crate::runs::assert_is;

/// What a thread does with its slots or tasks.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Deed {
    End,
    Drop,
    Panic,
}

#[derive(Clone, Debug)]
struct Case {
    spec: BatchSpec,
    rows: Vec<Vec<Row>>,
    runs: Vec<usize>,
    /// For each run, and for each part of the gather.
    deeds: Vec<Deed>,
    gather_bytes: usize,
}

fn any_case(deeds: &'static [Deed]) -> impl Strategy<Value = Case> {
    any_spec()
        .prop_flat_map(|spec| (any_rows(&spec), Just(spec)))
        .prop_flat_map(|(rows, spec)| (Just(spec), any_runs(rows.len()), Just(rows)))
        .prop_flat_map(move |(spec, runs, rows)| {
            let deeds = vec(select(deeds), 20);
            (Just((spec, rows, runs)), deeds, 0..300_usize)
        })
        .prop_map(|((spec, rows, runs), deeds, gather_bytes)| Case {
            spec,
            rows,
            runs,
            deeds,
            gather_bytes,
        })
}

impl Case {
    /// Has a thread for each run fill and end its slots, or do what the case says. Returns the builders
    /// that came back.
    fn fill(&self, slots: Vec<OwnedRowSlots>) -> Vec<BatchBuilder> {
        let mut first = 0;
        let runs = slots.into_iter().zip(&self.runs).zip(&self.deeds);
        let run = runs.map(|((mut slots, &len), &deed)| {
            let rows = self.rows[first..first + len].to_vec();
            first += len;
            let spec = self.spec.clone();
            move || {
                // What is not ended is left half way.
                let written = if deed == Deed::End { len } else { len / 2 };
                slots.with(|slots| {
                    assert_eq!(slots.remaining(), len);
                    fill(slots, &spec, &rows[..written]);
                    if deed == Deed::Panic {
                        resume_unwind(Box::new("a worker panics"));
                    }
                });
                (deed == Deed::End).then(|| slots.end()).flatten()
            }
        });
        in_threads(run)
    }

    /// As [`fill`](Self::fill), for the tasks.
    fn gather(&self, tasks: Vec<OwnedGatherTasks>) -> Vec<BatchBuilder> {
        let run = tasks.into_iter().zip(self.deeds.iter().cycle());
        let run = run.map(|(tasks, &deed)| {
            move || match deed {
                Deed::End => tasks.run(),
                Deed::Drop => None,
                Deed::Panic => {
                    let _tasks = tasks;
                    resume_unwind(Box::new("a worker panics"))
                }
            }
        });
        in_threads(run)
    }
}

fn in_threads<T: Send + 'static>(
    run: impl Iterator<Item = impl FnOnce() -> Option<T> + Send + 'static>,
) -> Vec<T> {
    let threads: Vec<_> = run.map(thread::spawn).collect();
    let ended = threads.into_iter().map(|thread| thread.join());
    // A panic returns nothing.
    ended.filter_map(Result::ok).flatten().collect()
}

proptest! {
    #[test]
    fn the_last_to_end_gets_the_builder(case in any_case(&[Deed::End])) {
        let mut builder = BatchBuilder::new(case.spec.clone());
        for _ in 0..2 {
            let mut filled = case.fill(builder.into_slots(&case.runs));
            prop_assert_eq!(filled.len(), 1);
            let filled = filled.remove(0);
            let mut gathered = case.gather(filled.into_gather(case.gather_bytes));
            prop_assert_eq!(gathered.len(), 1);
            builder = gathered.remove(0);
            assert_is(&builder.finish(), &case.spec, &case.rows);
        }
    }

    /// A cancelled batch: whatever was written, the builder is freed or makes the next batch well.
    #[test]
    fn parts_are_dropped_at_any_time(
        case in any_case(&[Deed::End, Deed::End, Deed::Drop, Deed::Panic]),
    ) {
        let first = BatchBuilder::new(case.spec.clone());
        for builder in case.fill(first.into_slots(&case.runs)) {
            // Some runs may be written in part: the batch is begun again.
            let whole = Case { deeds: vec![Deed::End; 20], ..case.clone() };
            for builder in whole.fill(builder.into_slots(&case.runs)) {
                for mut builder in case.gather(builder.into_gather(case.gather_bytes)) {
                    let made = batch(&mut builder, &case.runs, &case.rows);
                    assert_is(&made, &case.spec, &case.rows);
                }
            }
        }
    }
}

#[test]
fn slots_without_runs_drop_the_builder() {
    let spec = BatchSpec::new(vec![ColumnSpec::dense("a", &[], DType::Int64)]).expect("good");
    assert!(BatchBuilder::new(spec).into_slots(&[]).is_empty());
}

#[test]
fn a_batch_without_tasks_has_an_owner_of_none() {
    let spec = BatchSpec::new(vec![ColumnSpec::dense("a", &[], DType::Int64)]).expect("good");
    for runs in [&[0][..], &[0, 0], &[1], &[0, 1, 0]] {
        let rows = vec![vec![Row::Dense(vec![Scalar::Int64(7)])]; runs.iter().sum()];
        let mut slots = BatchBuilder::new(spec.clone()).into_slots(runs);
        for (slots, &len) in slots.iter_mut().zip(runs) {
            slots.with(|slots| fill(slots, &spec, &rows[..len]));
        }
        let builder = slots.into_iter().filter_map(OwnedRowSlots::end).next();
        let mut tasks = builder.expect("all have ended").into_gather(1);
        assert_eq!(tasks.len(), 1);
        let mut builder = tasks.remove(0).run().expect("the only tasks");
        assert_is(&builder.finish(), &spec, &rows);
    }
}

/// Tasks for columns that no memory can hold are not made: the builder is freed.
#[test]
fn a_gather_that_panics_drops_the_builder() {
    let shape = [UNKNOWN; 3];
    let spec = ColumnSpec::padded("a", &shape, Scalar::Int64(0));
    let spec = BatchSpec::new(vec![spec]).expect("good");
    // Two rows with a long list each, on other levels.
    let leaf = || List::Leaf(Scalar::Int64(1));
    let long = |n: usize| List::Items((0..n).map(|_| List::Items(vec![])).collect());
    let inner = List::Items(vec![List::Items((0..1 << 20).map(|_| leaf()).collect())]);
    let rows = [
        List::Items((0..1 << 20).map(|_| List::Items(vec![])).collect()),
        List::Items(vec![long(1 << 20)]),
        List::Items(vec![inner]),
    ];
    let rows: Vec<_> = rows
        .into_iter()
        .map(|list| vec![Row::Padded(list)])
        .collect();
    let mut slots = BatchBuilder::new(spec.clone()).into_slots(&[3]);
    let mut slots = slots.remove(0);
    slots.with(|slots| fill(slots, &spec, &rows));
    let builder = slots.end().expect("the only slots");
    assert_eq!(builder.padded_bytes(), u64::MAX);
    let gather = AssertUnwindSafe(|| builder.into_gather(1));
    assert!(catch_unwind(gather).is_err());
}
