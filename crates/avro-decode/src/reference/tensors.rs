//! Trees of values to tensors: the oracle for the plan.
//!
//! Every row is taken apart into a list of entries, each an index and a value,
//! and the lengths of its lists; every column is then built from its rows.

use tensor_batch::{BatchSpec, ColumnKind, ColumnSpec, Layout, UNKNOWN};
use thiserror::Error;

use crate::schema::{Node, NodeId, Schema};
use crate::{DecodeErrorKind, OutOfBounds, PlanOptions, Value};

/// The tensors that some records make.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ReferenceTensors {
    /// A column for each of the spec's, in its order.
    pub columns: Vec<ReferenceColumn>,
    /// Sparse entries left out for an index outside their dimension.
    pub dropped: u64,
}

/// A column as plain data; the twin of [`Column`](tensor_batch::Column).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ReferenceColumn {
    /// A dense tensor.
    Dense {
        /// `[rows, shape..]`.
        shape: Vec<i64>,
        /// All values in row-major order.
        values: Vec<Value>,
    },
    /// Sparse or varlen as coordinates.
    Sparse {
        /// `[nnz, rank + 1]` flat; the first of each is the row.
        indices: Vec<i64>,
        /// `[nnz]`.
        values: Vec<Value>,
        /// `[rank + 1]`; the first is the number of rows.
        dense_shape: Vec<i64>,
    },
    /// Varlen as values and row splits.
    Ragged {
        /// The innermost values.
        values: Vec<Value>,
        /// Row splits, the outermost (over rows) first.
        row_splits: Vec<Vec<i64>>,
    },
    /// Sparse as indices, values and row splits.
    RaggedSparse {
        /// `[nnz, rank]` flat.
        indices: Vec<i64>,
        /// `[nnz]`.
        values: Vec<Value>,
        /// `[rows + 1]`.
        row_splits: Vec<i64>,
        /// `[rank + 1]`; the first is the number of rows.
        dense_shape: Vec<i64>,
    },
}

/// A record whose values do not fit a feature.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("record {record}, field '{field}': {kind}")]
pub struct FeatureError {
    /// The record, counted from 0.
    pub record: usize,
    /// The field, dotted: the feature, or a record around it that is null.
    pub field: String,
    /// How the values do not fit.
    pub kind: DecodeErrorKind,
}

/// The tensors of `spec` that `records`, values of `schema`, make.
///
/// The first record that does not fit is an error, and in it the first field
/// in the order of the schema.
///
/// # Errors
/// A null, an array that does not have the length its dimension says, arrays
/// of a sparse record of different lengths, an index outside its dimension
/// where `options` do not drop those.
///
/// # Panics
/// If [`Plan::compile`](crate::Plan::compile) refuses `schema` and `spec`, or
/// the records are not of `schema`.
pub fn tensors(
    schema: &Schema,
    records: &[Value],
    spec: &BatchSpec,
    options: &PlanOptions,
) -> Result<ReferenceTensors, FeatureError> {
    let features: Vec<_> = spec
        .columns()
        .iter()
        .map(|column| Feature::find(schema, column, options))
        .collect();
    let mut in_schema_order: Vec<usize> = (0..features.len()).collect();
    in_schema_order.sort_by_key(|&column| &features[column].path);

    let mut rows: Vec<Vec<Row>> = features.iter().map(|_| Vec::new()).collect();
    for (number, record) in records.iter().enumerate() {
        for &column in &in_schema_order {
            let row = features[column].row(record);
            rows[column].push(row.map_err(|(field, kind)| FeatureError {
                record: number,
                field,
                kind,
            })?);
        }
    }
    let dropped = rows.iter().flatten().map(|row| row.dropped).sum();
    let columns = spec.columns().iter().zip(&rows);
    Ok(ReferenceTensors {
        columns: columns.map(|(spec, rows)| column(spec, rows)).collect(),
        dropped,
    })
}

/// A column and the way to it.
struct Feature<'a> {
    spec: &'a ColumnSpec,
    /// Which field of the record, which field of the record there, and so on.
    path: Vec<usize>,
    /// The names of the fields of a sparse record; else empty.
    sparse_fields: Vec<&'a str>,
    options: &'a PlanOptions,
}

