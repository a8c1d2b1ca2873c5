//! Examples of padded columns: their shapes, memory and tasks.

use tensor_batch::{Batch, BatchBuilder, BatchSpec, Column, ColumnSpec, DType, Scalar, UNKNOWN};

use crate::model::List::{Items, Leaf};
use crate::model::{List, Row, batch};

fn builder(column: ColumnSpec) -> BatchBuilder {
    BatchBuilder::new(BatchSpec::new(vec![column]).expect("a good column"))
}

fn ints(values: &[i32]) -> List {
    Items(
        values
            .iter()
            .map(|&value| Leaf(Scalar::Int32(value)))
            .collect(),
    )
}

fn rows(lists: Vec<List>) -> Vec<Vec<Row>> {
    lists
        .into_iter()
        .map(|list| vec![Row::Padded(list)])
        .collect()
}

/// The shape of the only column.
fn shape(batch: &Batch) -> Vec<i64> {
    let Some((_, Column::Dense(dense))) = batch.columns().next() else {
        panic!("padded columns are dense")
    };
    dense.shape.to_vec()
}

#[test]
fn an_unknown_dimension_is_the_longest_of_the_batch() {
    let mut builder = builder(ColumnSpec::padded("x", &[UNKNOWN], Scalar::Int32(0)));
    let long = rows(vec![ints(&[0, 1, 2]), ints(&[3]), ints(&[6, 7])]);
    let made = batch(&mut builder, &[1, 2], &long);
    assert_eq!(shape(&made), [3, 3]);
    assert_eq!(made.dense("x"), Ok(&[0, 1, 2, 3, 0, 0, 6, 7, 0][..]));
    assert_eq!(made.used_bytes(), 9 * 4, "the values and nothing else");
    // The dimension depends on this batch, not on an earlier one.
    let made = batch(&mut builder, &[1, 1], &rows(vec![ints(&[]), ints(&[5])]));
    assert_eq!(shape(&made), [2, 1]);
    assert_eq!(made.dense("x"), Ok(&[0, 5][..]));
}

#[test]
fn a_known_dimension_is_filled_up_too() {
    let mut builder = builder(ColumnSpec::padded("x", &[UNKNOWN, 2], Scalar::Int32(-1)));
    let lists = vec![Items(vec![ints(&[1]), ints(&[2, 3])]), Items(vec![])];
    let made = batch(&mut builder, &[2], &rows(lists));
    assert_eq!(shape(&made), [2, 2, 2]);
    assert_eq!(made.dense("x"), Ok(&[1, -1, 2, 3, -1, -1, -1, -1][..]));
}

#[test]
fn without_a_list_there_are_no_elements() {
    let mut builder = builder(ColumnSpec::padded("x", &[2, UNKNOWN], Scalar::Int32(9)));
    for lists in [vec![Items(vec![]); 2], vec![Items(vec![ints(&[])]); 2]] {
        for runs in [&[2][..], &[1, 1]] {
            let made = batch(&mut builder, runs, &rows(lists.clone()));
            assert_eq!(shape(&made), [2, 2, 0]);
            assert_eq!(made.dense::<i32>("x"), Ok(&[][..]));
        }
    }
    let made = batch(&mut builder, &[], &[]);
    assert_eq!(shape(&made), [0, 2, 0]);
}

#[test]
fn strings_are_filled_up_with_any_string() {
    let string = |text: &str| Scalar::String(text.into());
    let mut builder = builder(ColumnSpec::padded("x", &[UNKNOWN], string("none")));
    let list = |texts: &[&str]| Items(texts.iter().map(|text| Leaf(string(text))).collect());
    let lists = vec![list(&["a"]), list(&["bc", ""]), list(&[])];
    let made = batch(&mut builder, &[1, 1, 1], &rows(lists));
    assert_eq!(shape(&made), [3, 2]);
    let strings = made.strings("x").expect("strings");
    assert_eq!(
        strings.iter().collect::<Vec<_>>(),
        [&b"a"[..], b"none", b"bc", b"", b"none", b"none"]
    );
    assert_eq!(strings.data(), b"anonebcnonenone");
}

#[test]
fn tasks_are_for_what_is_not_in_its_place() {
    let spec = |padded| {
        let column = if padded {
            ColumnSpec::padded("x", &[UNKNOWN], Scalar::Bool(true))
        } else {
            ColumnSpec::flat("x", DType::Bool)
        };
        BatchSpec::new(vec![column]).expect("good")
    };
    for (padded, runs, expected) in [
        (true, &[3][..], 1),
        (false, &[3], 0),
        (true, &[1, 2], 2),
        (false, &[1, 2], 1),
        (true, &[0, 2], 1),
        (false, &[0, 2], 0),
    ] {
        let mut builder = BatchBuilder::new(spec(padded));
        for mut slots in builder.slots(runs) {
            while slots.remaining() > 0 {
                let segment = slots.columns()[0].segment().expect("it is gathered");
                segment.values.push(&Scalar::Bool(false));
                let end = segment.values.len() as i64;
                segment.splits.iter_mut().for_each(|ends| ends.push(end));
                segment.extents.fill(1);
                slots.advance();
            }
        }
        assert_eq!(builder.gather().len(), expected, "{padded} {runs:?}");
    }
}

/// A builder of two rows. One row claims a list of `length` lists of `length` items.
fn claimed(fill: Scalar, length: i64) -> BatchBuilder {
    let mut builder = builder(ColumnSpec::padded("x", &[UNKNOWN, UNKNOWN], fill));
    let mut slots = builder.slots(&[1, 1]);
    let segment = slots[1].columns()[0].segment().expect("padded is gathered");
    segment.extents.fill(length);
    drop(slots);
    builder
}

#[test]
fn what_padding_takes_is_known_before_it_is_taken() {
    let string = |bytes| Scalar::String(vec![b'-'; bytes]);
    assert_eq!(claimed(Scalar::Int64(0), 1 << 20).padded_bytes(), 1 << 44);
    assert_eq!(claimed(Scalar::Bool(true), 1 << 20).padded_bytes(), 1 << 41);
    let (offsets, data) = (((1 << 41) + 1) * 8, (1 << 41) * 3);
    assert_eq!(claimed(string(3), 1 << 20).padded_bytes(), offsets + data);
    for fill in [
        Scalar::Float64(0.0),
        Scalar::Bool(true),
        string(0),
        string(9),
    ] {
        assert_eq!(claimed(fill, i64::MAX).padded_bytes(), u64::MAX);
    }
    assert_eq!(claimed(string(9), 0).padded_bytes(), 8, "the first offset");
}

#[test]
fn rows_that_were_not_written_are_filled_up() {
    let mut builder = claimed(Scalar::Int32(7), 2);
    builder.gather().into_iter().for_each(|task| task.run());
    let made = builder.finish();
    assert_eq!(shape(&made), [2, 2, 2]);
    assert_eq!(made.dense("x"), Ok(&[7; 8][..]));
}

#[test]
#[should_panic(expected = "a padded column is too large to address")]
fn what_cannot_be_addressed_is_not_gathered() {
    claimed(Scalar::Int64(0), 1 << 30).gather();
}
