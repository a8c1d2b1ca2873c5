//! The defaults and limits of a pipeline, and the reason for each.

/// Default number of bytes read from a file at a time, as in ATDS.
pub const DEFAULT_READER_BUFFER_SIZE: usize = 128 << 10;

/// Default maximum number of prefetched batches. One hides the jitter of the consumer, two that of
/// the reader.
pub const DEFAULT_PREFETCH: usize = 2;

/// Default limit on the memory of blocks and ready batches in bytes. A window of a hundred thousand
/// records of 10 KB fits; machines for training have more memory.
pub const DEFAULT_MEMORY_LIMIT: u64 = 4 << 30;

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

/// Maximum number of files with tolerated faults that the log of an iteration names. If a program
/// has written all files alike, these are enough to see the problem.
pub(crate) const MAX_NAMED_FILES: u64 = 10;

/// Maximum number of threads of a pipeline. It is above the number of cores of machines, and below
/// the number of threads that they refuse to start.
pub const MAX_THREADS: usize = 1024;

/// Maximum number of bytes read from a file at a time.
pub const MAX_READER_BUFFER_SIZE: usize = 1 << 30;

/// Maximum number of prefetched batches. The slots of the queue are allocated in advance.
pub const MAX_PREFETCH: usize = 1024;

/// Number of threads that read the headers of files. Network file systems answer after
/// milliseconds, so several requests are sent at the same time.
pub(crate) const HEADER_THREADS: usize = 16;

/// Number of bytes of a header that are read at a time. Most headers are smaller.
pub(crate) const HEADER_BUFFER_SIZE: usize = 8 << 10;

/// Maximum size in bytes of schemas kept while a data set is built, and of schemas with compiled
/// plans. Thousands of distinct schemas fit; others are read or compiled again when needed.
pub(crate) const MAX_SCHEMA_BYTES: usize = 32 << 20;

/// Size of a batch's dense columns in bytes above which the record counts of its blocks are
/// checked. A count that the block's payload cannot hold must not allocate memory.
pub(crate) const DOUBTFUL_BATCH_BYTES: u64 = 64 << 20;

/// Bytes of buffers of drained blocks that are kept for the next blocks, besides
/// parts of the slab.
pub(crate) const MAX_SPARE_BYTES: usize = 64 << 20;

/// Bytes of a part of the slab at most.
pub(crate) const MAX_PART_BYTES: usize = 1 << 20;

/// Bytes of the slab, of which those that are used are kept as long as the data set. The
/// others are addresses and no memory: so many bytes glibc's malloc never has among
/// others, where it might write to all of them to have them be zeros, in small pages.
pub(crate) const SLAB_BYTES: usize = 64 << 20;

/// Bytes of memory that a block may wait in besides a third more than its own, so that
/// small buffers serve for any small block.
pub(crate) const SMALL_BUFFER: usize = 256;

/// Bytes of the smallest buffer that a decompressor asks for: no buffer of as many is
/// too large to decompress into.
pub(crate) const SMALL_DECOMPRESSED: usize = 4 << 10;

/// Bytes of compressed payloads that are decompressed together, for each block that may be
/// among them: fewer blocks if they are larger.
pub(crate) const TOGETHER_BYTES: usize = 32 << 10;

/// Blocks whose next records are found at once: more than a processor looks up pages
/// at a time, few enough that it remembers them until they are read.
pub(crate) const FOUND_TOGETHER: usize = 8;

/// Blocks of the window ahead of which they are loaded, where each takes only a moment.
pub(crate) const LOADED_AHEAD: usize = 8;

/// Batches that are made in one go where nothing is shuffled. With two, each of
/// two threads makes one by itself, and they wait for one another half as often;
/// more would come in gusts that the batches waiting ready cannot even out.
pub(crate) const TOGETHER_BATCHES: usize = 2;

/// Bytes that one thread has copied before others could begin.
pub(crate) const COPIED_ALONE: usize = 64 << 10;

/// Bytes of records that a thread decodes before it counts what became of them
/// for the memory limit.
pub(crate) const COUNTED_TOGETHER: usize = 256 << 10;

/// The part of the memory limit that blocks read ahead may take, an eighth:
/// enough that the reader is never far behind, while the window, which is what
/// the limit is raised for, has the most of it.
pub(crate) const READ_AHEAD_SHARE: u64 = 8;

/// Groups of blocks between the reader and the engine; the memory limit bounds
/// the blocks' bytes. Two batches of the preset `ads` take four if they are not compressed,
/// so that twice as many let the reader wait for a core meanwhile.
pub(crate) const READ_AHEAD: usize = 8;

/// Groups that are left when a reader so far ahead reads on: it is woken once for some of
/// them, by the engine, which has better things to do.
pub(crate) const READ_ON: usize = READ_AHEAD / 2;

/// Emptied groups that are kept: as many as are in use at a time, on the way and one more
/// that waits to be, at its ends, and one that is taken apart.
pub(crate) const MAX_GROUPS: usize = READ_AHEAD + 4;

/// Steps of such a group that the next iteration finds room for: more than there are but
/// where blocks are of less than a KB. All groups together then keep some MB at most.
pub(crate) const MAX_KEPT_STEPS: usize = 1024;

/// Visits, for the same reason: more than there are but where a batch has many more.
pub(crate) const MAX_KEPT_VISITS: usize = 4 * GROUP_VISITS;

/// Bytes of blocks that the reader hands over at a time, while the engine has
/// enough to do: handing over wakes a sleeping thread, which costs ten microseconds
/// and more.
pub(crate) const GROUP_BYTES: u64 = 1 << 20;

/// Visits of blocks that the reader hands over at a time, besides those of the last
/// batch: some 200 KB at most, which the memory limit does not count. A batch of a
/// thousand records has about as many if it is shuffled.
pub(crate) const GROUP_VISITS: usize = 1024;

/// Maximum decompressed size in bytes of a block that claims no records. It is decompressed to
/// check that it is empty.
pub(crate) const MAX_EMPTY_BYTES: usize = 1 << 20;
