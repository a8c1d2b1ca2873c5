//! Turns trees of values into tensors: the oracle for the plan.
//!
//! An [expression](follow) leads to a tree of values. From it, every feature makes a [row](row), a
//! list of entries with an index and a value each. The rows make a [column](column). Nothing is
//! compiled, and no state is kept between records.

mod column;
mod compared;
mod follow;
mod row;
mod sparse;

use atds_features::feature::{CheckedFeature, Features};
use tensor_batch::Scalar;
use thiserror::Error;

use crate::root_fields::of_schema;
use crate::schema::Schema;
use crate::{DecodeErrorKind, PlanOptions, Value};
use column::columns;
use follow::{Context, TypedValue};
use row::Row;

/// The tensors of some records.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ReferenceTensors {
    /// The columns of the features' spec, in the spec's order.
    pub columns: Vec<ReferenceColumn>,
    /// Number of sparse entries left out for an index outside their dimension.
    pub dropped: u64,
    /// Number of lists of truncated features that were cut to the length of their dimension.
    pub truncated: u64,
}

/// A column as plain data; the twin of [`Column`](tensor_batch::Column).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ReferenceColumn {
    /// A dense tensor.
    Dense {
        /// `[rows, shape..]`; for a mask of a varying number of values, `[n]`.
        shape: Vec<i64>,
        /// All values in row-major order.
        values: Vec<Scalar>,
    },
    /// Sparse or varlen as coordinates.
    Sparse {
        /// `[nnz, rank + 1]` flat; the first of each is the row.
        indices: Vec<i64>,
        /// `[nnz]`.
        values: Vec<Scalar>,
        /// `[rank + 1]`; the first is the number of rows.
        dense_shape: Vec<i64>,
    },
    /// Varlen as values and row splits.
    Ragged {
        /// The innermost values.
        values: Vec<Scalar>,
        /// Row splits, the outermost (over rows) first.
        row_splits: Vec<Vec<i64>>,
    },
    /// Sparse as indices, values and row splits.
    RaggedSparse {
        /// `[nnz, rank]` flat.
        indices: Vec<i64>,
        /// `[nnz]`.
        values: Vec<Scalar>,
        /// `[rows + 1]`.
        row_splits: Vec<i64>,
        /// `[rank + 1]`; the first is the number of rows.
        dense_shape: Vec<i64>,
    },
}

/// A record whose values do not fit a feature.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("record {record}, field '{field}': {kind}")]
#[non_exhaustive]
pub struct RecordError {
    /// The index of the record, from 0.
    pub record: usize,
    /// The feature's expression.
    pub field: String,
    /// The error of the values.
    pub kind: DecodeErrorKind,
}

/// The tensors that `features` make from `records`, values of `schema`.
///
/// Records that were written with another schema must be [resolved](super::resolve()) before. Of
/// `options`, only those that affect values matter, such as the meanings fixed by earlier schemas.
///
/// # Errors
/// The first error, in the order of the features, of the first record that has any; see [`faults`].
///
/// # Panics
/// If [`Plan::compile`](crate::Plan::compile) refuses `schema` and `features`,
/// or the records are not of `schema`.
pub fn tensors(
    schema: &Schema,
    records: &[Value],
    features: &Features,
    options: &PlanOptions,
) -> Result<ReferenceTensors, RecordError> {
    let meanings = &options.meanings;
    let all = of_schema(features, schema);
    let mut rows: Vec<Vec<Row>> = all.iter().map(|_| Vec::new()).collect();
    for (record, value) in records.iter().enumerate() {
        for (checked, rows) in all.iter().zip(&mut rows) {
            let context = Context { checked, meanings };
            let row = Row::of(checked, TypedValue::root(schema, value, context), options);
            if let Some(kind) = row.faults.first() {
                return Err(error(record, checked, kind));
            }
            rows.push(row);
        }
    }
    let mut made = vec![None; features.spec().columns().len()];
    for (checked, rows) in all.iter().zip(&rows) {
        for (index, column) in columns(checked, rows) {
            made[index] = Some(column);
        }
    }
    let made = made.into_iter();
    let columns = made.map(|column| column.expect("every column is one of a feature"));
    Ok(ReferenceTensors {
        columns: columns.collect(),
        dropped: rows.iter().flatten().map(|row| row.dropped).sum(),
        truncated: rows.iter().flatten().map(|row| row.truncated).sum(),
    })
}

/// All errors in the first of `records` that does not fit `features`; empty if all fit. A decoder
/// reports one of them, depending on the order in which it reads.
///
/// An error is one of these:
/// - a missing value without a default or a mask;
/// - an array whose length differs from its dimension;
/// - different numbers of indices and values;
/// - an index outside its dimension, unless `options` drop it;
/// - a value that cannot be converted.
///
/// # Panics
/// As [`tensors`].
pub fn faults(
    schema: &Schema,
    records: &[Value],
    features: &Features,
    options: &PlanOptions,
) -> Vec<RecordError> {
    let meanings = &options.meanings;
    let all = of_schema(features, schema);
    let mut faults = Vec::new();
    for (record, value) in records.iter().enumerate() {
        for checked in all.iter() {
            let context = Context { checked, meanings };
            let row = Row::of(checked, TypedValue::root(schema, value, context), options);
            faults.extend(row.faults.iter().map(|kind| error(record, checked, kind)));
        }
        if !faults.is_empty() {
            break;
        }
    }
    faults
}

#[cold]
fn error(record: usize, checked: &CheckedFeature, kind: &DecodeErrorKind) -> RecordError {
    RecordError {
        record,
        field: checked.feature.expression().to_owned(),
        kind: kind.clone(),
    }
}