/// What a column has of one record.
#[derive(Default)]
struct Row {
    /// The index, without that of the row, and the value.
    entries: Vec<(Vec<i64>, Value)>,
    /// The lengths of a varlen feature's lists, outermost level first.
    lengths: Vec<Vec<usize>>,
    dropped: u64,
}

impl<'a> Feature<'a> {
    fn find(schema: &'a Schema, spec: &'a ColumnSpec, options: &'a PlanOptions) -> Self {
        let mut path = Vec::new();
        let mut node = schema.root();
        for name in spec.name.split('.') {
            let Node::Record(record) = schema.node(not_null(schema, node)) else {
                panic!("the plan has found the feature");
            };
            let (place, field) = record.field(name).expect("the plan has found the feature");
            path.push(place);
            node = field.ty;
        }
        let sparse_fields = match schema.node(not_null(schema, node)) {
            Node::Record(record) => record.fields.iter().map(|f| f.name.as_str()).collect(),
            _ => Vec::new(),
        };
        Feature {
            spec,
            path,
            sparse_fields,
            options,
        }
    }

    /// The feature's row, or the dotted field that does not fit and why.
    fn row(&self, record: &Value) -> Result<Row, (String, DecodeErrorKind)> {
        let mut value = record;
        for (depth, &place) in self.path.iter().enumerate() {
            value = present(value).map_err(|kind| {
                let around: Vec<_> = self.spec.name.split('.').take(depth).collect();
                (around.join("."), kind)
            })?;
            let Value::Record(fields) = value else {
                panic!("the value is of the schema");
            };
            value = &fields[place];
        }
        let mut row = Row {
            lengths: vec![Vec::new(); self.spec.rank()],
            ..Row::default()
        };
        let result = match &self.spec.kind {
            ColumnKind::Dense { shape } => {
                let shape: Vec<_> = shape.iter().map(|&dim| Some(dim)).collect();
                nested(value, &shape, &mut Vec::new(), &mut row)
            }
            ColumnKind::Varlen { shape, .. } => {
                let known = |dim| (dim != UNKNOWN).then_some(dim as usize);
                let shape: Vec<_> = shape.iter().map(|&dim| known(dim)).collect();
                nested(value, &shape, &mut Vec::new(), &mut row)
            }
            ColumnKind::Sparse { shape, .. } => self.sparse(value, shape, &mut row),
            _ => panic!("the plan knows the kind"),
        };
        result.map_err(|kind| (self.spec.name.clone(), kind))?;
        Ok(row)
    }

    /// A record of `indices0..` and `values`.
    fn sparse(&self, value: &Value, shape: &[i64], row: &mut Row) -> Result<(), DecodeErrorKind> {
        let Value::Record(arrays) = present(value)? else {
            panic!("the value is of the schema");
        };
        let is_inside = |index: i64, dimension: usize| match shape[dimension] {
            // The dimension's size, which is more by one, must be a long.
            UNKNOWN => (0..i64::MAX).contains(&index),
            size => (0..size).contains(&index),
        };
        let mut values = Vec::new();
        let mut indices = vec![Vec::new(); shape.len()];
        let mut first_length = None;
        for (name, array) in self.sparse_fields.iter().zip(arrays) {
            let array = items(present(array)?);
            match name.strip_prefix("indices") {
                None => {
                    for item in array {
                        values.push(present(item)?.clone());
                    }
                }
                Some(dimension) => {
                    let dimension: usize = dimension.parse().expect("the plan knows the field");
                    for item in array {
                        let index = integer(present(item)?);
                        let is_error = self.options.out_of_bounds == OutOfBounds::Error;
                        if is_error && !is_inside(index, dimension) {
                            return Err(DecodeErrorKind::IndexOutOfBounds {
                                index,
                                dimension,
                                size: shape[dimension],
                            });
                        }
                        indices[dimension].push(index);
                    }
                }
            }
            let (expected, actual) = (*first_length.get_or_insert(array.len()), array.len());
            if expected != actual {
                return Err(DecodeErrorKind::SparseLengths { expected, actual });
            }
        }
        for (entry, value) in values.into_iter().enumerate() {
            let index: Vec<i64> = indices
                .iter()
                .map(|of_dimension| of_dimension[entry])
                .collect();
            if (0..shape.len()).all(|dimension| is_inside(index[dimension], dimension)) {
                row.entries.push((index, value));
            } else {
                row.dropped += 1;
            }
        }
        Ok(())
    }
}

