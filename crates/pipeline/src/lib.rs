#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod block;
mod error;
mod fetch;
mod files;
mod flow;
mod framing;
mod memory;
mod ops;
mod pieces;
mod pipeline;
mod planner;
mod reads;
mod sequence;
mod slice;
mod stats;
mod tuning;
mod worker;

pub use atds_shuffle::Stream;
pub use error::{Error, ErrorKind, Place};
pub use files::Files;
pub use pipeline::{Batches, Options, Pipeline};
pub use slice::Slice;
pub use stats::{Stats, StatsHandle};
