#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

// The life of a batch, file by file. DESIGN.md says why no thread waits for ever.
//
// An iteration begins: what it is asked for, its threads, the iterator that gives batches out.
mod files;
mod pipeline;

// The planning thread frames blocks. It fetches bytes, and leaves reads of local files to workers.
mod block;
mod planning_thread;
mod read_pool;
mod slice;

// It plans batches: which records of which blocks. It makes ops of them, and queues these in order.
mod ops;
mod planner;
mod sequence;

// All threads meet here: the queue of ops, the finished batches in order, all waiting.
mod flow;

// Workers take ops. They prepare blocks, and decode records into the rows of a piece of a batch.
mod builders;
mod decode;
mod pieces;
mod prepare;
mod worker;
mod workers;

// The memory that all of it takes: leases, the account of an op, and what a batch needs at least.
mod account;
mod measure;
mod memory;
mod need;

// For all of them.
mod delays;
mod error;
mod stats;
mod sync;
mod tuning;

// For who looks on: what each thread does, and traces of it.
mod trace;
mod watch;

#[cfg(all(test, loom))]
mod models;

pub use atds_format::Place;
pub use atds_shuffle::Stream;
pub use error::{Error, ErrorKind};
pub use files::Files;
pub use pipeline::{Batches, Options, Pipeline};
pub use slice::Slice;
pub use stats::{Stats, StatsHandle};
pub use trace::Trace;
