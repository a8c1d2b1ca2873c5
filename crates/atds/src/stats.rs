//! Statistics of a run: counters, times, and decisions of the scheduler.

#[doc(inline)]
pub use atds_format::Tolerated;
#[doc(inline)]
pub use atds_pipeline::{Stats, StatsHandle, Trace};
#[doc(inline)]
pub use atds_sched::{Schedule, WorkerLimit};
