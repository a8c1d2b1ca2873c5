//! Columns without padding: which rows agree, compared with a naive check.

use proptest::prelude::*;
use tensor_batch::{BatchBuilder, BatchSpec, ColumnKind, ColumnSpec, RowShape, Scalar, UNKNOWN};

use crate::any::any_runs;
use crate::model::List::{Items, Leaf};
use crate::model::{List, Row, fill};

fn column(shape: &[i64]) -> ColumnSpec {
    let mut column = ColumnSpec::padded("x", shape, Scalar::Int32(0));
    if let ColumnKind::Padded { exact, .. } = &mut column.kind {
        *exact = true;
    }
    column
}

/// The row that differs, its shape, and the shape of the first row.
type Found = (usize, RowShape, Option<RowShape>);

fn disagreement(shape: &[i64], runs: &[usize], lists: &[List]) -> Option<Found> {
    let spec = BatchSpec::new(vec![column(shape)]).expect("a good column");
    let mut builder = BatchBuilder::new(spec.clone());
    let mut rest = lists;
    for mut slots in builder.slots(runs) {
        let (now, later) = rest.split_at(slots.remaining());
        let rows = now.iter().map(|list| vec![Row::Padded(list.clone())]);
        fill(&mut slots, &spec, &rows.collect::<Vec<_>>());
        rest = later;
    }
    let found = builder.disagreement()?;
    assert_eq!(found.column, 0);
    let first = found.first.map(|(row, shape)| {
        assert_eq!(row, 0);
        shape
    });
    Some((found.row, found.shape, first))
}

/// The minimum and maximum length of the lists of each level. A level without lists has the length
/// of the column.
fn shape_of(list: &List, shape: &[i64]) -> RowShape {
    let mut lists = vec![list];
    let levels = shape.iter().map(|&dim| {
        if lists.is_empty() {
            let len = dim.max(0) as usize;
            return (len, len);
        }
        let items: Vec<&[List]> = lists
            .iter()
            .map(|list| match list {
                Items(items) => &items[..],
                Leaf(_) => panic!("a list"),
            })
            .collect();
        let lengths = items.iter().map(|items| items.len());
        let found = (lengths.clone().min(), lengths.max());
        lists = items.into_iter().flatten().collect();
        (found.0.unwrap_or(0), found.1.unwrap_or(0))
    });
    RowShape(levels.collect())
}

fn naive(shape: &[i64], lists: &[List]) -> Option<Found> {
    let shapes = lists.iter().map(|list| shape_of(list, shape));
    let shapes: Vec<_> = shapes.collect();
    for (row, found) in shapes.iter().enumerate() {
        let by_itself =
            found.0.iter().zip(shape).all(|(&(least, most), &dim)| {
                least == most && (dim == UNKNOWN || dim == most as i64)
            });
        if !by_itself {
            return Some((row, found.clone(), None));
        }
        if *found != shapes[0] {
            return Some((row, found.clone(), Some(shapes[0].clone())));
        }
    }
    None
}

fn any_lists(rank: usize) -> BoxedStrategy<List> {
    let leaf = Just(Leaf(Scalar::Int32(7))).boxed();
    (0..rank).fold(leaf, |inner, _| {
        // Most lists have one length.
        let len = prop_oneof![8 => 2..3usize, 1 => 0..3usize];
        len.prop_flat_map(move |len| prop::collection::vec(inner.clone(), len))
            .prop_map(Items)
            .boxed()
    })
}

proptest! {
    #[test]
    fn rows_that_differ_are_those_that_a_naive_look_finds(
        (shape, lists, runs) in prop::collection::vec(prop_oneof![Just(UNKNOWN), Just(2)], 1..4)
            .prop_flat_map(|shape| {
                let lists = prop::collection::vec(any_lists(shape.len()), 0..6);
                (Just(shape), lists)
            })
            .prop_flat_map(|(shape, lists)| {
                let runs = any_runs(lists.len());
                (Just(shape), Just(lists), runs)
            })
    ) {
        // Lists are at most as long as a fixed dimension, so an extent is known up to there.
        prop_assert_eq!(disagreement(&shape, &runs, &lists), naive(&shape, &lists));
    }
}

#[test]
fn a_row_of_no_lists_leaves_the_dimensions_inside_to_the_column() {
    let leaf = || Leaf(Scalar::Int32(7));
    let (none, pair) = (Items(vec![]), Items(vec![Items(vec![leaf(), leaf()])]));
    let shape = |outer| RowShape(vec![(outer, outer), (2, 2)]);
    let found = |lists: &[&List]| {
        let lists: Vec<_> = lists.iter().map(|list| (*list).clone()).collect();
        disagreement(&[UNKNOWN, 2], &[lists.len()], &lists)
    };
    assert_eq!(found(&[&none, &none]), None);
    assert_eq!(found(&[&pair, &pair]), None);
    assert_eq!(
        found(&[&none, &none, &pair]),
        Some((2, shape(1), Some(shape(0))))
    );
    assert_eq!(
        found(&[&pair, &none, &none]),
        Some((1, shape(0), Some(shape(1))))
    );
}

#[test]
fn shapes_are_shown_as_lists_of_dimensions() {
    assert_eq!(
        RowShape(vec![(2, 2), (1, 3), (0, 0)]).to_string(),
        "[2, 1 to 3, 0]"
    );
}
