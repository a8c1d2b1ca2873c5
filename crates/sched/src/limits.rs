//! The limits of this crate, each with its reason.

use std::time::Duration;

/// The most threads a pool has: more than any machine this runs on has cores,
/// and few enough for a mistyped number to do no harm.
pub const MAX_THREADS: usize = 1024;

/// What a chunk is worth making for, in nanoseconds of its work: ten times what
/// it costs to have one more of them.
pub(crate) const WORTH_NS: f64 = 17_000.0;

/// The parts that each thread's share is cut into, from its front: an idle
/// thread finds small ones to steal at its back. `DESIGN.md` weighs them.
pub(crate) const CUTS: &[u32] = &[5, 4, 3, 2, 1, 1];

/// The same where a share takes [`FINE_NS`]: half of it in small parts, which
/// even out one thread that is half as fast as the others.
pub(crate) const FINE_CUTS: &[u32] = &[11, 10, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1];

/// A share that takes so long may be cut finer: its small parts are still worth
/// their price.
pub(crate) const FINE_NS: f64 = 5_000_000.0;

/// The start of a share is moved to where it is wished by no more than this part of
/// a share: what that makes uneven, stealing evens out.
pub(crate) const MOVED: usize = 16;

/// A dear block costs more than this part of a thread's share,
pub(crate) const DEAR: f64 = 1.0 / 16.0;

/// and more than so many times the mean of all: it is not dear only because
/// threads are many.
pub(crate) const DEAR_MEANS: f64 = 2.0;

/// Where there are at most so many blocks to a thread, and they are not even,
/// each is a chunk by itself: there would be as many chunks anyway.
pub(crate) const FEW_BLOCKS: usize = CUTS.len();

/// Where there are at most so many, all but the small ones are dear, if they are
/// worth it:
pub(crate) const FAIRLY_FEW_BLOCKS: usize = 4 * FEW_BLOCKS;

/// those that cost more than this part of the mean.
pub(crate) const FAIRLY_DEAR: f64 = 0.75;

/// Blocks are even if the dearest costs at most so many times their mean.
pub(crate) const EVEN: f64 = 1.25;

/// Runs that nothing is learnt from about the number of threads: memory is
/// touched for the first time, by whatever number they have.
pub(crate) const WARM_UP: u64 = 4;

/// Runs until each thread has found a core. When an iteration starts, the reader has most to
/// do, and a thread that is called meanwhile may be put behind another on the same core. Runs
/// that most of those called came late to tell what fewer take; behind these, they count as any
/// other; so they do behind shorter iterations that have as many together.
pub(crate) const SETTLING: u64 = 64;

/// A thread is late where one part in so many of a run is over.
pub(crate) const LATE: u64 = 2;

/// A thread that has not begun so long after its call may wait for the caller's core, and is
/// sent to another: most have begun by then that are woken on a core of their own.
pub(crate) const AWAKE_BY: Duration = Duration::from_micros(50);

/// Threads that are sent at a time: some microseconds each that the caller does not work.
pub(crate) const MOST_APART: usize = 8;

/// How long a thread looks out for what it waits for before others may have its core
/// meanwhile.
pub(crate) const SPIN: Duration = Duration::from_micros(5);

/// How long it does so in all before it sleeps, where what it waits for comes as soon as
/// that. Between two batches there are some 100 microseconds in which it has nothing to
/// do, and some more where another has still to end its part. Falling asleep and being
/// woken costs as much, and where a reader or a consumer is woken at the same time, a
/// thread may be put behind another on the same core, for milliseconds.
pub(crate) const LOOK_OUT: Duration = Duration::from_millis(1);

/// It looks out for at most one part in so many of what it worked before.
pub(crate) const WORTH_A_LOOK: u32 = 2;
