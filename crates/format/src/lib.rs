#![doc = include_str!("../README.md")]
#![deny(unsafe_code)]

mod arena;
mod blocks;
mod decoder;
mod error;
mod format;
mod layout;
mod location;
mod place;
mod push_buffer;
mod scratch;
mod source;
mod tally;

pub use arena::Arena;
pub use blocks::{BlockDesc, Blocks, ListedBlock, Next, Payload, Payloads};
pub use decoder::{Decoded, Decoder, Pos, PrepareJob, Prepared, Upcoming};
pub use error::{Error, ErrorKind};
pub use format::{FileInfo, Format, Match};
pub use layout::{LaidBlocks, Layout};
pub use location::Location;
pub use place::Place;
pub use push_buffer::PushBuffer;
pub use scratch::Scratch;
pub use source::{Access, BufferPool, ByteSource, Completion, ReadBuffer};
pub use tally::{Tally, Tolerated};
