//! The limits of this crate, each with its reason.

use std::time::Duration;

/// The most threads a pool has: more than any machine this runs on has cores,
/// and few enough for a mistyped number to do no harm.
pub const MAX_THREADS: usize = 1024;

/// Chunks that each thread's share is cut into, so that an idle thread finds
/// something to steal. `DESIGN.md` weighs their number.
pub(crate) const CHUNKS_PER_THREAD: usize = 4;

/// Runs that nothing is learnt from about the number of threads: memory is
/// touched for the first time, by whatever number they have.
pub(crate) const WARM_UP: u64 = 4;

/// How long a thread looks out for what it waits for before it sleeps. Falling
/// asleep and being woken costs about as much; the two runs of a batch, to
/// decode and to gather, follow one another within less.
pub(crate) const SPIN: Duration = Duration::from_micros(5);
