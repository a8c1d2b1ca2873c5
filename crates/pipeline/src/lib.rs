#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

// In the order in which data passes them. DESIGN.md says why no thread waits for ever.

// What is read, and how; an iteration, and the iterator that gives batches out.
mod files;
mod pipeline;

// The planning thread: bytes become blocks.
mod planning_thread;

mod read_pool;

mod slice;

// Files that take turns.
mod interleave;

// Which records of all are read.
mod split;

// The rest of an epoch, after other readers.
mod layers;

// Where it goes on after batches that were given out before.
mod replay;

mod progress;

mod block;

// It plans batches, which records of which blocks; makes ops of them, and queues these in order.
mod planner;

mod sequence;

mod ops;

// All threads meet here: the queue of ops, the finished batches in order, almost all waiting.
mod flow;

mod workers;

// Workers take ops. They prepare blocks, and decode records into the rows of a piece of a batch.
mod worker;

mod file_reads;

mod prepare;

mod decode;

mod pieces;

mod builders;

// The memory that all of it takes: leases, the account of an op, and what a batch needs at least.
mod memory;

mod account;

mod need;

mod measure;

// What damage costs, where it is left out.
mod damage;

// For all of them.
mod delays;
mod error;
mod stats;
mod sync;
mod tuning;

// For who looks on: what each thread does, and traces of it.
mod watch;

mod trace;

#[cfg(all(test, loom))]
mod models;

pub use atds_format::Place;
pub use atds_shuffle::Stream;
pub use damage::{Skipped, SkippedCounts};
pub use error::{Error, ErrorKind, memory_advice};
pub use files::{BlockCounts, Files};
pub use interleave::Interleave;
pub use layers::{Layer, LayerPart, Rest};
pub use pipeline::{Batches, Options, Pipeline};
pub use planning_thread::BlockCache;
pub use progress::Progress;
pub use read_pool::SpareMemory;
pub use replay::Position;
pub use slice::Slice;
pub use split::{Split, StoredHashes};
pub use stats::{Stats, StatsHandle};
pub use trace::Trace;
