//! A finished batch and its columns.

use std::fmt;
use std::sync::Arc;

use crate::short::Short;
use crate::{
    BatchSpec, Buffer, ColumnKind, ColumnSpec, Layout, Recycler, Segment, TensorForm, Values,
};

/// A batch: one tensor per column. When it is dropped, a later batch reuses its memory.
pub struct Batch {
    rows: usize,
    pub(crate) spec: BatchSpec,
    pub(crate) columns: Vec<ColumnData>,
    pub(crate) recycler: Arc<Recycler>,
}

impl Batch {
    pub(crate) fn new(
        rows: usize,
        spec: BatchSpec,
        columns: Vec<ColumnData>,
        recycler: Arc<Recycler>,
    ) -> Self {
        Batch {
            rows,
            spec,
            columns,
            recycler,
        }
    }

    pub(crate) fn set_rows(&mut self, rows: usize) {
        self.rows = rows;
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The specs of the columns, sorted by name.
    pub fn spec(&self) -> &BatchSpec {
        &self.spec
    }

    /// Size of the columns in bytes.
    pub fn used_bytes(&self) -> usize {
        self.columns.iter().map(ColumnData::used_bytes).sum()
    }

    /// Size of the batch's memory in bytes, including unused capacity.
    pub fn capacity_bytes(&self) -> usize {
        self.columns.iter().map(ColumnData::capacity_bytes).sum()
    }

    /// The columns with their specs, sorted by name.
    pub fn columns(&self) -> impl ExactSizeIterator<Item = (&ColumnSpec, Column<'_>)> + '_ {
        let columns = self.spec.columns().iter().zip(&self.columns);
        columns.map(|(spec, data)| (spec, column_of(data, spec)))
    }

    /// The column `name`.
    pub fn column(&self, name: &str) -> Option<Column<'_>> {
        let i = self.spec.position(name)?;
        Some(column_of(&self.columns[i], &self.spec.columns()[i]))
    }
}

/// Shows the number of rows, and dtype and shape of each column, without the values.
impl fmt::Debug for Batch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batch")
            .field("rows", &self.rows)
            .field("columns", &Columns(self))
            .finish()
    }
}

/// The debug text of a batch's columns.
struct Columns<'a>(&'a Batch);

impl fmt::Debug for Columns<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        /// Maximum number of columns that are shown.
        const SHOWN: usize = 20;
        let mut map = f.debug_map();
        for (spec, column) in self.0.columns().take(SHOWN) {
            let (dtype, shape) = (spec.dtype, Shape(column));
            map.entry(
                &spec.name,
                &format_args!("{} {dtype} {shape}", column.form()),
            );
        }
        if self.0.columns().len() > SHOWN {
            map.finish_non_exhaustive()
        } else {
            map.finish()
        }
    }
}

/// The shape as text: `[64, 8]` for a dense column. Other columns show their dense shape or number
/// of rows, and their number of values.
struct Shape<'a>(Column<'a>);

impl fmt::Display for Shape<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Column::Dense(tensor) => write!(f, "{:?}", tensor.shape),
            Column::Sparse(SparseTensor {
                dense_shape,
                values,
                ..
            })
            | Column::RaggedSparse(RaggedSparseTensor {
                dense_shape,
                values,
                ..
            }) => write!(f, "{dense_shape:?} ({} values)", values.len()),
            Column::Ragged(tensor) => {
                let rows = tensor.row_splits[0].len() - 1;
                write!(f, "[{rows}] ({} values)", tensor.values.len())
            }
        }
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        // A batch that was split into columns has no memory.
        if !self.columns.is_empty() {
            self.recycler.give(std::mem::take(&mut self.columns));
        }
    }
}

/// A column as a tensor. Its kind and layout determine the form.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Column<'a> {
    /// The tensor of a dense, padded or flat column.
    Dense(DenseTensor<'a>),
    /// The tensor of a sparse or varlen column, as coordinates.
    Sparse(SparseTensor<'a>),
    /// The tensor of a ragged varlen column, as values and row splits.
    Ragged(RaggedTensor<'a>),
    /// The tensor of a ragged sparse column, as indices, values and row splits.
    RaggedSparse(RaggedSparseTensor<'a>),
}

impl Column<'_> {
    /// The form of the tensor.
    pub fn form(&self) -> TensorForm {
        match self {
            Column::Dense(_) => TensorForm::Dense,
            Column::Sparse(_) => TensorForm::Sparse,
            Column::Ragged(_) => TensorForm::Ragged,
            Column::RaggedSparse(_) => TensorForm::RaggedSparse,
        }
    }
}

/// A dense tensor.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct DenseTensor<'a> {
    /// `[rows, shape..]`; of a flat column `[n]`.
    pub shape: &'a [i64],
    /// All values in row-major order.
    pub values: &'a Values,
}

/// A sparse tensor in coordinate form (COO). Entries have the order of the records and of their
/// values.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct SparseTensor<'a> {
    /// `[nnz, rank + 1]` flat; for each entry the row, then the index.
    pub indices: &'a [i64],
    /// `[nnz]`.
    pub values: &'a Values,
    /// `[rank + 1]`; the first is the number of rows.
    pub dense_shape: &'a [i64],
}

