//! Any columns with any rows, split into any runs.

use std::ops::Range;

use proptest::collection::vec;
use proptest::prelude::*;
use tensor_batch::half::{bf16, f16};
use tensor_batch::{BatchSpec, ColumnKind, ColumnSpec, DType, Layout, Scalar, UNKNOWN};

use crate::model::{List, Row};

/// Any spec with up to five columns, each of any kind, dtype, layout and rank
/// up to 3.
pub(crate) fn any_spec() -> impl Strategy<Value = BatchSpec> {
    vec(any_column(), 0..5).prop_map(|columns| {
        let columns = columns.into_iter().enumerate();
        let columns = columns.map(|(i, mut column)| {
            column.name = format!("c{i}");
            column
        });
        BatchSpec::new(columns.collect()).expect("a good spec")
    })
}

fn any_column() -> impl Strategy<Value = ColumnSpec> {
    let dtype = prop::sample::select(DType::ALL);
    let layout = prop::sample::select(&[Layout::Coo, Layout::Ragged][..]);
    let dims = vec(prop_oneof![Just(UNKNOWN), 1..4i64], 1..4);
    let fill = dtype.prop_flat_map(any_scalar);
    (0..5, fill, layout, dims, any::<bool>()).prop_map(|(kind, fill, layout, dims, scalar)| {
        let dtype = fill.dtype();
        let column = match kind {
            0 if scalar => ColumnSpec::dense("", &[], dtype),
            0 => {
                let dims: Vec<_> = dims.iter().map(|dim| dim.unsigned_abs() as usize).collect();
                ColumnSpec::dense("", &dims, dtype)
            }
            1 => ColumnSpec::sparse("", &dims, dtype),
            2 => ColumnSpec::padded("", &dims, fill),
            3 => ColumnSpec::flat("", dtype),
            _ if scalar && layout == Layout::Coo => ColumnSpec::varlen("", &[], dtype),
            _ => ColumnSpec::varlen("", &dims, dtype),
        };
        column.with_layout(layout)
    })
}

/// Up to 9 rows of `spec`.
pub(crate) fn any_rows(spec: &BatchSpec) -> BoxedStrategy<Vec<Vec<Row>>> {
    let row: Vec<_> = spec.columns().iter().map(any_row).collect();
    vec(row, 0..10).boxed()
}

/// Sizes of runs with `rows` rows in total. Some runs are empty.
pub(crate) fn any_runs(rows: usize) -> impl Strategy<Value = Vec<usize>> {
    vec(0..=rows, 0..5).prop_map(move |mut cuts| {
        cuts.push(0);
        cuts.push(rows);
        cuts.sort_unstable();
        cuts.windows(2).map(|ends| ends[1] - ends[0]).collect()
    })
}

fn any_row(spec: &ColumnSpec) -> BoxedStrategy<Row> {
    let scalar = any_scalar(spec.dtype);
    match &spec.kind {
        ColumnKind::Dense { .. } => {
            let len = spec.row_len().expect("dense");
            vec(scalar, len..=len).prop_map(Row::Dense).boxed()
        }
        ColumnKind::Sparse { shape, .. } => {
            let index: Vec<_> = shape
                .iter()
                .map(|&dim| if dim == UNKNOWN { 0..1_000_000 } else { 0..dim })
                .collect();
            vec((index, scalar), 0..4).prop_map(Row::Sparse).boxed()
        }
        // One entry, or none.
        ColumnKind::Varlen { shape, .. } if shape.is_empty() => {
            vec((Just(Vec::new()), scalar), 0..2)
                .prop_map(Row::Sparse)
                .boxed()
        }
        ColumnKind::Varlen { shape, .. } => {
            let lists = any_lists(shape, scalar, |dim| dim..dim + 1);
            lists.prop_map(Row::Varlen).boxed()
        }
        ColumnKind::Padded { shape, .. } => {
            let lists = any_lists(shape, scalar, |dim| 0..dim + 1);
            lists.prop_map(Row::Padded).boxed()
        }
        ColumnKind::Flat => vec(scalar, 0..4).prop_map(Row::Flat).boxed(),
        _ => panic!("a kind that the tests do not know"),
    }
}

/// Lists of any lengths in unknown dimensions of `shape`, and with lengths from `lengths` in
/// others.
fn any_lists(
    shape: &[i64],
    scalar: BoxedStrategy<Scalar>,
    lengths: fn(usize) -> Range<usize>,
) -> BoxedStrategy<List> {
    let leaf = scalar.prop_map(List::Leaf).boxed();
    shape.iter().rev().fold(leaf, |inner, &dim| {
        let len = usize::try_from(dim).map_or(0..4, lengths);
        vec(inner, len).prop_map(List::Items).boxed()
    })
}

pub(crate) fn any_scalar(dtype: DType) -> BoxedStrategy<Scalar> {
    /// Any bits, so that every NaN occurs.
    fn bits<T: Arbitrary + 'static>(scalar: fn(T) -> Scalar) -> BoxedStrategy<Scalar> {
        any::<T>().prop_map(scalar).boxed()
    }
    match dtype {
        DType::Int8 => bits(Scalar::Int8),
        DType::Int16 => bits(Scalar::Int16),
        DType::Int32 => bits(Scalar::Int32),
        DType::Int64 => bits(Scalar::Int64),
        DType::UInt8 => bits(Scalar::UInt8),
        DType::UInt16 => bits(Scalar::UInt16),
        DType::Float16 => bits(|bits| Scalar::Float16(f16::from_bits(bits))),
        DType::BFloat16 => bits(|bits| Scalar::BFloat16(bf16::from_bits(bits))),
        DType::Float32 => bits(|bits| Scalar::Float32(f32::from_bits(bits))),
        DType::Float64 => bits(|bits| Scalar::Float64(f64::from_bits(bits))),
        DType::Bool => any::<bool>().prop_map(Scalar::Bool).boxed(),
        DType::String => vec(any::<u8>(), 0..6).prop_map(Scalar::String).boxed(),
        _ => panic!("a dtype that the tests do not know"),
    }
}
