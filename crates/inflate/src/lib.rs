#![doc = include_str!("../README.md")]

mod bits;
mod copy;
mod entry;
mod error;
mod header;
mod inflater;
mod kernel;
mod lane;
mod output;
mod table;
mod tokens;

pub use error::Error;
pub use inflater::Inflater;
pub use output::{Output, Stream};

/// Number of streams in progress at a time.
#[doc(hidden)]
pub const LANES: usize = 4;
