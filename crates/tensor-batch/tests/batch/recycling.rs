//! Batches reuse the memory of dropped batches, and memory is aligned.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use proptest::prelude::*;
use tensor_batch::half::f16;
use tensor_batch::{
    ALIGNMENT, Batch, BatchBuilder, BatchSpec, Column, ColumnMut, ColumnSpec, DType, KeepMemory,
    Layout, OwnedColumn, RowSlots, Scalar, Values, ValuesMut,
};

use crate::any::{any_rows, any_runs, any_spec};
use crate::model::{Row, batch, fill};

fn address<T>(slice: &[T]) -> usize {
    slice.as_ptr() as usize
}

/// The addresses of the values; for strings, of the offsets and the bytes.
fn value_addresses(values: &Values) -> Vec<usize> {
    match values.as_strings() {
        Some(strings) => vec![address(strings.offsets()), address(strings.data())],
        None => vec![address(values.bytes_from(0))],
    }
}

/// The addresses of all buffers of the batch.
fn addresses(batch: &Batch) -> Vec<usize> {
    let of_column = |column| match column {
        Column::Dense(dense) => value_addresses(dense.values),
        Column::Sparse(coo) => {
            let mut all = value_addresses(coo.values);
            all.push(address(coo.indices));
            all
        }
        Column::Ragged(ragged) => {
            let mut all = value_addresses(ragged.values);
            all.extend(
                ragged
                    .row_splits
                    .iter()
                    .map(|ends| address(ends.as_slice())),
            );
            all
        }
        Column::RaggedSparse(ragged) => {
            let mut all = value_addresses(ragged.values);
            all.extend([address(ragged.indices), address(ragged.row_splits)]);
            all
        }
        _ => panic!("a form that the tests do not know"),
    };
    batch
        .columns()
        .flat_map(|(_, column)| of_column(column))
        .collect()
}

proptest! {
    #[test]
    fn every_buffer_is_aligned(
        (spec, rows, runs) in any_spec()
            .prop_flat_map(|spec| (any_rows(&spec), Just(spec)))
            .prop_flat_map(|(rows, spec)| (Just(spec), any_runs(rows.len()), Just(rows)))
            .prop_map(|(spec, runs, rows)| (spec, rows, runs)),
    ) {
        let mut builder = BatchBuilder::new(spec);
        for runs in [&[rows.len()][..], &runs] {
            let made = batch(&mut builder, runs, &rows);
            for address in addresses(&made) {
                prop_assert_eq!(address % ALIGNMENT, 0);
            }
        }
    }
}

/// A column of every form, with three rows.
fn every_form() -> (BatchSpec, Vec<Vec<Row>>) {
    use crate::model::List::{Items, Leaf};
    let spec = BatchSpec::new(vec![
        ColumnSpec::dense("a", &[2], DType::Float64),
        ColumnSpec::dense("b", &[], DType::String),
        ColumnSpec::sparse("c", &[5], DType::Int64),
        ColumnSpec::sparse("d", &[5], DType::Bool).with_layout(Layout::Ragged),
        ColumnSpec::varlen("e", &[-1], DType::String),
        ColumnSpec::varlen("f", &[-1], DType::Int32).with_layout(Layout::Ragged),
        ColumnSpec::padded("g", &[-1], Scalar::Float16(f16::ONE)),
        ColumnSpec::padded("h", &[2], Scalar::String(b"-".to_vec())),
        ColumnSpec::flat("i", DType::Bool),
    ]);
    let row = |i: i32| {
        let string = Scalar::String(vec![b'x'; i as usize + 1]);
        vec![
            Row::Dense(vec![Scalar::Float64(i.into()); 2]),
            Row::Dense(vec![string.clone()]),
            Row::Sparse(vec![(vec![4], Scalar::Int64(i.into()))]),
            Row::Sparse(vec![(vec![3], Scalar::Bool(true))]),
            Row::Varlen(Items(vec![Leaf(string.clone())])),
            Row::Varlen(Items(vec![Leaf(Scalar::Int32(i)), Leaf(Scalar::Int32(-i))])),
            Row::Padded(Items(vec![Leaf(Scalar::Float16(f16::NAN)); i as usize])),
            Row::Padded(Items(vec![Leaf(string)])),
            Row::Flat(vec![Scalar::Bool(false)]),
        ]
    };
    (spec.expect("good"), (0..3).map(row).collect())
}

