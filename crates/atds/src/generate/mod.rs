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

mod alias;
mod encoder;
mod error;
mod field;
mod files;
mod preset;
mod random;

#[cfg(test)]
mod tests;

pub use avro_block::Codec;
pub use encoder::RecordEncoder;
pub use error::GenerateError;
pub use files::{GenerateOptions, Generated, MAX_FILES, generate, generate_with_progress};
pub use preset::Preset;
