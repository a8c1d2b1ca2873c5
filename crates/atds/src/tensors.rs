//! Batches and their columns: what they are, views of them, and the memory they have.

#[doc(inline)]
pub use tensor_batch::{
    Batch, BatchSpec, Buffer, Column, ColumnKind, ColumnMut, ColumnSpec, DType, DenseTensor,
    Element, Layout, OwnedColumn, RaggedSparseTensor, RaggedSparseView, RaggedTensor, RaggedView,
    RowShape, Scalar, SparseTensor, SparseView, SpecError, SpecErrorKind, Strings, TensorForm,
    UNKNOWN, Values, ValuesMut, ViewAs, ViewError, ViewErrorKind, half,
};

pub use crate::json::{batch_to_json, value_to_json};
