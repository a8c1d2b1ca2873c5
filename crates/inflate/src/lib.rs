#![doc = include_str!("../README.md")]

mod bits;
mod copy;
mod entry;
mod error;
mod header;
mod inflater;
mod kernel;
mod lane;
mod room;
mod table;
mod tokens;

pub use error::Error;
pub use inflater::Inflater;
pub use room::{Memory, Stream};

/// Streams that are inflated at a time.
pub const LANES: usize = 4;
