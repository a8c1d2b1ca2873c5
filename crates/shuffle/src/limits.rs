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

/// Fewest blocks whose counts are drawn together: of fewer, one after another is
/// as fast.
pub(crate) const MIN_THINNED_BLOCKS: usize = 64;

/// The most records of a block whose counts are drawn together with others: the
/// chance by which records are taken is short of the one wanted by less than a
/// 256th, so at most half a record a block is missing for that.
pub(crate) const MAX_THINNED: u64 = 128;

/// Counts are not drawn together where so many times as many records would have
/// room in the blocks, were all as large as the largest: that many places are
/// picked for each record that is missing, or twice as many.
pub(crate) const SPARSEST_LATTICE: u64 = 8;
