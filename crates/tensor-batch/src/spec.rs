//! What a batch holds: the columns, their dtypes, shapes and layouts.

use std::sync::Arc;

use crate::{DType, SpecError, SpecErrorKind};

/// How a column of varying length is laid out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Layout {
    /// Coordinates: `indices` int64 `[nnz, rank + 1]` with the row first,
    /// `values [nnz]`, `dense_shape [rank + 1]`.
    #[default]
    Coo,
    /// Values and row splits. A varlen column of rank r has r row splits,
    /// outermost first; a sparse one has `indices [nnz, rank]` and one.
    Ragged,
}

/// The kind and shape of a column, without the batch dimension.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ColumnKind {
    /// Every row has `shape`; the tensor is `[batch, shape..]`.
    Dense {
        /// Dimensions, each above 0; empty for a scalar.
        shape: Vec<usize>,
    },
    /// Every row names some cells of `shape` by index.
    Sparse {
        /// Dimensions, each above 0, or [`UNKNOWN`]; at least one.
        shape: Vec<i64>,
        /// Coordinates or ragged.
        layout: Layout,
    },
    /// Every row is nested lists of varying length.
    Varlen {
        /// Dimensions, each above 0, or [`UNKNOWN`] where the length varies; at
        /// least one.
        shape: Vec<i64>,
        /// Coordinates or ragged.
        layout: Layout,
    },
}

/// One column: name, dtype, kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnSpec {
    /// The name, unique in the batch.
    pub name: String,
    /// The dtype of the values.
    pub dtype: DType,
    /// Kind, shape, layout.
    pub kind: ColumnKind,
}

impl ColumnSpec {
    /// A dense column of `shape` (without the batch dimension).
    pub fn dense(name: impl Into<String>, shape: &[usize], dtype: DType) -> Self {
        let shape = shape.to_vec();
        Self::new(name, dtype, ColumnKind::Dense { shape })
    }

    /// A sparse column of `shape`, as coordinates. A dimension may be
    /// [`UNKNOWN`]: then any index from 0 is good.
    pub fn sparse(name: impl Into<String>, shape: &[i64], dtype: DType) -> Self {
        let (shape, layout) = (shape.to_vec(), Layout::Coo);
        Self::new(name, dtype, ColumnKind::Sparse { shape, layout })
    }

    /// A varlen column of `shape`, as coordinates. A dimension may be
    /// [`UNKNOWN`].
    pub fn varlen(name: impl Into<String>, shape: &[i64], dtype: DType) -> Self {
        let (shape, layout) = (shape.to_vec(), Layout::Coo);
        Self::new(name, dtype, ColumnKind::Varlen { shape, layout })
    }

    fn new(name: impl Into<String>, dtype: DType, kind: ColumnKind) -> Self {
        let name = name.into();
        ColumnSpec { name, dtype, kind }
    }

    /// The same column in `layout`; nothing changes for a dense one.
    pub fn with_layout(mut self, new: Layout) -> Self {
        match &mut self.kind {
            ColumnKind::Dense { .. } => {}
            ColumnKind::Sparse { layout, .. } | ColumnKind::Varlen { layout, .. } => *layout = new,
        }
        self
    }

    /// Dimensions of a row: 0 for a scalar.
    pub fn rank(&self) -> usize {
        match &self.kind {
            ColumnKind::Dense { shape } => shape.len(),
            ColumnKind::Sparse { shape, .. } | ColumnKind::Varlen { shape, .. } => shape.len(),
        }
    }

    /// Values of one row of a dense column; `None` for the other kinds.
    pub fn row_len(&self) -> Option<usize> {
        match &self.kind {
            ColumnKind::Dense { shape } => Some(shape.iter().product()),
            _ => None,
        }
    }

    /// Whether values go straight to their final place: dense, fixed width.
    pub(crate) fn in_place(&self) -> bool {
        matches!(self.kind, ColumnKind::Dense { .. }) && self.dtype != DType::String
    }

    fn check(&self) -> Result<(), SpecErrorKind> {
        if self.rank() > MAX_RANK {
            return Err(SpecErrorKind::RankTooHigh { rank: self.rank() });
        }
        match &self.kind {
            ColumnKind::Dense { shape } if shape.contains(&0) => Err(SpecErrorKind::BadDimension),
            ColumnKind::Dense { shape } => shape
                .iter()
                .try_fold(8usize, |size, &dim| size.checked_mul(dim))
                .filter(|&size| size <= isize::MAX as usize)
                .map(|_| ())
                .ok_or(SpecErrorKind::ShapeTooLarge),
            ColumnKind::Sparse { shape, .. } | ColumnKind::Varlen { shape, .. } => {
                if shape.is_empty() {
                    Err(SpecErrorKind::EmptyShape)
                } else if shape.iter().any(|&dim| dim <= 0 && dim != UNKNOWN) {
                    Err(SpecErrorKind::BadDimension)
                } else {
                    Ok(())
                }
            }
        }
    }
}

/// The dimension of a sparse or varlen shape that only the data tells: in
/// `dense_shape`, the largest index in the batch + 1, 0 if there is none.
pub const UNKNOWN: i64 = -1;

/// The highest rank of a column's shape; NumPy stops at 32 axes, one is the
/// batch.
pub const MAX_RANK: usize = 31;

/// The checked columns of a batch, in the sorted order of their names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchSpec {
    columns: Arc<[ColumnSpec]>,
}

impl BatchSpec {
    /// Checks and sorts `columns`.
    ///
    /// # Errors
    /// A name twice, a dimension of 0, a sparse or varlen column without
    /// dimensions, a shape whose size overflows.
    pub fn new(mut columns: Vec<ColumnSpec>) -> Result<Self, SpecError> {
        columns.sort_by(|a, b| a.name.cmp(&b.name));
        for column in &columns {
            column
                .check()
                .map_err(|kind| SpecError::new(&column.name, kind))?;
        }
        for pair in columns.windows(2) {
            if pair[0].name == pair[1].name {
                return Err(SpecError::new(&pair[0].name, SpecErrorKind::DuplicateName));
            }
        }
        Ok(BatchSpec {
            columns: columns.into(),
        })
    }

    /// The columns, sorted by name.
    pub fn columns(&self) -> &[ColumnSpec] {
        &self.columns
    }

    /// The place of the column `name`.
    pub fn position(&self, name: &str) -> Option<usize> {
        self.columns
            .binary_search_by(|column| column.name.as_str().cmp(name))
            .ok()
    }
}
