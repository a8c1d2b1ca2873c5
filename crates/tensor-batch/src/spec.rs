//! The specification of a batch: its columns with their dtypes, shapes and layouts.

use std::fmt;
use std::sync::Arc;

use crate::{DType, Scalar, SpecError, SpecErrorKind};

/// The layout of a column of varying length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Layout {
    /// Coordinates: `indices` int64 `[nnz, rank + 1]` with the row first,
    /// `values [nnz]`, `dense_shape [rank + 1]`.
    #[default]
    Coo,
    /// Values and row splits. A varlen column of rank r has r row splits, outermost first. A sparse
    /// column has `indices [nnz, rank]` and one row split.
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
    /// Every row has some cells of `shape`, each with its index.
    Sparse {
        /// Dimensions, each above 0, or [`UNKNOWN`]; at least one.
        shape: Vec<i64>,
        /// Coordinates or ragged.
        layout: Layout,
    },
    /// Every row is nested lists of varying length.
    Varlen {
        /// Dimensions, each above 0, or [`UNKNOWN`] where the length varies. A ragged column has at
        /// least one. A column of coordinates may have none; a row then has at most one entry:
        /// `indices [nnz, 1]`, `dense_shape [1]`.
        shape: Vec<i64>,
        /// Coordinates or ragged.
        layout: Layout,
    },
    /// Every row is nested lists of varying length, made dense by filling up the shorter lists. The
    /// tensor is `[batch, dims..]`.
    Padded {
        /// Dimensions, each above 0, or [`UNKNOWN`] for the largest length in the
        /// batch, 0 if there is none; at least one.
        shape: Vec<i64>,
        /// The value that fills lists up.
        fill: Scalar,
        /// Whether all lists of a dimension must have one length in a batch, so that no list is
        /// filled up. [`BatchBuilder::disagreement`] checks this.
        ///
        /// [`BatchBuilder::disagreement`]: crate::BatchBuilder::disagreement
        exact: bool,
    },
    /// Values that belong to entries of another column and not to rows, such as a mask of sparse
    /// values. The tensor is `[n]`.
    Flat,
}

/// One column: name, dtype, kind.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
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
    /// [`UNKNOWN`]: then any index from 0 on is valid.
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

    /// A column of nested lists that are filled up with `fill` to `shape`, in
    /// which a dimension may be [`UNKNOWN`]; its dtype is that of `fill`.
    pub fn padded(name: impl Into<String>, shape: &[i64], fill: Scalar) -> Self {
        let (shape, dtype) = (shape.to_vec(), fill.dtype());
        let exact = false;
        let kind = ColumnKind::Padded { shape, fill, exact };
        Self::new(name, dtype, kind)
    }

    /// A flat column. The decoder determines its number of values.
    pub fn flat(name: impl Into<String>, dtype: DType) -> Self {
        Self::new(name, dtype, ColumnKind::Flat)
    }

    /// A column of any kind.
    pub fn new(name: impl Into<String>, dtype: DType, kind: ColumnKind) -> Self {
        let name = name.into();
        ColumnSpec { name, dtype, kind }
    }

    /// The same column in layout `new`. Dense, padded and flat columns have no layout and do not
    /// change.
    pub fn with_layout(mut self, new: Layout) -> Self {
        match &mut self.kind {
            ColumnKind::Dense { .. } | ColumnKind::Padded { .. } | ColumnKind::Flat => {}
            ColumnKind::Sparse { layout, .. } | ColumnKind::Varlen { layout, .. } => *layout = new,
        }
        self
    }

    /// Number of dimensions of a row: 0 for a scalar and for a flat column.
    pub fn rank(&self) -> usize {
        match &self.kind {
            ColumnKind::Dense { shape } => shape.len(),
            ColumnKind::Sparse { shape, .. }
            | ColumnKind::Varlen { shape, .. }
            | ColumnKind::Padded { shape, .. } => shape.len(),
            ColumnKind::Flat => 0,
        }
    }

    /// Number of values in a row of a dense column; `None` for the other kinds.
    pub fn row_len(&self) -> Option<usize> {
        match &self.kind {
            ColumnKind::Dense { shape } => Some(shape.iter().product()),
            _ => None,
        }
    }

    /// The way in which values get to their final place.
    pub(crate) fn placement(&self) -> Placement<'_> {
        match &self.kind {
            ColumnKind::Dense { shape } if self.dtype != DType::String => Placement::Written {
                row_len: shape.iter().product(),
            },
            ColumnKind::Padded { shape, fill, .. } => Placement::Padded { shape, fill },
            _ => Placement::Joined,
        }
    }

    fn check(&self) -> Result<(), SpecErrorKind> {
        if self.rank() > MAX_RANK {
            return Err(SpecErrorKind::RankTooHigh { rank: self.rank() });
        }
        match &self.kind {
            ColumnKind::Dense { shape } if shape.contains(&0) => Err(SpecErrorKind::BadDimension),
            ColumnKind::Dense { shape } => check_size(shape.iter().copied()),
            ColumnKind::Varlen {
                shape,
                layout: Layout::Coo,
            } => check_dimensions(shape),
            ColumnKind::Sparse { shape, .. }
            | ColumnKind::Varlen { shape, .. }
            | ColumnKind::Padded { shape, .. }
                if shape.is_empty() =>
            {
                Err(SpecErrorKind::EmptyShape)
            }
            ColumnKind::Sparse { shape, .. } | ColumnKind::Varlen { shape, .. } => {
                check_dimensions(shape)
            }
            ColumnKind::Padded { fill, .. } if fill.dtype() != self.dtype => {
                let (fill, column) = (fill.dtype(), self.dtype);
                Err(SpecErrorKind::FillDType { fill, column })
            }
            ColumnKind::Padded { shape, .. } => {
                check_dimensions(shape)?;
                let known = shape.iter().filter_map(|&dim| usize::try_from(dim).ok());
                check_size(known)
            }
            ColumnKind::Flat => Ok(()),
        }
    }
}

