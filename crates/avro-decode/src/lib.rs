#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

pub mod encode;
mod error;
mod json;
pub mod limits;
pub mod path;
mod plan;
pub mod reference;
pub mod resolve;
pub mod schema;
mod value;
mod varint;

pub use error::{DecodeError, DecodeErrorKind};
pub use json::to_json;
pub use plan::{
    Executed, Inferred, LeftOut, OutOfBounds, Plan, PlanError, PlanErrorKind, PlanOptions, infer,
};
pub use schema::{Schema, SchemaError};
pub use value::{Value, ValueError, ValueErrorKind};
