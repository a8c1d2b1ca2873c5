//! The numbers that the pipeline is tuned by, each with its reason. What is merely bounded or counted has its number
//! where that is done.

use std::time::Duration;

/// Time of an op for each worker, so that all together begin some 16,000 ops a second at most, which one lock and
/// one thread that plans are good for. Handing an op over costs some microseconds, and an op that shares a
/// block with the one before may wait for its prepare: with 200 µs in place of 1 ms, 16 sleeping workers with
/// batches of 16 and blocks of 9 lost 5 % more. What few workers make and read ahead is to stay in their
/// caches: two with batches of 64 were a third faster with 250 µs than with 1 ms.
const OP_TIME_OF_WORKER: Duration = Duration::from_nanos(62_500);

/// Time that one op takes at least where there are `workers` workers.
pub(crate) fn op_time(workers: usize) -> Duration {
    let workers = u32::try_from(workers).unwrap_or(u32::MAX);
    OP_TIME_OF_WORKER.saturating_mul(workers).max(WAKE_TIME)
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
/// much may buffers take that are kept for others, an arena, and what is known of where blocks are. Under a small limit, a
/// read and what a worker writes before it counts are no larger, either: some are used in part.
pub(crate) const KEPT_SHARE: u64 = 64;

/// Reads whose blocks are looked up at once: about as many as a processor waits for at a time.
pub(crate) const FOUND_TOGETHER: usize = 8;

/// Bytes that a worker writes before it counts them. A block without records is prepared to as
/// many, to see that it has none.
pub(crate) const COUNTED_BYTES: u64 = 256 << 10;

/// Memory that is not taken without a look: a worker leases no more at once for what it writes before it
/// counts, and before a batch's dense columns take as much, the record counts of its blocks are checked. A record
/// or a batch that needs more is read again, or later: seldom, if this is much.
pub(crate) const MUCH_MEMORY: u64 = 64 << 20;

/// Records that are decoded or skipped sooner than another thread begins, which takes some 50 µs: a piece of the
/// first batch has no fewer rows while the time of a row is not known, and positions that a prepare finds are no
/// further apart. As many are walked at a time to find what they need.
pub(crate) const FEW_RECORDS: u64 = 64;

/// Reads of a source that answers later which are under way at once. Ahead of the heads of blocks, the system is told to read
/// 16 to 32 reads, by default 2 to 4 MiB. Otherwise each head waits for the disk: with a system that reads 128 KiB ahead by
/// itself, a cold epoch took four times as long (`benches/TRIED.md`).
pub(crate) const READS_UNDER_WAY: usize = 32;

/// Bytes of a read that is done without a buffer of the pool and without an answer to wait for, which would
/// take longer than the read: a sync marker and the head of an Avro block are 36.
pub(crate) const FEW_BYTES: usize = 64;

/// The part of a read that blocks are at least whose heads alone are read: by default 4 KiB. The head of a smaller block takes
/// about as long to read as the block.
pub(crate) const SMALL_BLOCK_SHARE: u64 = 32;

/// Files that are kept open where runs of blocks of all files are shuffled: with more files, most runs open
/// theirs again, and read its header. As many are open for workers that read blocks themselves.
pub(crate) const OPEN_FILES: usize = 64;

/// Positions that a block's prepare finds at most: 16 KB.
pub(crate) const MAX_SPACED_HINTS: u64 = 1_024;

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