#[test]
fn a_dropped_batch_lends_its_memory_to_the_next() {
    let (spec, rows) = every_form();
    let mut builder = BatchBuilder::new(spec);
    // The first of several runs writes to the columns' memory.
    let mut made = || addresses(&batch(&mut builder, &[1, 2], &rows));
    let first = made();
    assert_eq!((made(), made()), (first.clone(), first));
}

#[test]
fn a_held_batch_keeps_its_memory() {
    let (spec, rows) = every_form();
    let mut builder = BatchBuilder::new(spec);
    let held = batch(&mut builder, &[1, 2], &rows);
    let next = batch(&mut builder, &[1, 2], &rows);
    let taken = addresses(&held);
    assert!(
        addresses(&next)
            .iter()
            .all(|address| !taken.contains(address))
    );
}

#[test]
fn a_batch_outlives_its_builder() {
    let (spec, rows) = every_form();
    let mut builder = BatchBuilder::new(spec);
    let made = batch(&mut builder, &[3], &rows);
    drop(builder);
    assert_eq!(made.dense::<f64>("a").expect("dense")[4..], [2.0; 2]);
}

#[test]
fn memory_is_counted() {
    let (spec, rows) = every_form();
    let mut builder = BatchBuilder::new(spec);
    assert_eq!(
        builder.capacity_bytes(),
        0,
        "nothing before the first batch"
    );
    let made = batch(&mut builder, &[2, 1], &rows);
    // At least the values of column a, the offsets of b and the indices of c.
    assert!(made.capacity_bytes() >= 6 * 8 + 4 * 8 + 6 * 8);
    // At least the values and indices of column c in the segments of the two runs.
    assert!(builder.capacity_bytes() >= 3 * 8 + 6 * 8);
}

#[test]
fn slots_know_how_much_memory_their_batch_has() {
    let (spec, rows) = every_form();
    let mut builder = BatchBuilder::new(spec);
    let fresh: Vec<_> = builder
        .slots(&[2, 1])
        .iter()
        .map(RowSlots::batch_bytes)
        .collect();
    let made = batch(&mut builder, &[2, 1], &rows);
    let bytes = made.capacity_bytes();
    drop(made);
    let known: Vec<_> = builder
        .slots(&[2, 1])
        .iter()
        .map(RowSlots::batch_bytes)
        .collect();
    assert_eq!(known, [bytes; 2]);
    assert!(fresh.iter().all(|&fresh| fresh < bytes));
}

/// Counts kept bytes, up to the second number.
#[derive(Default)]
struct Keeper(AtomicUsize, AtomicUsize);

impl KeepMemory for Keeper {
    fn keep(&self, bytes: usize) -> bool {
        let fits = self.0.load(Relaxed) + bytes <= self.1.load(Relaxed);
        if fits {
            self.0.fetch_add(bytes, Relaxed);
        }
        fits
    }

    fn release(&self, bytes: usize) {
        self.0.fetch_sub(bytes, Relaxed);
    }
}

#[test]
fn a_batch_takes_over_what_was_counted_of_its_memory() {
    let (spec, rows) = every_form();
    let mut builder = BatchBuilder::new(spec);
    let keeper = Arc::new(Keeper::default());
    builder.set_keeper(keeper.clone());
    let allow = |bytes| keeper.1.store(bytes, Relaxed);
    let counted = || keeper.0.load(Relaxed);
    let begin = |builder: &BatchBuilder| {
        let mut next = builder.another();
        let slots = next.slots(&[3]);
        (slots[0].counted_bytes(), slots[0].batch_bytes())
    };
    allow(usize::MAX);
    assert_eq!(begin(&builder).0, 0);
    let held = batch(&mut builder, &[3], &rows);
    let dropped = batch(&mut builder, &[3], &rows);
    keeper.0.store(0, Relaxed);
    drop(dropped);
    assert_eq!(counted(), held.capacity_bytes());
    // Memory of a dropped batch.
    let (taken, bytes) = begin(&builder);
    assert_eq!((taken, bytes), (counted(), held.capacity_bytes()));
    // Of dropped columns.
    keeper.0.store(0, Relaxed);
    held.into_columns().for_each(drop);
    let kept = counted();
    let (taken, bytes) = begin(&builder);
    assert_eq!((taken, bytes, kept), (counted(), kept, bytes));
    // New memory for the sizes of earlier batches, counted before it is made.
    keeper.0.store(0, Relaxed);
    let (taken, reserved) = begin(&builder);
    assert!(reserved <= taken, "{reserved} of {taken}");
    assert_eq!(taken, counted());
    // There is none: it grows by and by.
    allow(0);
    let (taken, fresh) = begin(&builder);
    assert!(taken == 0 && fresh < reserved, "{taken} of {fresh}");
}

