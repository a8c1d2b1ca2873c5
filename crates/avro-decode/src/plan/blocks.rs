//! Arrays and maps: blocks of items with a count, up to a count of 0
//! (Avro 1.12, "Arrays").

use super::cursor::{Cursor, Fault};
use crate::DecodeErrorKind;
use crate::limits::MAX_ZERO_SIZE_ITEMS;

/// The header of a block of items.
pub(crate) struct ItemBlock {
    /// Items in the block, above 0.
    pub(crate) count: usize,
    /// Bytes of the block, where the writer gave them.
    pub(crate) bytes: Option<usize>,
}

impl ItemBlock {
    /// Whether the items, from `start` on, take the bytes that the writer gave.
    #[inline]
    pub(crate) fn check_size(&self, start: usize, cursor: &Cursor<'_>) -> Result<(), Fault> {
        match self.bytes {
            Some(declared) if declared != cursor.position() - start => {
                Err(bad_size(declared, cursor.position() - start))
            }
            _ => Ok(()),
        }
    }
}

/// The next block's header, or `None` at the end of the array. `min_item` is
/// the fewest bytes an item takes: a count that cannot fit is an error before
/// anything is allocated for it.
#[inline]
pub(crate) fn next_block(
    cursor: &mut Cursor<'_>,
    min_item: usize,
) -> Result<Option<ItemBlock>, Fault> {
    let start = *cursor;
    let count = cursor.long()?;
    if count == 0 {
        return Ok(None);
    }
    let bytes = if count < 0 {
        Some(cursor.length()?)
    } else {
        None
    };
    let count = count.unsigned_abs();
    let most = match min_item {
        0 => MAX_ZERO_SIZE_ITEMS as u64,
        min => (bytes.unwrap_or(cursor.remaining()) / min) as u64,
    };
    if count > most {
        *cursor = start;
        return Err(too_many(count, most));
    }
    Ok(Some(ItemBlock {
        count: count as usize,
        bytes,
    }))
}

/// Runs `items` on each block of an array, with the number of its items.
#[inline]
pub(crate) fn each_block(
    cursor: &mut Cursor<'_>,
    min_item: usize,
    mut items: impl FnMut(&mut Cursor<'_>, usize) -> Result<(), Fault>,
) -> Result<(), Fault> {
    while let Some(block) = next_block(cursor, min_item)? {
        let start = cursor.position();
        items(cursor, block.count)?;
        block.check_size(start, cursor)?;
    }
    Ok(())
}

#[cold]
fn too_many(count: u64, most: u64) -> Fault {
    Box::new(DecodeErrorKind::TooManyItems { count, most })
}

#[cold]
fn bad_size(declared: usize, actual: usize) -> Fault {
    Box::new(DecodeErrorKind::BadBlockSize { declared, actual })
}
