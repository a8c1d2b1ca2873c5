//! The limits of this crate, each with its reason.

/// The most records of a window that one draw considers, 2^62. Products of two
/// record counts, and differences of such products, then fit 128 bits with
/// their sign. Blocks of a window that lie beyond give nothing to that draw;
/// they do to a later one, when those before them have been read.
pub const MAX_WINDOW_RECORDS: u64 = 1 << 62;

/// Up to this many records on the smallest of the four sides of a block's share
/// (in the block, outside it, drawn, left), they are drawn one by one, at some
/// 1.5 ns each. Rejection takes some 380 ns, however many there are.
pub(crate) const MAX_SIMULATED: u64 = 256;
