#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod compression;
mod crc;
mod decode;
mod encode;
mod error;
mod framer;
mod head;
mod input;
mod limits;
mod message;
#[cfg(feature = "compression")]
mod reader;
mod records;
mod scan;
mod wire;
mod writer;

pub use compression::{Compression, begins_record};
pub use crc::masked_crc;
pub use decode::{
    DecodeError, DecodeErrorKind, Done, Inference, InferredFeatures, Kind, Message, PartitionFault,
    Plan, PlanError, PlanErrorKind, PlanOptions, Scratch, with_dimensions,
};
pub use encode::ExampleEncoder;
pub use error::{Error, ErrorKind};
pub use framer::{Block, Checksums, Frame, Framer, FramerOptions, check_block};
pub use limits::{DEFAULT_BLOCK_BYTES, Limits};
pub use message::{Example, FeatureValues};
#[cfg(feature = "compression")]
pub use reader::RecordReader;
pub use records::{Record, Records};
pub use scan::{BlockEntry, Scan, Scanned};
pub use writer::Writer;
