//! Compares a batch with the oracle's tensors, bit by bit.

use std::fmt;

use atds_features::words::counted;
use tensor_batch::{Batch, Column, Scalar, Values};
use thiserror::Error;

use super::{ReferenceColumn, ReferenceTensors};

/// The first difference between a batch and the oracle's tensors.
#[derive(Clone, Debug, Error)]
#[error("column '{column}', {part}: {kind}")]
#[non_exhaustive]
pub struct Difference {
    /// The column.
    pub column: String,
    /// The part of the column.
    pub part: ColumnPart,
    /// The kind of the difference.
    pub kind: DifferenceKind,
}

/// A part of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ColumnPart {
    /// The form: dense, coordinates, or ragged.
    Form,
    /// `shape` or `dense_shape`.
    Shape,
    /// The values.
    Values,
    /// The indices.
    Indices,
    /// The row splits of a level, counted from 0, the outermost.
    RowSplits(usize),
}

impl fmt::Display for ColumnPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ColumnPart::Form => f.write_str("form"),
            ColumnPart::Shape => f.write_str("shape"),
            ColumnPart::Values => f.write_str("values"),
            ColumnPart::Indices => f.write_str("indices"),
            ColumnPart::RowSplits(level) => write!(f, "row splits of level {level}"),
        }
    }
}

/// How a part of a column differs.
#[derive(Clone, Debug, Error)]
#[non_exhaustive]
pub enum DifferenceKind {
    /// The part is of another kind or dtype.
    #[error("of another kind than expected")]
    Other,
    /// The length differs.
    #[error("{}, expected {expected}", counted(*actual, "element"))]
    Length {
        /// The oracle's length.
        expected: usize,
        /// The batch's length.
        actual: usize,
    },
    /// An element differs.
    #[error("element {at} is {actual:?}, expected {expected:?}")]
    Element {
        /// The element's index, from 0.
        at: usize,
        /// The oracle's element.
        expected: Scalar,
        /// The batch's element.
        actual: Scalar,
    },
}

impl ReferenceTensors {
    /// Checks that `batch` holds exactly these tensors. Floats are compared by their bits, so NaN
    /// equals itself and -0 does not equal 0. Columns whose names come after those of these tensors,
    /// such as the places of records, are not compared.
    ///
    /// # Errors
    /// The first difference, if there is one.
    ///
    /// # Panics
    /// If the batch is of another spec with fewer columns.
    pub fn compare(&self, batch: &Batch) -> Result<(), Difference> {
        assert!(
            batch.columns().len() >= self.columns.len(),
            "the batch is of the same spec"
        );
        for ((spec, actual), expected) in batch.columns().zip(&self.columns) {
            expected
                .compare(actual)
                .map_err(|(part, kind)| Difference {
                    column: spec.name.clone(),
                    part,
                    kind,
                })?;
        }
        Ok(())
    }
}

type Compared = Result<(), (ColumnPart, DifferenceKind)>;

impl ReferenceColumn {
    fn compare(&self, column: Column<'_>) -> Compared {
        match (self, column) {
            (ReferenceColumn::Dense { shape, values }, Column::Dense(dense)) => {
                compare_longs(ColumnPart::Shape, shape, dense.shape)?;
                compare_values(values, dense.values)
            }
            (
                ReferenceColumn::Sparse {
                    indices,
                    values,
                    dense_shape,
                },
                Column::Sparse(coo),
            ) => {
                compare_longs(ColumnPart::Shape, dense_shape, coo.dense_shape)?;
                compare_longs(ColumnPart::Indices, indices, coo.indices)?;
                compare_values(values, coo.values)
            }
            (ReferenceColumn::Ragged { values, row_splits }, Column::Ragged(ragged)) => {
                let (expected, actual) = (row_splits.len(), ragged.row_splits.len());
                if expected != actual {
                    return Err((
                        ColumnPart::Form,
                        DifferenceKind::Length { expected, actual },
                    ));
                }
                for (level, splits) in row_splits.iter().enumerate() {
                    let actual = ragged.row_splits[level].as_slice();
                    compare_longs(ColumnPart::RowSplits(level), splits, actual)?;
                }
                compare_values(values, ragged.values)
            }
            (
                ReferenceColumn::RaggedSparse {
                    indices,
                    values,
                    row_splits,
                    dense_shape,
                },
                Column::RaggedSparse(ragged),
            ) => {
                compare_longs(ColumnPart::Shape, dense_shape, ragged.dense_shape)?;
                compare_longs(ColumnPart::RowSplits(0), row_splits, ragged.row_splits)?;
                compare_longs(ColumnPart::Indices, indices, ragged.indices)?;
                compare_values(values, ragged.values)
            }
            _ => Err((ColumnPart::Form, DifferenceKind::Other)),
        }
    }
}

fn compare_longs(part: ColumnPart, expected: &[i64], actual: &[i64]) -> Compared {
    let longs = |longs: &[i64]| {
        let longs = longs.iter().map(|&long| Scalar::Int64(long));
        longs.collect::<Vec<_>>()
    };
    compare_elements(part, &longs(expected), &longs(actual))
}

fn compare_values(expected: &[Scalar], actual: &Values) -> Compared {
    let scalar = |i| match (actual.get(i), actual) {
        (Some(scalar), _) => scalar,
        // Not a valid bool: show it as a number, which equals no bool.
        (None, Values::Bool(bytes)) => Scalar::UInt8(bytes.as_slice()[i]),
        (None, _) => unreachable!("the values have a number i"),
    };
    let actual: Vec<_> = (0..actual.len()).map(scalar).collect();
    compare_elements(ColumnPart::Values, expected, &actual)
}

fn compare_elements(part: ColumnPart, expected: &[Scalar], actual: &[Scalar]) -> Compared {
    let pairs = expected.iter().zip(actual).enumerate();
    for (at, (expected, actual)) in pairs {
        // Floats are equal if their bits are.
        if expected != actual {
            let (expected, actual) = (expected.clone(), actual.clone());
            let kind = DifferenceKind::Element {
                at,
                expected,
                actual,
            };
            return Err((part, kind));
        }
    }
    let (expected, actual) = (expected.len(), actual.len());
    if expected != actual {
        return Err((part, DifferenceKind::Length { expected, actual }));
    }
    Ok(())
}
