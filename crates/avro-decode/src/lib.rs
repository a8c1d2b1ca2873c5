#![doc = include_str!("../README.md")]

mod check;
mod convert;
pub mod encode;
mod error;
mod json;
mod lenient;
pub mod limits;
mod nearest;
mod paths;
mod plan;
mod prefetch;
pub mod reference;
pub mod resolve;
mod root_fields;
pub mod schema;
pub mod single_object;
mod transcode;
mod utf8;
mod value;
mod varint;
#[doc(hidden)]
pub mod varints;

pub use atds_features::{
    Clock, Convert, DuplicateWord, Feature, FeatureError, Features, Fill, Missing, TimeUnit,
    Vocabulary, path,
};
pub use check::Checker;
pub use convert::{ConvertError, Meaning};
pub use error::{DecodeError, DecodeErrorKind};
pub use json::{double_to_json, float_to_json, to_json};
pub use lenient::DecodeOptions;
pub use paths::{SchemaPath, SchemaPaths, paths};
pub use plan::{
    Absent, Executed, ExecutedEach, Inferred, LeftOut, LeftOutReason, MeaningError, Meanings,
    OutOfBounds, Plan, PlanError, PlanErrorKind, PlanOptions, Rounded, Sampled, Scratch, Skipper,
    infer,
};
#[doc(hidden)]
pub use prefetch::prefetch;
pub use resolve::{Resolution, ResolveError};
pub use schema::{Schema, SchemaError};
pub use transcode::Transcoder;
pub use utf8::replaced_texts;
pub use value::{Value, ValueError, ValueErrorKind};

/// Features: the values to read from a record, and their columns.
pub mod feature {
    pub use atds_features::feature::{
        Extents, Feature, FeatureError, FeatureErrorKind, FeatureKind, Features, Fill, Missing,
        SparseKeys,
    };
}
