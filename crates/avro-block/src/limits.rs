//! Every limit of this crate on a file's demands, with the reason for it.

/// Bounds on what a file may declare, checked before anything is allocated for it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Maximum size of a header in bytes, the magic and the sync marker included. Default 64 MiB:
    /// the largest schemas in use are a few MiB of JSON.
    pub max_header_bytes: u64,
    /// Maximum number of entries in a header's metadata map. Default 65,536: writers use a handful.
    pub max_metadata_entries: u64,
    /// Maximum number of records that a block may declare. Default 2^32: records can be empty (a
    /// schema of `null`), so the payload does not bound the count.
    pub max_block_records: u64,
    /// Maximum size of a block's payload in bytes, still compressed. Default 1 GiB. A framer holds
    /// all of a block before its sync marker proves its size, so this limit bounds the cost of
    /// damage.
    pub max_block_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_header_bytes: 64 << 20,
            max_metadata_entries: 1 << 16,
            max_block_records: 1 << 32,
            max_block_bytes: 1 << 30,
        }
    }
}

/// Bytes per read if the caller names no size: the buffer size of the original ATDS reader. It
/// makes system calls cheap in total, and fits the second-level cache.
pub(crate) const DEFAULT_BUFFER_SIZE: usize = 128 * 1024;

/// Maximum number of bytes per read, whatever number the framer wants. A block's declared size is
/// not trusted with an allocation, and joining a longer block from a few pieces costs little.
pub(crate) const MAX_READ: usize = 8 << 20;

/// Maximum number of a block's first bytes that are copied to the front of the next piece, so that
/// the block lies in one piece. A longer block is joined once all its bytes are read. Each read
/// doubles the bytes held, so a block costs copies of less than twice this number of bytes.
pub(crate) const MAX_CARRIED: u64 = MAX_READ as u64;

/// Number of first bytes that are read to identify a file that is not Avro. A tar header takes 512,
/// and a schema's JSON is recognised by its first attributes.
pub(crate) const FILE_LOOKED_AT: u64 = 1024;

/// Number of bytes after a block that are read to name their format, if they are an error in any
/// case: the size of a usual read.
pub(crate) const REST_LOOKED_AT: u64 = 64 << 10;

/// Minimum number of equal bytes, other than NUL and white space, that count as padding after the
/// last block. A truncated block may begin with a few equal bytes.
pub(crate) const MIN_PADDING: u64 = 16;

/// Minimum number of bytes that count as text after the last block. A block truncated in its head
/// may begin with a letter or two.
pub(crate) const MIN_TEXT: u64 = 4;

/// Decompressed bytes that a writer collects before it closes a block: the common default of Avro
/// writers.
pub(crate) const DEFAULT_BLOCK_BYTES: usize = 16_000;

/// Maximum number of bytes of an unknown codec's name that its error keeps. A name is a word, but a
/// file may hold more.
pub(crate) const MAX_CODEC_NAME: usize = 64;
