//! The defaults and limits of a pipeline, and the reason for each.

use std::path::Path;

use crate::machine;

/// Default number of bytes read from a file at a time, as in ATDS.
pub const DEFAULT_READER_BUFFER_SIZE: usize = 128 << 10;

/// Default maximum number of prefetched batches. One hides the jitter of the consumer, two that of
/// the reader.
pub const DEFAULT_PREFETCH: usize = 2;

/// Default limit on the memory of blocks and ready batches in bytes, on a machine with memory enough:
/// see [`default_memory_limit`]. A window of a hundred thousand records of 10 KB fits.
pub const DEFAULT_MEMORY_LIMIT: u64 = 4 << 30;

/// The default limit is this part of the memory that the process may use: training takes most of it.
const MEMORY_SHARE: u64 = 4;

/// The least default limit. Under a smaller one, ordinary batches do not fit.
const MIN_DEFAULT_MEMORY_LIMIT: u64 = 64 << 20;

/// The default limit on the memory of blocks and ready batches in bytes, for each of `processes`
/// processes that read on this machine at the same time.
///
/// It is a quarter of the memory that the processes may use together, which the limits of their cgroup
/// (as those of a container) may make less than the machine's; at most [`DEFAULT_MEMORY_LIMIT`] for
/// each, and at least 64 MiB.
pub fn default_memory_limit(processes: usize) -> u64 {
    // Read each time: a fork while another thread filled a static would leave the child waiting.
    let memory = machine::memory(Path::new("/")).unwrap_or(u64::MAX);
    part_of(memory, processes)
}

fn part_of(memory: u64, processes: usize) -> u64 {
    let each = memory / MEMORY_SHARE / processes.max(1) as u64;
    each.clamp(MIN_DEFAULT_MEMORY_LIMIT, DEFAULT_MEMORY_LIMIT)
}

/// Default number of records in which an inspection counts nulls. It is enough for rates of some
/// parts in a thousand, and is read quickly.
pub const DEFAULT_SAMPLE: u64 = 1_000;

/// Default maximum number of records that inference samples, those of one or two blocks.
pub const DEFAULT_INFER_SAMPLE: u64 = 1_000;

/// Number of records that suffice for a sample. If records are large and the first block has fewer,
/// more blocks are read.
pub(crate) const SAMPLE_ENOUGH: u64 = 16;

/// Maximum number of blocks that are sampled, including blocks without records.
pub(crate) const SAMPLE_BLOCKS: usize = 16;

/// Maximum number of files that are opened to find one with records. Some programs write a first
/// file without records.
pub(crate) const SAMPLE_FILES: usize = 16;

/// Default maximum size of a block in bytes, compressed and decompressed; see
/// [`max_block_bytes`](crate::DatasetBuilder::max_block_bytes). Writers usually make blocks of some
/// ten KB to some MB; a few write a whole file as one block.
pub const MAX_BLOCK_BYTES: usize = 1 << 30;

/// Maximum number of tolerated faults of files that the log names for a data set. If a program has
/// written all files alike, these are enough to see the problem.
pub(crate) const MAX_NAMED_FAULTS: usize = 10;

/// Maximum number of damaged parts of a file that a verification lists; all are counted. They take some
/// tens of MB.
pub const MAX_DAMAGES: usize = 100_000;

/// Decompressed size of a block that counts as large in a verification: only one such block is
/// decompressed at a time.
pub(crate) const LARGE_BLOCK_BYTES: usize = 64 << 20;

/// Maximum length of a line of an index in bytes: the counts of some millions of blocks of a file.
pub const MAX_INDEX_LINE: usize = 16 << 20;

/// Size of a write to a new file in bytes.
pub(crate) const FILE_BUFFER: usize = 256 << 10;

/// Maximum number of threads of a pipeline. It is above the number of cores of machines, and below
/// the number of threads that they refuse to start.
pub const MAX_THREADS: usize = 1024;

/// Largest number of layers of an epoch. A state with all of them is less than 1 KB.
pub const MAX_LAYERS: usize = 16;

/// Largest number of workers of all ranks together whose states are merged: 4,096 ranks of 16 workers.
/// What each has read is in memory while a data set begins to go on.
pub const MAX_READERS: u64 = 1 << 16;

/// Maximum number of bytes read from a file at a time.
pub const MAX_READER_BUFFER_SIZE: usize = 1 << 30;

/// Maximum number of prefetched batches: more than the delays of any consumer need.
pub const MAX_PREFETCH: usize = 1024;

/// Number of threads that read the headers of files. Network file systems answer after
/// milliseconds, so several requests are sent at the same time.
pub(crate) const HEADER_THREADS: usize = 16;

/// Number of bytes of a header that are read at a time. Most headers are smaller.
pub(crate) const HEADER_BUFFER_SIZE: usize = 8 << 10;

/// Maximum size in bytes of schemas kept while a data set is built, and of schemas with compiled
/// plans. Thousands of distinct schemas fit; others are read or compiled again when needed.
pub(crate) const MAX_SCHEMA_BYTES: usize = 32 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_share_a_quarter_of_the_memory() {
        const GIB: u64 = 1 << 30;
        for (memory, processes, limit) in [
            (8 * GIB, 0, 2 * GIB),
            (8 * GIB, 1, 2 * GIB),
            (8 * GIB, 4, GIB / 2),
            (8 * GIB, 1_000, 64 << 20),
            (GIB / 8, 1, 64 << 20),
            (64 * GIB, 2, 4 * GIB),
            (u64::MAX, 1, 4 * GIB),
        ] {
            assert_eq!(part_of(memory, processes), limit, "{memory}, {processes}");
        }
    }
}
