#![doc = include_str!("../README.md")]
#![deny(unsafe_code)]

mod agree;
mod batch;
mod buffer;
mod builder;
mod dtype;
mod error;
mod gather;
mod out;
mod owned;
mod owned_slots;
mod pad;
mod recycle;
mod scalar;
mod segment;
mod short;
mod sizes;
mod slots;
mod spec;
mod strings;
mod values;
mod views;
mod zero_rows;

pub use agree::{Disagreement, RowShape};
pub use batch::{Batch, Column, DenseTensor, RaggedSparseTensor, RaggedTensor, SparseTensor};
pub use buffer::{ALIGNMENT, Buffer};
pub use builder::BatchBuilder;
pub use dtype::DType;
pub use error::{SpecError, SpecErrorKind, TensorForm, ViewError, ViewErrorKind};
pub use gather::GatherTask;
pub use half;
#[doc(hidden)]
pub use out::Out;
pub use owned::{ColumnMut, OwnedColumn, ValuesMut};
pub use owned_slots::{OwnedGatherTasks, OwnedRowSlots};
pub use recycle::{KeepMemory, Kept, Spare};
pub use scalar::Scalar;
pub use segment::Segment;
pub use slots::{DenseElement, RowSlots, Slot};
pub use spec::{BatchSpec, ColumnKind, ColumnSpec, Layout, MAX_RANK, UNKNOWN};
pub use strings::{SHORT_STRING, Strings};
pub use values::{Element, Values};
pub use views::{RaggedSparseView, RaggedView, SparseView, ViewAs};
pub use zero_rows::ZeroRows;

use recycle::Recycler;