/// A ragged tensor.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct RaggedTensor<'a> {
    /// The innermost values, end to end.
    pub values: &'a Values,
    /// Row splits, the outermost (over rows) first; each starts with 0.
    pub row_splits: &'a [Buffer<i64>],
}

/// The entries of sparse rows, end to end.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct RaggedSparseTensor<'a> {
    /// `[nnz, rank]` flat.
    pub indices: &'a [i64],
    /// `[nnz]`.
    pub values: &'a Values,
    /// `[rows + 1]`: the entries of row `i` are `row_splits[i]..row_splits[i + 1]`.
    pub row_splits: &'a [i64],
    /// `[rank + 1]`; the first is the number of rows.
    pub dense_shape: &'a [i64],
}

impl fmt::Debug for SparseTensor<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SparseTensor")
            .field("indices", &Short(self.indices))
            .field("values", self.values)
            .field("dense_shape", &self.dense_shape)
            .finish()
    }
}

impl fmt::Debug for RaggedSparseTensor<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RaggedSparseTensor")
            .field("indices", &Short(self.indices))
            .field("values", self.values)
            .field("row_splits", &Short(self.row_splits))
            .field("dense_shape", &self.dense_shape)
            .finish()
    }
}

/// The memory of a column.
#[derive(Debug)]
pub(crate) struct ColumnData {
    pub(crate) shape: Vec<i64>,
    pub(crate) values: Values,
    pub(crate) indices: Buffer<i64>,
    pub(crate) splits: Vec<Buffer<i64>>,
}

impl ColumnData {
    pub(crate) fn new(spec: &ColumnSpec) -> Self {
        let Segment {
            values,
            indices,
            mut splits,
            ..
        } = Segment::new(spec);
        if let ColumnKind::Padded { .. } = spec.kind {
            // Only the segments have the ends of lists.
            splits.clear();
        }
        ColumnData {
            shape: Vec::with_capacity(spec.rank() + 1),
            values,
            indices,
            splits,
        }
    }

    /// A column without memory.
    pub(crate) fn empty() -> Self {
        ColumnData {
            shape: Vec::new(),
            values: Values::Bool(Buffer::new()),
            indices: Buffer::new(),
            splits: Vec::new(),
        }
    }

    /// Removes all rows; keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.values.clear();
        self.indices.clear();
        for splits in &mut self.splits {
            splits.clear();
            splits.push(0);
        }
    }

    pub(crate) fn used_bytes(&self) -> usize {
        let splits: usize = self.splits.iter().map(Buffer::len).sum();
        self.values.used_bytes() + (self.indices.len() + splits) * size_of::<i64>()
    }

    pub(crate) fn capacity_bytes(&self) -> usize {
        let splits: usize = self.splits.iter().map(Buffer::capacity_bytes).sum();
        self.values.capacity_bytes() + self.indices.capacity_bytes() + splits
    }
}

/// The column of `spec` over the memory of `data`.
pub(crate) fn column_of<'a>(data: &'a ColumnData, spec: &ColumnSpec) -> Column<'a> {
    let (values, indices) = (&data.values, data.indices.as_slice());
    match &spec.kind {
        ColumnKind::Dense { .. } | ColumnKind::Padded { .. } | ColumnKind::Flat => {
            Column::Dense(DenseTensor {
                shape: &data.shape,
                values,
            })
        }
        ColumnKind::Varlen {
            layout: Layout::Ragged,
            ..
        } => Column::Ragged(RaggedTensor {
            values,
            row_splits: &data.splits,
        }),
        ColumnKind::Sparse {
            layout: Layout::Ragged,
            ..
        } => Column::RaggedSparse(RaggedSparseTensor {
            indices,
            values,
            row_splits: data.splits[0].as_slice(),
            dense_shape: &data.shape,
        }),
        ColumnKind::Sparse { .. } | ColumnKind::Varlen { .. } => Column::Sparse(SparseTensor {
            indices,
            values,
            dense_shape: &data.shape,
        }),
    }
}