#[test]
fn a_builder_leaves_its_memory_to_another() {
    let (spec, rows) = every_form();
    let keeper = Arc::new(Keeper::default());
    let counted = || keeper.0.load(Relaxed);
    let builder = |spec: &BatchSpec| {
        let mut builder = BatchBuilder::new(spec.clone());
        builder.set_keeper(keeper.clone());
        builder
    };
    // What a builder leaves that may leave `most` bytes.
    let leave = |most: usize| {
        keeper.1.store(usize::MAX, Relaxed);
        let mut first = builder(&spec);
        let dropped = batch(&mut first, &[3], &rows);
        let bytes = dropped.capacity_bytes();
        keeper.0.store(0, Relaxed);
        drop(dropped);
        assert_eq!(counted(), bytes);
        let spare = first.leave(most.min(bytes));
        assert_eq!(counted(), 0);
        (spare, bytes)
    };
    let begin = |mut next: BatchBuilder| {
        let slots = next.slots(&[3]);
        (slots[0].counted_bytes(), slots[0].batch_bytes())
    };
    let (spare, bytes) = leave(usize::MAX);
    let next = builder(&spec);
    next.take_over(spare);
    assert_eq!(counted(), bytes);
    assert_eq!(begin(next), (bytes, bytes));
    // Too much to be left, but for its sizes.
    let (spare, _) = leave(bytes - 1);
    let next = builder(&spec);
    next.take_over(spare);
    assert_eq!(counted(), 0);
    let (taken, reserved) = begin(next);
    assert!(0 < reserved && reserved <= taken, "{reserved} of {taken}");
    // The keeper refuses it.
    let (spare, _) = leave(usize::MAX);
    keeper.1.store(0, Relaxed);
    let next = builder(&spec);
    next.take_over(spare);
    let (taken, fresh) = begin(next);
    assert!(taken == 0 && fresh < reserved, "{taken} of {fresh}");
    // Other columns.
    let (spare, _) = leave(usize::MAX);
    let other = BatchSpec::new(vec![ColumnSpec::dense("a", &[], DType::Int32)]).expect("good");
    let next = builder(&other);
    next.take_over(spare);
    assert_eq!((counted(), begin(next).0), (0, 0));
}

#[test]
fn slots_tell_what_has_grown() {
    let spec = BatchSpec::new(vec![ColumnSpec::dense("a", &[], DType::String)]).expect("good");
    let mut builder = BatchBuilder::new(spec);
    let text = |n: usize| vec![vec![Row::Dense(vec![Scalar::String(vec![b'x'; n])])]];
    let grown = |builder: &mut BatchBuilder, n: usize| {
        let spec = builder.spec().clone();
        let mut slots = builder.slots(&[1]);
        fill(&mut slots[0], &spec, &text(n));
        (slots[0].grown_bytes(), slots[0].segment_bytes())
    };
    drop(batch(&mut builder, &[1], &text(1_000)));
    assert_eq!(grown(&mut builder, 900), (0, 916));
    assert_eq!(grown(&mut builder, 5_000), (5_016, 5_016));
}

