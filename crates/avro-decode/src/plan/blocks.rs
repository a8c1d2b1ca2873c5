//! Arrays and maps: blocks of items, each with a count, ended by a count of 0 (Avro 1.12,
//! "Arrays").

use super::cursor::{Cursor, Fault};
use crate::DecodeErrorKind;
use crate::limits::MAX_ZERO_SIZE_ITEMS;

/// The header of a block of items.
pub(crate) struct ItemBlock {
    /// Number of items in the block, above 0.
    pub(crate) count: usize,
    /// Size of the block in bytes, if the writer gave it.
    pub(crate) bytes: Option<usize>,
}

impl ItemBlock {
    /// Checks that the items, which begin at `start`, have the size that the writer gave.
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

/// Reads the next block's header; `None` at the end of the array. `min_item` is the minimum number
/// of bytes per item. A count that cannot fit is an error before anything is allocated for it.
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
    let room = bytes.unwrap_or(cursor.remaining());
    if !fits(count, min_item, room) {
        *cursor = start;
        return Err(too_many(count, min_item, room));
    }
    Ok(Some(ItemBlock {
        count: count as usize,
        bytes,
    }))
}

/// Whether `room` bytes can hold `count` items. The number of items without bytes has a limit of
/// its own.
#[inline]
pub(crate) fn fits(count: u64, min_item: usize, room: usize) -> bool {
    match min_item {
        0 => count <= MAX_ZERO_SIZE_ITEMS as u64,
        // This case avoids a division, which would take longer than everything else here.
        min => count
            .checked_mul(min as u64)
            .is_some_and(|bytes| bytes <= room as u64),
    }
}

/// Calls `items` for each block of an array, with the block's number of items.
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
fn too_many(count: u64, min_item: usize, room: usize) -> Fault {
    let most = match min_item {
        0 => MAX_ZERO_SIZE_ITEMS,
        min => room / min,
    };
    let most = most as u64;
    Box::new(DecodeErrorKind::TooManyItems { count, most })
}

#[cold]
fn bad_size(declared: usize, actual: usize) -> Fault {
    Box::new(DecodeErrorKind::BadBlockSize { declared, actual })
}
