//! The state of decoding a record.

use tensor_batch::MAX_RANK;

use super::entries::EntryLists;
use super::fast_skip::PredictedLen;
use super::prefetch::{NextBlockPrefetch, OutputPrefetch, SkipPrefetch};

/// The state of decoding the current record.
#[derive(Debug, Default)]
pub(super) struct State {
    /// The indices of the items being read.
    pub(super) registers: Vec<i64>,
    /// Number of values of the dense row written so far, per feature.
    pub(super) positions: Vec<usize>,
    /// The entries of sparse features with keys.
    pub(super) entries: Vec<EntryLists>,
    pub(super) skip_prefetch: SkipPrefetch,
    pub(super) next_block_prefetch: NextBlockPrefetch,
    pub(super) output_prefetch: OutputPrefetch,
    /// The lengths of skipped arrays in the previous record.
    pub(super) predicted: Vec<PredictedLen>,
    /// Number of values, and bytes of strings, from the reader's defaults so far.
    pub(super) filled_parts: usize,
    /// Number of items of arrays since the sizes of columns were looked at.
    pub(super) unchecked_items: usize,
    /// Number of sparse entries dropped for an index outside their dimension.
    pub(super) dropped: u64,
    /// Number of lists that were cut to the length of their dimension.
    pub(super) truncated: u64,
}

impl State {
    /// Writes the row and the indices in `registers` to `path`.
    #[inline]
    pub(super) fn path<'p>(
        &self,
        path: &'p mut [i64; MAX_RANK + 1],
        batch_row: i64,
        registers: &[usize],
    ) -> &'p [i64] {
        path[0] = batch_row;
        for (index, &register) in path[1..].iter_mut().zip(registers) {
            *index = self.registers[register];
        }
        &path[..=registers.len()]
    }
}
