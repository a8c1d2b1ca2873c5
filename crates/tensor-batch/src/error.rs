//! The errors of this crate.

use std::fmt;

use thiserror::Error;

/// An invalid column.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("column '{column}': {kind}")]
#[non_exhaustive]
pub struct SpecError {
    /// The column's name.
    pub column: String,
    /// The fault.
    pub kind: SpecErrorKind,
}

impl SpecError {
    #[cold]
    pub(crate) fn new(column: &str, kind: SpecErrorKind) -> Self {
        let column = column.to_owned();
        SpecError { column, kind }
    }
}

/// The fault of a column.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum SpecErrorKind {
    /// Two columns have the name.
    #[error("the name is given twice")]
    DuplicateName,
    /// A dimension is 0 or negative.
    #[error("a dimension must be above 0; where the column is not dense, -1 stands for unknown")]
    BadDimension,
    /// A sparse, padded or ragged shape has no dimension.
    #[error("the shape is empty; sparse, padded and ragged columns have at least one dimension")]
    EmptyShape,
    /// The shape has too many dimensions.
    #[error("the shape has {rank} dimensions, more than {}", crate::MAX_RANK)]
    RankTooHigh {
        /// Number of dimensions of the shape.
        rank: usize,
    },
    /// A padded column is filled with a value of another dtype.
    #[error("the fill value is {fill}, but the column is {column}")]
    FillDType {
        /// The dtype of the fill.
        fill: crate::DType,
        /// The dtype of the column.
        column: crate::DType,
    },
    /// The shape's size overflows.
    #[error("the shape is too large to address")]
    ShapeTooLarge,
}

/// An error of a view: the batch has no such column, or the column has another form or dtype.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("column '{column}': {kind}")]
#[non_exhaustive]
pub struct ViewError {
    /// The name of the view's column.
    pub column: String,
    /// The reason why there is no such view.
    pub kind: ViewErrorKind,
}

impl ViewError {
    #[cold]
    pub(crate) fn new(column: &str, kind: ViewErrorKind) -> Self {
        let column = column.to_owned();
        ViewError { column, kind }
    }
}

/// The reason why there is no such view.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum ViewErrorKind {
    /// The batch has no such column.
    #[error("the batch has no such column")]
    NoColumn,
    /// The column is a tensor of another form.
    #[error("the column is {is}, not {asked}")]
    OtherForm {
        /// The form of the view.
        asked: TensorForm,
        /// The form of the column.
        is: TensorForm,
    },
    /// The column is of another dtype.
    #[error("the column is {is}, not {asked}")]
    OtherDType {
        /// The dtype of the view.
        asked: crate::DType,
        /// The dtype of the column.
        is: crate::DType,
    },
}

/// The form of a tensor, see [`Column`](crate::Column).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TensorForm {
    /// `dense`.
    Dense,
    /// `sparse`: coordinates.
    Sparse,
    /// `ragged`: values and row splits.
    Ragged,
    /// `ragged sparse`: indices, values and row splits.
    RaggedSparse,
}

impl fmt::Display for TensorForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TensorForm::Dense => "dense",
            TensorForm::Sparse => "sparse",
            TensorForm::Ragged => "ragged",
            TensorForm::RaggedSparse => "ragged sparse",
        })
    }
}