/// A primitive nested in an array for each dimension of `shape`, which is
/// `None` where any length is good. `index` is that of `value`.
fn nested(
    value: &Value,
    shape: &[Option<usize>],
    index: &mut Vec<i64>,
    row: &mut Row,
) -> Result<(), DecodeErrorKind> {
    let value = present(value)?;
    let Some((&length, inner)) = shape.split_first() else {
        row.entries.push((index.clone(), value.clone()));
        return Ok(());
    };
    let array = items(value);
    if let Some(expected) = length.filter(|&length| length != array.len()) {
        let actual = array.len();
        return Err(DecodeErrorKind::ArrayLength { expected, actual });
    }
    row.lengths[index.len()].push(array.len());
    for (i, item) in array.iter().enumerate() {
        index.push(i as i64);
        nested(item, inner, index, row)?;
        index.pop();
    }
    Ok(())
}

/// A column of these rows.
fn column(spec: &ColumnSpec, rows: &[Row]) -> ReferenceColumn {
    let entries = || rows.iter().flat_map(|row| &row.entries);
    let values = entries().map(|(_, value)| value.clone()).collect();
    let dense_shape = |shape: &[i64]| {
        let mut dense_shape = vec![rows.len() as i64];
        for (dimension, &size) in shape.iter().enumerate() {
            let largest = entries().map(|(index, _)| index[dimension]).max();
            dense_shape.push(match (size, largest) {
                (UNKNOWN, Some(largest)) => largest + 1,
                (UNKNOWN, None) => 0,
                (size, _) => size,
            });
        }
        dense_shape
    };
    match &spec.kind {
        ColumnKind::Dense { shape } => {
            let mut with_rows = vec![rows.len() as i64];
            with_rows.extend(shape.iter().map(|&dim| dim as i64));
            ReferenceColumn::Dense {
                shape: with_rows,
                values,
            }
        }
        ColumnKind::Sparse {
            shape,
            layout: Layout::Ragged,
        } => ReferenceColumn::RaggedSparse {
            indices: entries().flat_map(|(index, _)| index.clone()).collect(),
            values,
            row_splits: splits(rows.iter().map(|row| row.entries.len())),
            dense_shape: dense_shape(shape),
        },
        ColumnKind::Varlen {
            layout: Layout::Ragged,
            ..
        } => {
            let level = |level: usize| rows.iter().flat_map(move |row| row.lengths[level].clone());
            ReferenceColumn::Ragged {
                values,
                row_splits: (0..spec.rank()).map(|i| splits(level(i))).collect(),
            }
        }
        ColumnKind::Sparse { shape, .. } | ColumnKind::Varlen { shape, .. } => {
            let mut indices = Vec::new();
            for (number, row) in rows.iter().enumerate() {
                for (index, _) in &row.entries {
                    indices.push(number as i64);
                    indices.extend(index);
                }
            }
            ReferenceColumn::Sparse {
                indices,
                values,
                dense_shape: dense_shape(shape),
            }
        }
        _ => panic!("the plan knows the kind"),
    }
}

/// 0, and the sum of the lengths up to each.
fn splits(lengths: impl Iterator<Item = usize>) -> Vec<i64> {
    let mut splits = vec![0];
    let mut end = 0;
    for length in lengths {
        end += length as i64;
        splits.push(end);
    }
    splits
}

/// What a union holds, or the value itself outside unions; null is an error.
fn present(value: &Value) -> Result<&Value, DecodeErrorKind> {
    match value {
        Value::Union(_, value) => present(value),
        Value::Null => Err(DecodeErrorKind::Null),
        value => Ok(value),
    }
}

/// The branch of a nullable type that is not null.
fn not_null(schema: &Schema, id: NodeId) -> NodeId {
    match schema.node(id) {
        Node::Union(branches) => {
            let mut branches = branches.iter().copied();
            let found = branches.find(|&branch| *schema.node(branch) != Node::Null);
            found.unwrap_or(id)
        }
        _ => id,
    }
}

fn items(value: &Value) -> &[Value] {
    match value {
        Value::Array(items) => items,
        _ => panic!("the value is of the schema"),
    }
}

fn integer(value: &Value) -> i64 {
    match value {
        Value::Int(value) => (*value).into(),
        Value::Long(value) => *value,
        _ => panic!("the value is of the schema"),
    }
}
