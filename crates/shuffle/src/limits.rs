//! The limits of this crate, each with its reason. What is drawn depends on them: they never change.

/// Maximum number of records of a window, 2^62. Products of two record counts, and differences of such
/// products, then fit 128 bits with their sign. Only false counts make larger windows.
pub const MAX_WINDOW_RECORDS: u64 = 1 << 62;

/// Bytes of a run of blocks at least, 1 MiB: reading that much at a random place of a local file is about as
/// fast as reading it in order.
pub const RUN_BYTES: u64 = 1 << 20;

/// Maximum number of rows that are drawn from a group of eight numbers one by one, at some 4 ns each.
/// Above, one hypergeometric count for each of the eight numbers takes less.
pub(crate) const MAX_PICKED: u64 = 32;

/// Maximum size of the smallest of four sets (records in the block, outside of it,
/// drawn, not drawn) that is drawn record by record, at some 1.5 ns each. Rejection
/// takes some 380 ns for any size.
pub(crate) const MAX_SIMULATED: u64 = 256;
