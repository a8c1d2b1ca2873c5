#![doc = include_str!("../README.md")]
//!
//! # Modules
//!
//! The root has the items that most programs use: [`Dataset`] and its builder, [`Feature`],
//! [`Batch`], [`DType`], [`Error`]. Modules have the others by subject:
//!
//! | module | what it has |
//! |---|---|
//! | [`features`] | features, conversions, path expressions, the features file |
//! | [`tensors`] | batches, columns and their typed views, owned columns, JSON of a batch |
//! | [`avro`] | Avro schemas, inference, inspection of files, single records, messages |
//! | [`files`] | lookup of files, and explanations if none are found |
//! | [`error`] | the errors by kind and place |
//! | [`stats`] | figures of a run, and decisions of the scheduler |
//! | [`limits`] | the defaults and limits of a pipeline |
//! | [`interface`] | how messages name options in Rust, Python and the command |

pub mod avro;
mod builder;
mod dataset;
pub mod error;
pub mod features;
pub mod files;
mod formats;
pub mod interface;
mod iteration;
mod json;
pub mod limits;
mod lock;
mod machine;
mod source;
pub mod stats;
pub mod tensors;
mod tolerate;

// Reading.
#[doc(inline)]
pub use atds_sched::Threads;
#[doc(inline)]
pub use avro_block::Codec;
pub use builder::DatasetBuilder;
pub use dataset::{Batches, Dataset};
#[doc(inline)]
pub use files::Files;
pub use tolerate::Tolerate;

// Features.
#[doc(inline)]
pub use features::{Convert, Feature, Features, Fill, OutOfBounds, Vocabulary};

// Tensors.
#[doc(inline)]
pub use tensors::{
    Batch, BatchSpec, Column, ColumnKind, ColumnSpec, DType, Layout, Scalar, UNKNOWN,
};

// Errors.
#[doc(inline)]
pub use error::{Error, ErrorKind};

#[doc(hidden)]
pub use tensor_batch::fixed_width_dtypes;
