//! Every limit of this crate, with the reason for it.

/// Compression ratio assumed for the first payload. Training data usually compresses by 1.3 to 3. A
/// ratio too high costs memory, a ratio too low costs a second pass.
pub(crate) const FIRST_RATIO: usize = 4;

/// Highest compression ratio predicted from the previous payload. Decompression bombs reach 1,000
/// and more, and must not make the buffers of later payloads large.
pub(crate) const MAX_GUESSED_RATIO: usize = 16;

/// Initial size of a decompress buffer, so that small payloads do not need several doublings.
pub(crate) const MIN_DECOMPRESS_BYTES: usize = 4096;

/// Maximum decompressed bytes per compressed byte of deflate (RFC 1951: 258 bytes from two bits, so
/// 1,032). A buffer beyond that size cannot help.
#[cfg(feature = "deflate")]
pub(crate) const DEFLATE_MAX_RATIO: usize = 1032;

/// Number of deflate payloads that are best decompressed together: twice the number that are
/// decompressed side by side. With more, the first output leaves the cache before it is read.
#[cfg(feature = "deflate")]
pub(crate) const DEFLATE_GROUP: usize = 8;

/// Minimum number of deflate payloads that are decompressed together. With two, the work on one
/// does not hide the latency of the other.
#[cfg(feature = "deflate")]
pub(crate) const MIN_TOGETHER: usize = 3;

/// Maximum decompressed bytes per compressed byte of Snappy: 64 bytes from a copy element of three,
/// so 21⅓. A larger declared length is false, and is refused before it is allocated.
#[cfg(feature = "snappy")]
pub(crate) const SNAPPY_MAX_RATIO: usize = 22;

/// Maximum working memory of an xz decoder. The highest preset (`xz -9`) needs 65 MiB; a stream's
/// header could ask for 4 GiB.
#[cfg(feature = "xz")]
pub(crate) const XZ_MEMORY: u64 = 80 << 20;

/// Largest zstandard window accepted, as a power of two: 128 MiB. The reference decoder has the
/// same limit, and its levels 1 to 22 stay within it.
#[cfg(feature = "zstandard")]
pub(crate) const ZSTD_WINDOW_LOG: u32 = 27;
