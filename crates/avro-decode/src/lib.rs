#![doc = include_str!("../README.md")]

mod convert;
pub mod encode;
mod error;
pub mod feature;
mod json;
mod lenient;
pub mod limits;
mod nearest;
pub mod path;
mod paths;
mod plan;
mod prefetch;
pub mod reference;
pub mod resolve;
pub mod schema;
mod shown;
pub mod single_object;
mod transcode;
mod utf8;
mod value;
mod varint;
#[doc(hidden)]
pub mod varints;
mod words;

pub use convert::{Clock, Convert, ConvertError, DuplicateWord, Meaning, TimeUnit, Vocabulary};
pub use error::{DecodeError, DecodeErrorKind};
pub use feature::{Feature, FeatureError, Features, Fill, Missing};
pub use json::to_json;
pub use lenient::DecodeOptions;
pub use paths::{SchemaPath, SchemaPaths, paths};
pub use plan::{
    Absent, Executed, ExecutedEach, Inferred, LeftOut, LeftOutReason, MeaningError, Meanings,
    OutOfBounds, Plan, PlanError, PlanErrorKind, PlanOptions, Rounded, Sampled, Scratch, Skipper,
    infer,
};
#[doc(hidden)]
pub use prefetch::{prefetch, prefetch_place, prefetch_value};
pub use resolve::{Resolution, ResolveError};
pub use schema::{Schema, SchemaError};
pub use transcode::Transcoder;
pub use utf8::replaced_texts;
pub use value::{Value, ValueError, ValueErrorKind};
