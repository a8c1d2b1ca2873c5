#![doc = include_str!("../README.md")]

mod buffer;
mod codec;
mod compress;
mod compressed_format;
mod decompress;
mod error;
mod limits;
mod refused;
#[cfg(any(feature = "zstandard", feature = "bzip2", feature = "xz"))]
mod stream;

// A file for each codec. `Codec::Null` needs none.
#[cfg(feature = "bzip2")]
mod bzip2;
#[cfg(feature = "deflate")]
mod deflate;
#[cfg(feature = "snappy")]
mod snappy;
#[cfg(feature = "xz")]
mod xz;
#[cfg(feature = "xz")]
mod xz_dictionary;
#[cfg(feature = "zstandard")]
mod zstandard;

pub use buffer::DecompressBuffer;
pub use codec::Codec;
pub use compress::Compressor;
pub use compressed_format::CompressedFormat;
pub use decompress::{DecompressJob, Decompressor};
pub use error::{CompressError, DecompressError};
