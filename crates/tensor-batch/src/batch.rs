//! A finished batch and typed views of its columns.

use std::sync::Arc;

use crate::{
    BatchSpec, Buffer, ColumnKind, ColumnSpec, Element, Layout, Recycler, Segment, Strings, Values,
    ViewError, ViewErrorKind,
};

/// A batch: one tensor per column. Dropping it hands its memory to the next.
#[derive(Debug)]
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

    /// Rows of the batch.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// What the columns are, sorted by name.
    pub fn spec(&self) -> &BatchSpec {
        &self.spec
    }

    /// Bytes of the columns.
    pub fn used_bytes(&self) -> usize {
        self.columns.iter().map(ColumnData::used_bytes).sum()
    }

    /// Bytes of memory the batch holds, with room to grow.
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

    /// The values of the dense, padded or flat column `name`, `[rows, shape..]`
    /// flat in row-major order.
    ///
    /// # Errors
    /// No such column, one of another form, or not of dtype `T`.
    pub fn dense<T: Element>(&self, name: &str) -> Result<&[T], ViewError> {
        let values = self.dense_values(name)?;
        values.as_slice().ok_or_else(|| {
            let (asked, is) = (T::DTYPE, values.dtype());
            ViewError::new(name, ViewErrorKind::OtherDType { asked, is })
        })
    }

    /// The strings of the dense, padded or flat column `name`, in row-major
    /// order.
    ///
    /// # Errors
    /// No such column, one of another form, or not of strings.
    pub fn strings(&self, name: &str) -> Result<&Strings, ViewError> {
        let values = self.dense_values(name)?;
        values.as_strings().ok_or_else(|| {
            let (asked, is) = (crate::DType::String, values.dtype());
            ViewError::new(name, ViewErrorKind::OtherDType { asked, is })
        })
    }

    fn dense_values(&self, name: &str) -> Result<&Values, ViewError> {
        match self.column(name) {
            Some(Column::Dense(tensor)) => Ok(tensor.values),
            Some(_) => Err(ViewError::new(name, ViewErrorKind::NotDense)),
            None => Err(ViewError::new(name, ViewErrorKind::NoColumn)),
        }
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        // One that was taken apart has nothing to give.
        if !self.columns.is_empty() {
            self.recycler.give(std::mem::take(&mut self.columns));
        }
    }
}

/// A column as a tensor, in one of the forms its kind and layout call for.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Column<'a> {
    /// A dense tensor: of dense, padded and flat columns.
    Dense(DenseTensor<'a>),
    /// Sparse or varlen as coordinates.
    Sparse(SparseTensor<'a>),
    /// Varlen as values and row splits.
    Ragged(RaggedTensor<'a>),
    /// Sparse as indices, values and row splits.
    RaggedSparse(RaggedSparseTensor<'a>),
}

/// A dense tensor.
#[derive(Clone, Copy, Debug)]
pub struct DenseTensor<'a> {
    /// `[rows, shape..]`; of a flat column `[n]`.
    pub shape: &'a [i64],
    /// All values in row-major order.
    pub values: &'a Values,
}

/// A sparse tensor in coordinate form (COO); entries in document order.
#[derive(Clone, Copy, Debug)]
pub struct SparseTensor<'a> {
    /// `[nnz, rank + 1]` flat; the first of each is the row.
    pub indices: &'a [i64],
    /// `[nnz]`.
    pub values: &'a Values,
    /// `[rank + 1]`; the first is the number of rows.
    pub dense_shape: &'a [i64],
}

/// A ragged tensor.
#[derive(Clone, Copy, Debug)]
pub struct RaggedTensor<'a> {
    /// The innermost values, end to end.
    pub values: &'a Values,
    /// Row splits, the outermost (over rows) first; each starts with 0.
    pub row_splits: &'a [Buffer<i64>],
}

/// The entries of sparse rows, end to end.
#[derive(Clone, Copy, Debug)]
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
            // Where lists end shows in the segments alone.
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

    /// Forgets all rows; memory is kept.
    pub(crate) fn clear(&mut self) {
        self.values.clear();
        self.indices.clear();
        for splits in &mut self.splits {
            splits.clear();
            splits.push(0);
        }
    }

    fn used_bytes(&self) -> usize {
        let splits: usize = self.splits.iter().map(Buffer::len).sum();
        self.values.used_bytes() + (self.indices.len() + splits) * size_of::<i64>()
    }

    pub(crate) fn capacity_bytes(&self) -> usize {
        let splits: usize = self.splits.iter().map(Buffer::capacity_bytes).sum();
        self.values.capacity_bytes() + self.indices.capacity_bytes() + splits
    }
}

/// The column of `spec` that has its memory in `data`.
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