/// The way in which the values of a column get to their final place.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Placement<'a> {
    /// The decoder writes them there: dense columns of fixed width.
    Written {
        /// Values of a row.
        row_len: usize,
    },
    /// Segments are copied end to end.
    Joined,
    /// Segments are copied and filled up, when the shape of the batch is known.
    Padded {
        /// Dimensions or [`UNKNOWN`].
        shape: &'a [i64],
        fill: &'a Scalar,
    },
}

fn check_dimensions(shape: &[i64]) -> Result<(), SpecErrorKind> {
    if shape.iter().any(|&dim| dim <= 0 && dim != UNKNOWN) {
        return Err(SpecErrorKind::BadDimension);
    }
    Ok(())
}

/// Refuses rows of 8-byte values that no memory could hold.
fn check_size(mut dims: impl Iterator<Item = usize>) -> Result<(), SpecErrorKind> {
    dims.try_fold(8usize, |size, dim| size.checked_mul(dim))
        .filter(|&size| size <= isize::MAX as usize)
        .map(|_| ())
        .ok_or(SpecErrorKind::ShapeTooLarge)
}

/// A dimension that depends on the data. For a sparse or varlen column it becomes the largest index
/// in the batch + 1. For a padded column it becomes the largest length in the batch. It becomes 0
/// without entries.
pub const UNKNOWN: i64 = -1;

/// The highest rank of a column's shape; NumPy stops at 32 axes, one is the
/// batch.
pub const MAX_RANK: usize = 31;

/// The checked columns of a batch, in the sorted order of their names.
#[derive(Clone, PartialEq, Eq)]
pub struct BatchSpec {
    columns: Arc<[ColumnSpec]>,
}

/// Shows the first columns, one line each.
impl fmt::Debug for BatchSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        /// Number of columns that are shown; they fit a screen.
        const SHOWN: usize = 20;
        let mut map = f.debug_map();
        for column in self.columns.iter().take(SHOWN) {
            let ColumnSpec { name, dtype, kind } = column;
            map.entry(name, &format_args!("{dtype} {kind:?}"));
        }
        if self.columns.len() > SHOWN {
            map.finish_non_exhaustive()
        } else {
            map.finish()
        }
    }
}

impl BatchSpec {
    /// Number of bytes of a row in dense columns: other columns are as large as their values.
    pub fn fixed_row_bytes(&self) -> u64 {
        let columns = self.columns().iter().map(|column| {
            let size = column.dtype.size().unwrap_or(0) as u64;
            let len = column.row_len().unwrap_or(0) as u64;
            len.saturating_mul(size)
        });
        columns.fold(0, u64::saturating_add)
    }

    /// Checks and sorts `columns`.
    ///
    /// # Errors
    /// A name twice, a dimension of 0, a sparse, padded or ragged column
    /// without dimensions, a fill of another dtype, a shape whose size
    /// overflows.
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

    /// The index of the column `name`.
    pub fn position(&self, name: &str) -> Option<usize> {
        self.columns
            .binary_search_by(|column| column.name.as_str().cmp(name))
            .ok()
    }
}
