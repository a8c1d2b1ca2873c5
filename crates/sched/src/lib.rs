#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod costs;
mod decide;
mod pool;
mod schedule;
mod threads;

pub use costs::Costs;
pub use pool::{JobThread, ThreadPool};
pub use schedule::{Schedule, WorkerLimit};
pub use threads::{MAX_THREADS, Threads};
