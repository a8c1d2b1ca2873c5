#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod clock;
mod costs;
mod decide;
mod pool;
mod schedule;
mod threads;

pub use clock::thread_time;
pub use costs::Costs;
pub use pool::{JobThread, ThreadPool};
pub use schedule::{Schedule, WorkerLimit};
pub use threads::{MAX_THREADS, Threads};