#[test]
fn elements_of_dense_columns_have_bytes() {
    let dense = |dtype: DType| ColumnSpec::dense(dtype.name(), &[2], dtype);
    let spec = BatchSpec::new(DType::ALL.iter().copied().map(dense).collect()).expect("good");
    let dtypes: Vec<_> = spec.columns().iter().map(|column| column.dtype).collect();
    let mut builder = BatchBuilder::new(spec);
    let mut slots = builder.slots(&[3]);
    for (slot, dtype) in slots[0].columns().iter_mut().zip(dtypes) {
        let size = dtype.size().unwrap_or(0);
        assert_eq!(slot.bytes_of(1..6).len(), 5 * size, "{dtype}");
        if let Some(rows) = slot.dense::<i32>() {
            rows.copy_from_slice(&[1, 2, 3, 4, 5, 6]);
            assert_eq!(
                slot.bytes_of(1..3),
                [2_i32, 3].map(i32::to_ne_bytes).as_flattened()
            );
        }
    }
}

#[test]
fn a_column_on_its_own_keeps_no_other_memory() {
    let (spec, rows) = every_form();
    let mut builder = BatchBuilder::new(spec);
    let first = batch(&mut builder, &[1, 2], &rows);
    let (before, json) = (
        addresses(&first),
        format!("{:?}", first.columns().collect::<Vec<_>>()),
    );
    let columns: Vec<_> = first.into_columns().collect();
    let viewed: Vec<_> = columns
        .iter()
        .map(|column| (column.spec(), column.view()))
        .collect();
    assert_eq!(format!("{viewed:?}"), json);
    let positions = columns.iter().map(OwnedColumn::position);
    assert!(positions.eq(0..columns.len()));

    // Only column `a` is kept. Its values are the first address.
    let mut columns = columns.into_iter();
    let held = columns.next();
    drop(columns);
    // The second batch's columns are the first batch's segments, so the third batch reuses the
    // dropped memory.
    drop(batch(&mut builder, &[1, 2], &rows));
    let third = batch(&mut builder, &[1, 2], &rows);
    let now = addresses(&third);
    assert_ne!(now[0], before[0]);
    assert_eq!(now[1..], before[1..]);
    drop(held);
}

#[test]
fn changes_in_place_are_seen() {
    let (spec, rows) = every_form();
    let mut builder = BatchBuilder::new(spec);
    let mut columns: Vec<_> = batch(&mut builder, &[3], &rows).into_columns().collect();
    for column in &mut columns {
        let name = column.spec().name.clone();
        match (column.view_mut(), name.as_str()) {
            (ColumnMut::Dense { values, shape }, "a") => {
                assert_eq!(shape, [3, 2]);
                let ValuesMut::Fixed { dtype, len, bytes } = values else {
                    panic!("floats are of fixed width");
                };
                assert_eq!((dtype, len), (DType::Float64, 6));
                bytes[..8].copy_from_slice(&7.5f64.to_ne_bytes());
            }
            (ColumnMut::Dense { values, .. }, "b" | "h") => {
                assert!(matches!(values, ValuesMut::Strings(_)));
            }
            (ColumnMut::Sparse { indices, .. }, "c" | "e") => indices[1] = 1,
            (ColumnMut::RaggedSparse { indices, .. }, "d") => indices[0] = 2,
            (ColumnMut::Ragged { row_splits, .. }, "f") => row_splits[0].as_mut_slice()[3] = 5,
            (ColumnMut::Dense { .. }, "g" | "i") => {}
            (other, name) => panic!("column {name} is {other:?}"),
        }
    }
    let Column::Dense(a) = columns[0].view() else {
        panic!("dense")
    };
    assert_eq!(a.values.as_slice::<f64>().map(|a| a[0]), Some(7.5));
    let Column::Sparse(c) = columns[2].view() else {
        panic!("sparse")
    };
    assert_eq!(c.indices, [0, 1, 1, 4, 2, 4]);
    let Column::RaggedSparse(d) = columns[3].view() else {
        panic!("sparse")
    };
    assert_eq!(d.indices, [2, 3, 3]);
    let Column::Ragged(f) = columns[5].view() else {
        panic!("ragged")
    };
    assert_eq!(f.row_splits[0].as_slice(), [0, 2, 4, 5]);

    // Values written to the old memory do not appear in later batches.
    let fresh = format!(
        "{:?}",
        batch(&mut builder, &[3], &rows)
            .columns()
            .collect::<Vec<_>>()
    );
    drop(columns);
    for _ in 0..3 {
        let next = batch(&mut builder, &[3], &rows);
        assert_eq!(format!("{:?}", next.columns().collect::<Vec<_>>()), fresh);
    }
}
