#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod costs;
mod decide;
mod pool;
mod threads;

pub use costs::{Costs, Schedule};
pub use pool::{JobThread, ThreadPool};
pub use threads::{MAX_THREADS, Threads};
