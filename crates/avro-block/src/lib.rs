#![doc = include_str!("../README.md")]

mod after_block;
mod block;
mod diagnose;
mod error;
mod framer;
mod header;
mod index;
mod index_scan;
mod limits;
mod mapped;
mod pieces;
mod reader;
mod source;
mod sync;
mod varint;
mod writer;

pub use atds_codec::{
    Codec, CompressError, CompressedFormat, Compressor, DecompressBuffer, DecompressError,
    DecompressJob, Decompressor,
};

pub use after_block::TrailingBytes;
pub use block::{Block, BlockHead};
pub use diagnose::Found;
pub use error::{ContainerPart, Error, ErrorKind};
pub use framer::{Frame, Framer};
pub use header::{Header, MAGIC};
pub use index::{BlockIndex, IndexEntry};
pub use index_scan::{IndexScan, Scan};
pub use limits::Limits;
pub use mapped::{Mapping, map_file};
pub use reader::{BlockReader, Blocks, MappedBlocks, block_at, read_block_at};
pub use source::{BytesSource, ReadSource, Source};
pub use sync::{SyncMarker, find_sync};
pub use writer::{Writer, WriterOptions};
