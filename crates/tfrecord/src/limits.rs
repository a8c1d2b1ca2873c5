//! Every limit of this crate on a file's demands, with the reason for it.

/// Bounds on what a file may declare, checked before anything is allocated for it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Maximum size of a record's data in bytes. Default 1 GiB: `Example`s are messages of protocol
    /// buffers, which are smaller than 2 GiB.
    pub max_record_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            max_record_bytes: 1 << 30,
        }
    }
}

/// Size in bytes at which a run of records is a block. With records of 400 bytes, a block has 160
/// records: a shuffled batch takes some records of many blocks, and finding them costs little.
pub const DEFAULT_BLOCK_BYTES: u64 = 64 << 10;

/// Maximum number of keys that features are inferred for. Each key that is new costs a look at all.
pub(crate) const MAX_INFERRED_KEYS: usize = 4096;

/// Number of bytes per read of a `RecordReader`.
#[cfg(feature = "compression")]
pub(crate) const READ_BYTES: usize = 256 << 10;
