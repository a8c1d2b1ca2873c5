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
//! | [`write`](mod@write) | new files of Avro and TFRecord, record by record |
//! | [`records`] | the records of a file of any format, as JSON |
//! | [`inspect`](mod@inspect), [`verify`](mod@verify) | the contents of a file of any format; damage, its places and probable causes |
//! | [`convert`](mod@convert) | files of one format written as another |
//! | [`index`] | the record counts of files, counted once for many processes |
//! | [`files`] | lookup of files, and explanations if none are found |
//! | [`error`] | the errors by kind and place |
//! | [`damage`] | whether damage is an error or left out, and what was left out |
//! | [`state`] | where an iteration is, and going on there |
//! | [`shares`] | the records of each rank, and of its workers |
//! | [`stats`] | figures of a run, and decisions of the scheduler |
//! | [`limits`] | the defaults and limits of a pipeline |
//! | [`interface`] | how messages name options in Rust, Python and the command |

pub mod avro;
mod batches;
#[cfg(feature = "btable")]
pub mod btable;
mod builder;
#[cfg(any(feature = "btable", feature = "tfrecord"))]
#[cfg_attr(
    not(all(feature = "btable", feature = "tfrecord")),
    allow(
        dead_code,
        unused_imports,
        unused_mut,
        unused_variables,
        reason = "with one format beside Avro, a part of it has no use"
    )
)]
pub mod convert;
pub mod damage;
mod dataset;
pub mod error;
pub mod features;
pub mod files;
mod formats;
pub mod index;
pub mod inspect;
pub mod interface;
mod interleave;
mod iteration;
mod json;
pub mod limits;
mod lock;
mod machine;
mod new_file;
#[cfg_attr(
    not(any(feature = "btable", feature = "tfrecord")),
    allow(dead_code, reason = "Avro files are read without a part of it")
)]
mod opened;
pub mod records;
pub mod shares;
mod side_by_side;
mod source;
mod split;
pub mod state;
pub mod stats;
pub mod tensors;
mod tolerate;
pub mod verify;
pub mod write;

// Reading.
#[doc(inline)]
pub use atds_sched::Threads;
#[doc(inline)]
pub use avro_block::Codec;
pub use batches::Batches;
pub use builder::{DatasetBuilder, Shuffle};
pub use damage::OnError;
pub use dataset::Dataset;
#[doc(inline)]
pub use files::Files;
pub use formats::FileFormat;
pub use shares::ShardBy;
pub use split::{Split, SplitBy, SplitFault};
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
