//! One run, many runs and many threads give the same batch.

use proptest::prelude::*;
use tensor_batch::{
    Batch, BatchBuilder, BatchSpec, Column, ColumnSpec, DType, Layout, Scalar, UNKNOWN,
};

use crate::any::{any_rows, any_runs, any_spec};
use crate::model::{List, Row, Tensor, batch, column_rows, fill};

pub(crate) fn assert_is(batch: &Batch, spec: &BatchSpec, rows: &[Vec<Row>]) {
    assert_eq!(batch.rows(), rows.len());
    assert_eq!(batch.spec(), spec);
    assert_eq!(batch.columns().len(), spec.columns().len());
    for (i, (column_spec, column)) in batch.columns().enumerate() {
        assert_eq!(column_spec, &spec.columns()[i]);
        let expected = Tensor::expected(column_spec, &column_rows(rows, i));
        assert_eq!(Tensor::of(column), expected, "column {column_spec:?}");
    }
}

type Case = (BatchSpec, Vec<Vec<Row>>, Vec<usize>);

fn any_case() -> impl Strategy<Value = Case> {
    any_spec()
        .prop_flat_map(|spec| (any_rows(&spec), Just(spec)))
        .prop_flat_map(|(rows, spec)| (Just(spec), any_runs(rows.len()), Just(rows)))
        .prop_map(|(spec, runs, rows)| (spec, rows, runs))
}

proptest! {
    #[test]
    fn any_split_into_runs_is_what_the_rows_say((spec, rows, runs) in any_case()) {
        let mut builder = BatchBuilder::new(spec.clone());
        assert_is(&batch(&mut builder, &[rows.len()], &rows), &spec, &rows);
        assert_is(&batch(&mut builder, &runs, &rows), &spec, &rows);
    }

    #[test]
    fn runs_are_written_in_any_order((spec, rows, runs) in any_case()) {
        let mut builder = BatchBuilder::new(spec.clone());
        for backwards in [false, true] {
            let mut slots = builder.slots(&runs);
            let mut order: Vec<usize> = (0..runs.len()).collect();
            if backwards {
                order.reverse();
            }
            for i in order {
                let first = runs[..i].iter().sum::<usize>();
                fill(&mut slots[i], &spec, &rows[first..first + runs[i]]);
            }
            drop(slots);
            builder.gather().into_iter().for_each(|task| task.run());
            assert_is(&builder.finish(), &spec, &rows);
        }
    }

    #[test]
    fn nothing_of_an_earlier_batch_shows(
        (spec, batches) in any_spec().prop_flat_map(|spec| {
            let of_batch = any_rows(&spec)
                .prop_flat_map(|rows| (any_runs(rows.len()), Just(rows)));
            (Just(spec), prop::collection::vec((of_batch, any::<bool>()), 1..6))
        }),
    ) {
        let mut builder = BatchBuilder::new(spec.clone());
        let mut held = Vec::new();
        for ((runs, rows), hold) in batches {
            let made = batch(&mut builder, &runs, &rows);
            assert_is(&made, &spec, &rows);
            if hold {
                held.push((made, rows));
            }
        }
        for (made, rows) in held {
            assert_is(&made, &spec, &rows);
        }
    }

    #[test]
    fn threads_fill_and_gather_at_the_same_time((spec, rows, runs) in any_case()) {
        let mut builder = BatchBuilder::new(spec.clone());
        std::thread::scope(|scope| {
            let mut rest = &rows[..];
            for mut slots in builder.slots(&runs) {
                let (now, later) = rest.split_at(slots.remaining());
                let spec = &spec;
                scope.spawn(move || fill(&mut slots, spec, now));
                rest = later;
            }
        });
        std::thread::scope(|scope| {
            for task in builder.gather() {
                scope.spawn(move || task.run());
            }
        });
        assert_is(&builder.finish(), &spec, &rows);
    }
}

#[test]
fn slots_know_their_rows() {
    let spec = BatchSpec::new(vec![ColumnSpec::dense("a", &[2], DType::Int64)]).expect("good");
    let mut builder = BatchBuilder::new(spec);
    let mut slots = builder.slots(&[2, 0, 3]);
    assert_eq!(slots.len(), 3);
    assert_eq!([0, 1, 2].map(|i| slots[i].first_row()), [0, 2, 2]);
    assert_eq!([0, 1, 2].map(|i| slots[i].remaining()), [2, 0, 3]);
    let last = &mut slots[2];
    assert_eq!((last.row(), last.batch_row()), (0, 2));
    last.advance();
    assert_eq!((last.row(), last.batch_row(), last.remaining()), (1, 3, 2));
    let memory = last.columns()[0].dense::<i64>().expect("int64");
    assert_eq!(memory.len(), 6);
}

#[test]
fn a_batch_of_no_runs_is_empty() {
    let varlen = |layout| ColumnSpec::varlen("v", &[UNKNOWN, 2], DType::String).with_layout(layout);
    for layout in [Layout::Coo, Layout::Ragged] {
        let spec = BatchSpec::new(vec![varlen(layout)]).expect("good");
        let mut builder = BatchBuilder::new(spec.clone());
        let item = List::Items(vec![List::Leaf(Scalar::String(b"x".to_vec())); 2]);
        let rows = vec![vec![Row::Varlen(List::Items(vec![item]))]];
        drop(batch(&mut builder, &[1], &rows));
        // The second time, the memory is that of a batch with a row.
        drop(batch(&mut builder, &[], &[]));
        assert_is(&batch(&mut builder, &[], &[]), &spec, &[]);
    }
}

#[test]
fn empty_lists_do_not_count_towards_unknown_dimensions() {
    let spec = ColumnSpec::varlen("v", &[UNKNOWN, UNKNOWN], DType::Int32);
    let spec = BatchSpec::new(vec![spec]).expect("good");
    let mut builder = BatchBuilder::new(spec);
    let row = |lens: &[usize]| {
        let lists = lens
            .iter()
            .map(|&len| List::Items(vec![List::Leaf(Scalar::Int32(7)); len]));
        vec![Row::Varlen(List::Items(lists.collect()))]
    };
    let made = batch(&mut builder, &[1, 1], &[row(&[1, 0]), row(&[0, 0, 0])]);
    let Some(Column::Sparse(coo)) = made.column("v") else {
        panic!("not COO")
    };
    assert_eq!(coo.dense_shape, [2, 1, 1]);
    assert_eq!(coo.indices, [0, 0, 0]);
}
