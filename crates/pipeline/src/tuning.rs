//! The numbers that the pipeline is tuned by, each with its reason.

use std::ops::RangeInclusive;
use std::time::Duration;

/// Time that one op takes at least where there are many workers. Handing an op over costs some
/// microseconds, and an op that shares a block with the one before may wait for its prepare: 1 ms makes
/// both a few percent. With 200 µs, 16 sleeping workers with batches of 16 and blocks of 9 lost 5 % more.
const OP_TIME: Duration = Duration::from_millis(1);

/// Numbers of workers between which ops take [`OP_TIME`]. Fewer wait less for one another, and what they
/// make and read ahead is to stay in their caches: two with batches of 64 were a third faster with 250 µs.
/// More would hand over more ops in a second than one lock and one thread that plans are good for.
const MANY_WORKERS: RangeInclusive<u32> = 8..=16;

/// Time that one op takes at least where there are `workers` workers.
pub(crate) fn op_time(workers: usize) -> Duration {
    let workers = u32::try_from(workers).unwrap_or(u32::MAX);
    let nearest = workers.clamp(*MANY_WORKERS.start(), *MANY_WORKERS.end());
    (OP_TIME.saturating_mul(workers) / nearest).max(WAKE_TIME)
}

/// Time after which a worker with small batches wakes the consumer, which takes several then, and of a
/// piece of the first batch: waking a thread takes a quarter of it.
pub(crate) const WAKE_TIME: Duration = Duration::from_micros(200);

/// Ops for each worker that wait to start: one that ends an op finds the next while the planning thread
/// sleeps. With two the planning thread was woken more often, 2 to 3 % of deflate in shuffled batches of
/// 64. With eight for one worker, what is read ahead leaves its cache: 3 % of null in order.
pub(crate) const QUEUED_OPS: usize = 4;

/// Positions that a block keeps. Reads of a block follow one another, so that those of the last
/// reads are enough.
pub(crate) const MAX_HINTS: usize = 64;

/// The part of the memory limit that payloads may take which the first unfinished batch does not need;
/// another such part is for what is made of them before its turn. The rest is for one batch and its
/// window.
pub(crate) const AHEAD_SHARE: u64 = 8;

/// The part of the memory limit that builders of batches may keep, all together, and not count. As
/// much may buffers take that are kept for others. Under a small limit, a read and what a worker
/// writes before it counts are no larger, either: some are used in part.
pub(crate) const KEPT_SHARE: u64 = 64;

/// Bytes that a block counts for in addition to its payload.
pub(crate) const BLOCK_BYTES: u64 = 512;

/// Reads whose blocks are looked up at once: about as many as a processor waits for at a time.
pub(crate) const FOUND_TOGETHER: usize = 8;

/// Bytes that a worker writes before it counts them. A block without records is prepared to as
/// many, to see that it has none.
pub(crate) const COUNTED_BYTES: u64 = 256 << 10;

/// Number of blocks after which it is noted how many batches are drawn again: about a hundred times a
/// second.
pub(crate) const NOTED_BLOCKS: usize = 4096;

/// The most bytes that a worker leases for what it writes before it counts. A record that needs more
/// than there is room for is read again by an op that runs alone: seldom, if these are many.
pub(crate) const MOST_ROOM: u64 = 64 << 20;

/// The most places of damage that an iteration lists; others are counted.
pub(crate) const MAX_SKIPPED_LISTED: usize = 65_536;

/// The most records of a block that is split by record: looking up which of them are in the split takes a
/// second, and 64 MiB. Only false counts are larger.
pub(crate) const MAX_SPLIT_BLOCK_RECORDS: u64 = 1 << 28;

/// Records that are walked at a time to find what they need.
pub(crate) const COUNTED_RECORDS: u64 = 16;

/// Bytes that are tried first to find what damage takes until it is met, then twice as many: it is not known.
pub(crate) const LEAST_TRIED: u64 = 1 << 10;

/// Reads of a source that answers later which are under way at once.
pub(crate) const READS_UNDER_WAY: usize = 32;

/// Files that are kept open where runs of blocks of all files are shuffled: with more files, most runs open
/// theirs again, and read its header.
pub(crate) const OPEN_FILES: usize = 64;

/// Positions that a block's prepare finds at most: 16 KB.
pub(crate) const MAX_SPACED_HINTS: u64 = 1_024;

/// The largest interval between such positions, in records.
pub(crate) const MOST_APART: u64 = 64;

/// Time that an op in file order takes at most to end where a block ends. An op that begins in the
/// middle of a block skips the records before it, which takes more than half of decoding them: a
/// block is cut only where one worker would hold up the others for long.
pub(crate) const ALIGNED_OP_TIME: Duration = Duration::from_secs(1);

/// Time of a batch above which several workers make it: a smaller one is written by one worker, and
/// copied nowhere.
pub(crate) const LARGE_BATCH_TIME: Duration = Duration::from_millis(16);

/// Time of a piece of a large batch.
pub(crate) const PIECE_TIME: Duration = Duration::from_millis(4);

/// Bytes that a join copies at least: some 200 µs, so that waking another worker for it pays.
pub(crate) const JOIN_BYTES: usize = 1 << 20;

/// Rows of a piece of the first batch at least, before the time of a row is known: fewer are made
/// sooner than another worker begins, which takes some 50 µs.
pub(crate) const FIRST_PIECE_ROWS: u64 = 64;

/// Bytes of a read at least, under a limit of memory that allows no more.
pub(crate) const MIN_READ_SIZE: usize = 1 << 10;

/// Bytes of a batch's dense columns above which the record counts of its blocks are checked before
/// memory is made for them: a smaller batch is made in any case, up to its first bad record.
pub(crate) const DOUBTFUL_BATCH_BYTES: u64 = 64 << 20;
