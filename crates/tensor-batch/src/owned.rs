//! Owned columns, from a batch that is split into its columns.

use std::fmt;
use std::sync::Arc;

use crate::batch::{ColumnData, column_of};
use crate::values::each_values;
use crate::{
    Batch, BatchSpec, Buffer, Column, ColumnKind, ColumnSpec, DType, Layout, Recycler, Strings,
    Values,
};

/// A column that owns its memory. The memory does not move. When the column is dropped, a later
/// batch reuses it.
///
/// An owned column does not keep the other columns of its batch alive.
pub struct OwnedColumn {
    position: usize,
    spec: BatchSpec,
    data: ColumnData,
    recycler: Arc<Recycler>,
}

impl Batch {
    /// Splits the batch into its columns, sorted by name.
    pub fn into_columns(mut self) -> impl ExactSizeIterator<Item = OwnedColumn> {
        let (spec, recycler) = (self.spec.clone(), self.recycler.clone());
        let columns = std::mem::take(&mut self.columns).into_iter().enumerate();
        columns.map(move |(position, data)| OwnedColumn {
            position,
            spec: spec.clone(),
            data,
            recycler: recycler.clone(),
        })
    }
}

impl fmt::Debug for OwnedColumn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnedColumn")
            .field("spec", self.spec())
            .field("view", &self.view())
            .finish_non_exhaustive()
    }
}

impl OwnedColumn {
    /// The spec of the column.
    pub fn spec(&self) -> &ColumnSpec {
        &self.spec.columns()[self.position]
    }

    /// The index of the column in the batch.
    pub fn position(&self) -> usize {
        self.position
    }

    /// The column as a tensor.
    pub fn view(&self) -> Column<'_> {
        column_of(&self.data, self.spec())
    }

    /// The column as a tensor whose values can be changed in place.
    pub fn view_mut(&mut self) -> ColumnMut<'_> {
        let data = &mut self.data;
        let values = ValuesMut::new(&mut data.values);
        let (indices, shape) = (data.indices.as_mut_slice(), data.shape.as_slice());
        match &self.spec.columns()[self.position].kind {
            ColumnKind::Dense { .. } | ColumnKind::Padded { .. } | ColumnKind::Flat => {
                ColumnMut::Dense { shape, values }
            }
            ColumnKind::Varlen {
                layout: Layout::Ragged,
                ..
            } => ColumnMut::Ragged {
                values,
                row_splits: &mut data.splits,
            },
            ColumnKind::Sparse {
                layout: Layout::Ragged,
                ..
            } => ColumnMut::RaggedSparse {
                indices,
                values,
                row_splits: data.splits[0].as_mut_slice(),
                dense_shape: shape,
            },
            ColumnKind::Sparse { .. } | ColumnKind::Varlen { .. } => ColumnMut::Sparse {
                indices,
                values,
                dense_shape: shape,
            },
        }
    }
}

impl Drop for OwnedColumn {
    fn drop(&mut self) {
        let data = std::mem::replace(&mut self.data, ColumnData::empty());
        let columns = self.spec.columns().len();
        self.recycler.give_column(self.position, columns, data);
    }
}

/// A column as a tensor whose values can be changed; the forms are those of
/// [`Column`].
#[derive(Debug)]
#[non_exhaustive]
pub enum ColumnMut<'a> {
    /// As [`DenseTensor`](crate::DenseTensor).
    Dense {
        /// `[rows, shape..]`; of a flat column `[n]`.
        shape: &'a [i64],
        /// All values in row-major order.
        values: ValuesMut<'a>,
    },
    /// As [`SparseTensor`](crate::SparseTensor).
    Sparse {
        /// `[nnz, rank + 1]` flat.
        indices: &'a mut [i64],
        /// `[nnz]`.
        values: ValuesMut<'a>,
        /// `[rank + 1]`.
        dense_shape: &'a [i64],
    },
    /// As [`RaggedTensor`](crate::RaggedTensor).
    Ragged {
        /// The innermost values, end to end.
        values: ValuesMut<'a>,
        /// Row splits, the outermost first.
        row_splits: &'a mut [Buffer<i64>],
    },
    /// As [`RaggedSparseTensor`](crate::RaggedSparseTensor).
    RaggedSparse {
        /// `[nnz, rank]` flat.
        indices: &'a mut [i64],
        /// `[nnz]`.
        values: ValuesMut<'a>,
        /// `[rows + 1]`.
        row_splits: &'a mut [i64],
        /// `[rank + 1]`.
        dense_shape: &'a [i64],
    },
}

/// The values of a column, mutable in place.
#[derive(Debug)]
#[non_exhaustive]
pub enum ValuesMut<'a> {
    /// Values of fixed width.
    Fixed {
        /// The dtype of the values.
        dtype: DType,
        /// Number of values.
        len: usize,
        /// The values end to end in native order, aligned to
        /// [`ALIGNMENT`](crate::ALIGNMENT); a bool is a byte.
        bytes: &'a mut [u8],
    },
    /// Strings, which are read-only.
    Strings(&'a Strings),
}

impl<'a> ValuesMut<'a> {
    fn new(values: &'a mut Values) -> Self {
        let (dtype, len) = (values.dtype(), values.len());
        each_values!(
            values,
            buffer => ValuesMut::Fixed {
                dtype,
                len,
                bytes: bytemuck::cast_slice_mut(buffer.as_mut_slice()),
            },
            strings => ValuesMut::Strings(strings)
        )
    }
}
