//! Slices of arrays, and the first items of truncated lists.

use std::ops::Range;

use atds_features::path::Slice;

use super::blocks::{ItemBlock, next_block};
use super::cursor::{Cursor, Fault};
use super::output::Length;
use super::program::Items;
use super::skip::{Skip, SkipTable};
use super::values::wrong_length;

/// The items of an array to read: the first items of a slice.
#[derive(Clone, Debug)]
pub(crate) struct ItemSlice {
    pub(crate) bounds: Slice,
    /// Maximum number of items of the slice to read.
    pub(crate) most: usize,
    /// Skips an item outside the slice, with its key.
    pub(crate) item: Skip,
}

/// The result of reading a slice of an array.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ItemSliceRead {
    /// Number of items read.
    pub(crate) count: usize,
    /// Whether the slice has more items.
    pub(crate) is_cut: bool,
}

impl ItemSlice {
    /// Reads the items of the slice and skips the others. `read` gets the index in the slice of the
    /// next item, and the number of items to read.
    pub(super) fn read_items<'x, E: From<Fault>>(
        &self,
        cursor: &mut Cursor<'x>,
        min_item: usize,
        skips: &SkipTable,
        mut read: impl FnMut(&mut Cursor<'x>, usize, usize) -> Result<(), E>,
    ) -> Result<ItemSliceRead, E> {
        let Range { start: first, end } = self.range(cursor, min_item, skips)?;
        let cut = end.min(first.saturating_add(self.most));
        let mut seen = 0;
        while let Some(block) = next_block(cursor, min_item)? {
            let body = cursor.position();
            let block_end = seen + block.count;
            let from = first.clamp(seen, block_end);
            let to = cut.clamp(from, block_end);
            // A block outside the slice is skipped as a whole.
            if from < to {
                skips.run_times(&self.item, cursor, from - seen)?;
                read(cursor, from - first, to - from)?;
                skip_rest(&self.item, cursor, skips, &block, body, block_end - to)?;
            } else {
                skip_rest(&self.item, cursor, skips, &block, body, block.count)?;
            }
            seen = block_end;
        }
        Ok(ItemSliceRead {
            count: seen.min(cut).saturating_sub(first),
            is_cut: cut < end.min(seen),
        })
    }

    /// The range of the slice's items. If a bound counts from the array's end, a separate pass
    /// counts the items first.
    fn range(
        &self,
        cursor: &mut Cursor<'_>,
        min_item: usize,
        skips: &SkipTable,
    ) -> Result<Range<usize>, Fault> {
        if self.bounds.is_from_start() {
            return Ok(self.bounds.of_length(usize::MAX));
        }
        let start = *cursor;
        let mut length = 0;
        // The cursor stops at an error.
        while let Some(block) = next_block(cursor, min_item)? {
            let body = cursor.position();
            skip_rest(&self.item, cursor, skips, &block, body, block.count)?;
            length += block.count;
        }
        *cursor = start;
        Ok(self.bounds.of_length(length))
    }
}

/// Skips the last `items` items of a block that begins at `body`.
fn skip_rest(
    item: &Skip,
    cursor: &mut Cursor<'_>,
    skips: &SkipTable,
    block: &ItemBlock,
    body: usize,
    items: usize,
) -> Result<(), Fault> {
    match block.bytes {
        Some(bytes) if items > 0 && cursor.position() - body <= bytes => {
            cursor.bytes(bytes - (cursor.position() - body)).map(drop)
        }
        _ => {
            skips.run_times(item, cursor, items)?;
            block.check_size(body, cursor)
        }
    }
}

/// Reads the items of an array that are in its slice, as [`array`](super::values::array) reads all
/// items. `items` gets the number of items to read.
#[inline(never)] // Few features have slices.
pub(super) fn array_slice<'x>(
    cursor: &mut Cursor<'x>,
    array: &Items,
    slice: &ItemSlice,
    skips: &SkipTable,
    mut items: impl FnMut(&mut Cursor<'x>, usize) -> Result<(), Fault>,
) -> Result<ItemSliceRead, Fault> {
    let start = *cursor;
    let most = array.length.most();
    let mut is_too_long = false;
    let read = slice.read_items(cursor, array.min_item, skips, |cursor, first, n| {
        is_too_long = n > most - first;
        if is_too_long {
            return Err(wrong_length(most, first + n));
        }
        items(cursor, n)
    });
    if is_too_long {
        *cursor = start;
    }
    let read = read?;
    match array.length {
        Length::Exactly(length) if length != read.count => {
            *cursor = start;
            Err(wrong_length(length, read.count))
        }
        _ => Ok(read),
    }
}
