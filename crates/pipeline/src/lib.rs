#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod account;
mod block;
mod error;
mod fetch;
mod files;
mod flow;
mod framing;
mod measure;
mod memory;
mod need;
mod ops;
mod pieces;
mod pipeline;
mod planner;
mod prepare;
mod reads;
mod sequence;
mod slice;
mod stats;
mod tuning;
mod worker;
mod workers;

pub use atds_shuffle::Stream;
pub use error::{Error, ErrorKind, Place};
pub use files::Files;
pub use pipeline::{Batches, Options, Pipeline};
pub use slice::Slice;
pub use stats::{Stats, StatsHandle};
