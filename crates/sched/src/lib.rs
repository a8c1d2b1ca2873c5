#![doc = include_str!("../README.md")]

mod apart;
mod broadcast;
mod choose;
mod cost;
mod cut;
mod limits;
mod partition;
mod pool;
mod queue;
mod schedule;
mod scheduler;
mod seat;
mod simulate;
mod threads;

pub use choose::{Decision, Timings};
pub use cost::{BlockWork, CostModel, Observed};
pub use limits::MAX_THREADS;
pub use partition::partition;
pub use pool::{Pool, RunReport};
pub use schedule::{Schedule, Wishes};
pub use scheduler::{Scheduler, SchedulerStats, Threads};
pub use simulate::{Machine, simulate};
pub use threads::{JobThread, ThreadPool};
