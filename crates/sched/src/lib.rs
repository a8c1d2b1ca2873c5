#![doc = include_str!("../README.md")]

mod broadcast;
mod choose;
mod cost;
mod limits;
mod partition;
mod pool;
mod scheduler;
mod seat;
mod simulate;

pub use choose::{Decision, Timings};
pub use cost::{BlockWork, CostModel, Observed};
pub use limits::MAX_THREADS;
pub use partition::partition;
pub use pool::{Pool, RunReport};
pub use scheduler::{Schedule, Scheduler, SchedulerStats, Threads};
pub use simulate::{Machine, simulate};
