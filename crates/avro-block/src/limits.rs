//! Every bound this crate sets on what a file may ask of it, with its reason.

/// Bounds on what a file may declare, checked before anything is allocated for it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Most bytes a header may take, the magic and the sync marker included. Default 64 MiB: the
    /// largest schemas in use are a few MiB of JSON.
    pub max_header_bytes: u64,
    /// Most entries a header's metadata map may have. Default 65,536: writers put a handful there.
    pub max_metadata_entries: u64,
    /// Most records a block may declare. Default 2^32: records can be empty (a schema of `null`),
    /// so the payload does not bound the count.
    pub max_block_records: u64,
    /// Most bytes a block's payload may declare, still compressed. Default 1 GiB: a framer holds
    /// all of a block before its sync marker proves its size, so this bounds what damage costs.
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

/// Bytes of one read where the caller names no size: the original ATDS reader's buffer, large
/// enough that system calls do not count and small enough to stay in the second-level cache.
pub(crate) const DEFAULT_BUFFER_SIZE: usize = 128 * 1024;

/// Most bytes of one read, however many the framer asks for: a block's declared size is not to be
/// trusted with an allocation, and a longer block is as well put together from a few pieces.
pub(crate) const MAX_READ: usize = 8 << 20;

/// Most bytes of a block's beginning that are copied to the front of the next piece, so that the
/// block lies in one piece; a longer block is put together once all of it is there. What is read
/// doubles with what has been, so less than twice this is copied for a block.
pub(crate) const MAX_CARRIED: u64 = MAX_READ as u64;

/// Bytes of a file that is not Avro, from its first on, that are looked at for what it is: a tar
/// header takes 512, and a schema's JSON is known by its first attributes.
pub(crate) const FILE_LOOKED_AT: u64 = 1024;

/// Bytes after a block, where no block begins, that are looked at for what they are if they are an
/// error whatever they are: as much as a usual read gives.
pub(crate) const REST_LOOKED_AT: u64 = 64 << 10;

/// Fewest equal bytes, other than NUL and white space, that are padding after the last block: a
/// block that is cut off may begin with a few.
pub(crate) const MIN_PADDING: u64 = 16;

/// Fewest bytes that are text after the last block: a block that is cut off in its head may begin
/// with a letter or two.
pub(crate) const MIN_TEXT: u64 = 4;

/// Decompressed bytes a writer gathers before it closes a block: the common default of Avro writers.
pub(crate) const DEFAULT_BLOCK_BYTES: usize = 16_000;

/// Bytes of an unknown codec's name that its error keeps: a name is a word, a file may hold more.
pub(crate) const MAX_CODEC_NAME: usize = 64;

/// Decompressed bytes per compressed byte that the first guess at a block's size assumes. Records of
/// training data compress by 1.3 to 3; a guess too high costs memory, one too low a second pass.
pub(crate) const FIRST_RATIO: usize = 4;

/// Highest ratio a guess takes over from the block before. Bombs reach 1,000 and more, and must
/// not make the buffers of the blocks after them large.
pub(crate) const MAX_GUESSED_RATIO: usize = 16;

/// Smallest size a decompress buffer starts from, so that small payloads do not double their way up.
pub(crate) const MIN_DECOMPRESS_BYTES: usize = 4096;

/// Most decompressed bytes per compressed byte that deflate can encode (RFC 1951: 258 bytes from two
/// bits, so 1,032). Beyond it more room cannot help.
#[cfg(feature = "deflate")]
pub(crate) const DEFLATE_MAX_RATIO: usize = 1032;

/// Fewest deflate payloads that are decompressed together: with two, waiting for one is not hidden
/// behind the other.
#[cfg(feature = "deflate")]
pub(crate) const MIN_TOGETHER: usize = 3;

/// Most decompressed bytes per compressed byte that Snappy can encode: 64 bytes from a copy element
/// of three, so 21⅓. A larger declared length is a lie and is refused before it is allocated.
#[cfg(feature = "snappy")]
pub(crate) const SNAPPY_MAX_RATIO: usize = 22;

/// Memory an xz stream may ask its decoder for. The highest preset (`xz -9`) needs 65 MiB; the
/// stream's header could ask for 4 GiB.
#[cfg(feature = "xz")]
pub(crate) const XZ_MEMORY: u64 = 80 << 20;

/// Largest zstandard window accepted, as a power of two: 128 MiB, the bound of the reference
/// decoder and all that its levels 1 to 22 use.
#[cfg(feature = "zstandard")]
pub(crate) const ZSTD_WINDOW_LOG: u32 = 27;
