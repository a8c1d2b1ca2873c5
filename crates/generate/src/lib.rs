#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod alias;
mod described;
mod draws;
mod encoder;
mod error;
mod field;
mod files;
mod limits;
mod new_files;
mod people;
mod preset;
mod random;
mod shape;

#[cfg(test)]
mod tests;

#[doc(inline)]
pub use avro_block::Codec;
pub use encoder::RecordEncoder;
pub use error::{GenerateError, GenerateErrorKind, UnsupportedFeature};
pub use files::{GenerateOptions, Generated, generate, generate_with_progress};
pub use limits::{MAX_FILES, MAX_MEAN_LENGTH, MAX_SAMPLE_VALUES};
pub use preset::Preset;
pub use shape::RecordShape;
