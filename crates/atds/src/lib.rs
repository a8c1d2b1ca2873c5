#![doc = include_str!("../README.md")]

mod ahead;
mod block;
mod budget;
mod builder;
mod crew;
mod dataset;
mod encoded;
mod engine;
mod error;
pub mod features;
mod files;
pub mod generate;
mod handoff;
mod inferred;
mod inspect;
mod intake;
mod interface;
mod json;
mod kept;
pub mod limits;
mod mappings;
pub mod messages;
mod once;
mod outlet;
mod planner;
mod plans;
mod reader;
mod records;
mod room;
mod schemas;
mod slab;
mod slice;
mod source;
mod spare;
mod stats;
mod task;
mod threads;
mod tolerate;
mod unpack;
mod walk;
mod window;
mod work;

pub use builder::DatasetBuilder;
pub use dataset::{Batches, Dataset};
pub use encoded::EncodedRecords;
pub use error::{Error, ErrorKind, Place};
pub use features::{EntryErrorKind, FeaturesError};
pub use files::{Files, NothingFound};
pub use inspect::{
    InspectOptions, InspectedPath, Inspection, inspect, inspect_features, inspect_with,
};
pub use interface::{Interface, printable};
pub use json::{batch_to_json, value_to_json};
pub use plans::{infer_features, inference_warnings};
pub use records::{RecordOptions, Records};
pub use schemas::FileSchemas;
pub use stats::{Stats, StatsHandle};
pub use tolerate::{Tolerate, Tolerated};
pub use unpack::Packing;

pub use atds_sched::{Decision, SchedulerStats, Threads};
#[doc(hidden)]
pub use tensor_batch::fixed_width_dtypes;

pub use avro_block::{Codec, Found};
pub use avro_decode::feature::{Extents, FeatureErrorKind, FeatureKind, SparseKeys};
pub use avro_decode::{
    Clock, Convert, ConvertError, DecodeErrorKind, DuplicateWord, Feature, FeatureError, Features,
    Fill, Inferred, LeftOut, LeftOutReason, Meaning, MeaningError, Missing, OutOfBounds, PlanError,
    PlanErrorKind, Rounded, Schema, SchemaError, SchemaPath, SchemaPaths, TimeUnit, Vocabulary,
    infer, path, paths,
};
pub use tensor_batch::{
    Batch, BatchSpec, Buffer, Column, ColumnKind, ColumnMut, ColumnSpec, DType, DenseTensor,
    Element, Layout, OwnedColumn, RaggedSparseTensor, RaggedTensor, RowShape, Scalar, SparseTensor,
    SpecError, Strings, UNKNOWN, Values, ValuesMut, ViewError, half,
};
