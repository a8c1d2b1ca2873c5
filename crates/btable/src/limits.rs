//! Every limit of this crate, with its reason.

/// Limits for what a file declares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Maximum length of all labels together, in UTF-16 code units of two bytes. A header is held whole
    /// until it is read: by default at most 64 Mi units, some millions of labels.
    pub max_label_units: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            max_label_units: 64 << 20,
        }
    }
}

/// Size of a read, and of a write, in bytes: large enough that the calls do not count, small enough for a
/// core's cache.
pub(crate) const BUFFER_BYTES: usize = 256 << 10;

/// Size at which a block of rows ends by default: a hundred rows of the size that the format was made for.
pub(crate) const BLOCK_BYTES: usize = 64 << 10;

/// Memory that is taken for a block's last row, which goes beyond the size at which the block ends: enough
/// for the rows that the format was made for.
pub(crate) const LAST_ROW_BYTES: usize = 8 << 10;

/// Bytes that the processor loads together.
pub(crate) const CACHE_LINE: usize = 64;
