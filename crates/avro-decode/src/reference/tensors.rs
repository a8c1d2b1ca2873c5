//! Trees of values to tensors: the oracle for the plan.
//!
//! An [expression](follow) leads to a tree of values; of that tree every
//! feature makes a [row](row), a list of entries with an index and a value
//! each; of the rows a [column](column) is built. Nothing is compiled, and
//! nothing known of one record helps with the next.

mod column;
mod compared;
mod follow;
mod row;
mod sparse;

use tensor_batch::Scalar;
use thiserror::Error;

use crate::feature::{Checked, Features};
use crate::schema::Schema;
use crate::{DecodeErrorKind, PlanOptions, Value};
use column::columns;
use follow::{Context, Place};
use row::Row;

/// The tensors that some records make.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ReferenceTensors {
    /// A column for each of the features' spec, in its order.
    pub columns: Vec<ReferenceColumn>,
    /// Sparse entries left out for an index outside their dimension.
    pub dropped: u64,
    /// Lists of truncated features that were cut to the length of their dimension.
    pub truncated: u64,
}

/// A column as plain data; the twin of [`Column`](tensor_batch::Column).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ReferenceColumn {
    /// A dense tensor.
    Dense {
        /// `[rows, shape..]`; of a mask beside values of varying number `[n]`.
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
    /// The record, counted from 0.
    pub record: usize,
    /// The feature's expression.
    pub field: String,
    /// How the values do not fit.
    pub kind: DecodeErrorKind,
}

/// The tensors that `records`, values of `schema`, make of `features`. Records
/// that were written with another schema are [resolved](super::resolve())
/// before: of the options only those count that say what becomes of values, as
/// what the columns mean by the schemas before.
///
/// # Errors
/// The first fault, in the order of the features, of the first record that has
/// any; see [`faults`].
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
    let all = features.of_schema(schema);
    let mut rows: Vec<Vec<Row>> = all.iter().map(|_| Vec::new()).collect();
    for (record, value) in records.iter().enumerate() {
        for (checked, rows) in all.iter().zip(&mut rows) {
            let context = Context { checked, meanings };
            let row = Row::of(checked, Place::root(schema, value, context), options);
            if let Some(kind) = row.faults.first() {
                return Err(error(record, checked, kind));
            }
            rows.push(row);
        }
    }
    let mut made = vec![None; features.spec().columns().len()];
    for (checked, rows) in all.iter().zip(&rows) {
        for (place, column) in columns(checked, rows) {
            made[place] = Some(column);
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

/// Everything that is wrong with the first of `records` that does not fit
/// `features`: whoever reads it finds one of these, by the order it goes about
/// it. Nothing, if all fit.
///
/// A fault is a missing value that has nothing for it, an array that does not
/// have the length its dimension says, indices and values of different numbers,
/// an index outside its dimension where `options` do not drop those, a value
/// that cannot be converted.
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
    let all = features.of_schema(schema);
    let mut faults = Vec::new();
    for (record, value) in records.iter().enumerate() {
        for checked in all.iter() {
            let context = Context { checked, meanings };
            let row = Row::of(checked, Place::root(schema, value, context), options);
            faults.extend(row.faults.iter().map(|kind| error(record, checked, kind)));
        }
        if !faults.is_empty() {
            break;
        }
    }
    faults
}

#[cold]
fn error(record: usize, checked: &Checked, kind: &DecodeErrorKind) -> RecordError {
    RecordError {
        record,
        field: checked.feature.expression().to_owned(),
        kind: kind.clone(),
    }
}
