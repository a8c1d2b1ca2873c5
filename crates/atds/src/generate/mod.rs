//! Sample files: records of a known shape with random values, the same for the same seed.
//!
//! ```
//! use atds::generate::{GenerateOptions, Preset, generate};
//!
//! # let dir = tempfile::tempdir()?;
//! # let dir = dir.path();
//! let mut options = GenerateOptions::new(Preset::Ads, 1_000);
//! options.files = 4;
//! let generated = generate(dir, &options)?;
//! assert_eq!(generated.files.len(), 4);
//! assert_eq!(generated.records, 1_000);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Features can describe other shapes of records:
//!
//! ```
//! use atds::generate::{GenerateOptions, RecordShape, generate};
//! use atds::{DType, Feature, Features};
//!
//! # let dir = tempfile::tempdir()?;
//! # let dir = dir.path();
//! let image = Feature::dense("image", &[28, 28], DType::Float32);
//! let words = Feature::varlen("words", &[-1], DType::String);
//! let shape = RecordShape::of_features(&Features::new([image, words])?, 20.0)?;
//! generate(dir, &GenerateOptions::new(shape, 1_000))?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod alias;
mod described;
mod draws;
mod encoder;
mod error;
mod field;
mod files;
mod new_files;
mod people;
mod preset;
mod random;
mod shape;

#[cfg(test)]
mod tests;

pub use avro_block::Codec;
pub use encoder::RecordEncoder;
pub use error::{GenerateError, ShapeError, ShapeErrorKind};
pub use files::{GenerateOptions, Generated, MAX_FILES, generate, generate_with_progress};
pub use preset::Preset;
pub use shape::RecordShape;
