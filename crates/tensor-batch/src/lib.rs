#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod batch;
mod buffer;
mod builder;
mod dtype;
mod error;
mod recycle;
mod slots;
mod spec;
mod values;

pub use batch::{Batch, Column, DenseTensor, RaggedSparseTensor, RaggedTensor, SparseTensor};
pub use buffer::{ALIGNMENT, Buffer};
pub use builder::{BatchBuilder, GatherTask};
pub use dtype::DType;
pub use error::{SpecError, SpecErrorKind, ViewError, ViewErrorKind};
pub use slots::{DenseElement, RowSlots, Segment, Slot};
pub use spec::{BatchSpec, ColumnKind, ColumnSpec, Layout, MAX_RANK, UNKNOWN};
pub use values::{Element, Strings, Values};

use recycle::Recycler;
