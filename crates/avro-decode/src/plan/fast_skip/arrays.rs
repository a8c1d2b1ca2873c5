//! The ends of arrays: each function returns `None` if an array is laid out in a rare
//! way, or is damaged.

use std::hint::select_unpredictable;

use super::super::blocks::{ItemBlock, fits};
use super::super::cursor::Cursor;
use super::{PredictedLen, after_string, cursor_at};
use crate::varints::Kernels;

/// The end of an array of items of `width` bytes.
#[inline(always)]
pub(super) fn fixed(
    width: usize,
    predicted: &mut PredictedLen,
    data: &[u8],
    at: usize,
) -> Option<usize> {
    let header = u32::from_le_bytes(*data.get(at..)?.first_chunk()?);
    let end = at + predicted.len;
    if header & predicted.mask == predicted.header && data.get(end - 1) == Some(&0) {
        return Some(end);
    }
    learn(width, predicted, data, at)
}

/// As [`fixed`], for an array of another length than the last.
#[inline(never)]
fn learn(width: usize, predicted: &mut PredictedLen, data: &[u8], at: usize) -> Option<usize> {
    let header = u32::from_le_bytes(*data.get(at..)?.first_chunk()?);
    let mut cursor = cursor_at(data, at)?;
    let block = whole_block(width, &mut cursor)?;
    let header_len = cursor.position() - at;
    if let Some(block) = block {
        let bytes = block.bytes.unwrap_or(block.count * width);
        cursor.bytes(bytes).ok()?;
        cursor.ends_array().then_some(())?;
    }
    if header_len <= 4 {
        let mask = u32::MAX >> (32 - 8 * header_len);
        *predicted = PredictedLen {
            header: header & mask,
            mask,
            len: cursor.position() - at,
        };
    }
    Some(cursor.position())
}

/// The end of an array of varints and one of items of `width` bytes.
#[inline(always)]
pub(super) fn sparse(
    width: usize,
    kernels: Kernels,
    predicted: &mut [PredictedLen],
    index: usize,
    data: &[u8],
    at: usize,
) -> Option<usize> {
    match equal_sparse(width, kernels, data, at) {
        Some(end) => Some(end),
        None => any_sparse(width, kernels, &mut predicted[index], data, at),
    }
}

/// As [`sparse`], if both have equally many items.
#[inline(always)]
fn equal_sparse(width: usize, kernels: Kernels, data: &[u8], at: usize) -> Option<usize> {
    let (&[header], items) = data.get(at..)?.split_first_chunk()?;
    let count = short_count(header)?;
    let middle = at + 1 + kernels.skip(items, count)?;
    // The end of the first array and the count of the second take a byte each. No later load waits
    // for these two bytes.
    let end = middle + 2 + count * width;
    let is_equal = data.get(end) == Some(&0) && is_next(header, data, middle);
    is_equal.then_some(end + 1)
}

/// The number of items of an array of one block without its size in bytes, if the count
/// takes one byte and is not 0.
#[inline(always)]
fn short_count(header: u8) -> Option<usize> {
    // An even header below 0x80 is twice the count.
    let count = header.rotate_right(1);
    (1..64).contains(&count).then_some(count.into())
}

/// Whether an array ends at `at` and the next one begins with the count `byte`.
#[inline(always)]
fn is_next(byte: u8, data: &[u8], at: usize) -> bool {
    // The expected value is computed in a register. If its two bytes were stored one by one,
    // loading them as one value would wait for both stores.
    let expected = u16::from(byte) << 8;
    let here = data.get(at..).and_then(|rest| rest.first_chunk());
    here.is_some_and(|&here| u16::from_le_bytes(here) == expected)
}

/// As [`sparse`], for another layout.
#[inline(never)]
fn any_sparse(
    width: usize,
    kernels: Kernels,
    predicted: &mut PredictedLen,
    data: &[u8],
    at: usize,
) -> Option<usize> {
    if let Some(end) = both_sized(1, width, data, at) {
        return Some(end);
    }
    let (_, at) = varint_items(1, kernels, data, at)?;
    match sized(width, data, at) {
        Some((_, end)) => Some(end),
        None => fixed(width, predicted, data, at),
    }
}

/// The number of items of an array, and its end. Each item is `each` varints.
#[inline(always)]
pub(super) fn varint_items(
    each: usize,
    kernels: Kernels,
    data: &[u8],
    at: usize,
) -> Option<(usize, usize)> {
    let count = match *data.get(at)? {
        // The usual layout: an even byte is a positive count.
        byte if byte < 0x80 && byte & 1 == 0 => usize::from(byte / 2),
        _ => return sized(each, data, at).or_else(|| varint_block(each, data, at)),
    };
    let end = match count {
        0 => return Some((0, at + 1)),
        _ => at + 1 + kernels.skip(&data[at + 1..], count * each)?,
    };
    (data.get(end) == Some(&0)).then_some((count, end + 1))
}

/// The end of two arrays of varints.
#[inline(always)]
pub(super) fn pair(
    kernels: Kernels,
    predicted: &mut PredictedLen,
    data: &[u8],
    at: usize,
) -> Option<usize> {
    if predicted.len == 1
        && let Some(end) = equal_pair(kernels, data, at)
    {
        return Some(end);
    }
    any_pair(kernels, predicted, data, at)
}

/// As [`pair`], for another layout.
#[inline(never)]
fn any_pair(
    kernels: Kernels,
    predicted: &mut PredictedLen,
    data: &[u8],
    at: usize,
) -> Option<usize> {
    if let Some(end) = both_sized(1, 1, data, at) {
        return Some(end);
    }
    let (first, middle) = varint_items(1, kernels, data, at)?;
    let (second, end) = varint_items(1, kernels, data, middle)?;
    predicted.len = usize::from(first == second);
    Some(end)
}

/// The end of two arrays of varints that have equally many items.
#[inline(always)]
fn equal_pair(kernels: Kernels, data: &[u8], at: usize) -> Option<usize> {
    let (&[header], items) = data.get(at..)?.split_first_chunk()?;
    let count = short_count(header)?;
    // Between the items are the end of the first array and the count of the second, a
    // byte each, and after them another end. All of these are varints, so that later
    // loads need not wait for the end of the first array.
    let [first, both] = kernels.skip_both(items, count, count + 3)?;
    let (middle, end) = (at + 1 + first, at + 1 + both);
    let is_pair = is_next(header, data, middle) && data[end - 1] == 0 && data[end - 2] < 0x80;
    is_pair.then_some(end)
}

/// The number of items and the end of an array that has its size in bytes.
#[inline]
fn sized(min_item: usize, data: &[u8], at: usize) -> Option<(usize, usize)> {
    let word = u32::from_le_bytes(*data.get(at..)?.first_chunk()?);
    // The array begins with a negative count of one byte, then its size in one or two bytes. A
    // branch on the length of the size could not be predicted, so both cases are computed.
    let count = (word as usize & 0xff).div_ceil(2);
    let is_long = word & 0x8000 != 0;
    let short = word as usize >> 9 & 0x3f;
    let long = short | word as usize >> 10 & 0x1fc0;
    let bytes = select_unpredictable(is_long, long, short);
    let end = select_unpredictable(is_long, at + 3 + long, at + 2 + short);
    let is_sized = word & 0x181 == 1
        && word & word << 8 & 0x80_0000 == 0 // the second byte of a long size is its last
        && count * min_item <= bytes
        && data.get(end) == Some(&0);
    is_sized.then_some((count, end + 1))
}

/// The end of two arrays that have their sizes in bytes.
#[inline(always)]
fn both_sized(first: usize, second: usize, data: &[u8], at: usize) -> Option<usize> {
    let (_, middle) = sized(first, data, at)?;
    let (_, end) = sized(second, data, middle)?;
    Some(end)
}

/// The end of an array of strings if `depth` is 0, or of an array of such arrays if it is 1.
pub(super) fn lists(depth: usize, data: &[u8], at: usize) -> Option<usize> {
    let list = data.get(at..)?;
    let rest = match depth {
        0 => after_list(list, after_string)?,
        _ => after_list(list, |list| after_list(list, after_string))?,
    };
    Some(data.len() - rest.len())
}

/// The data after the array at its start. The function passes slices on, not positions: a slice
/// holds the next address, which saves the addition of a cycle.
#[inline(always)]
fn after_list(data: &[u8], after_item: impl Fn(&[u8]) -> Option<&[u8]>) -> Option<&[u8]> {
    let (&header, mut rest) = data.split_first()?;
    if header & 0x81 != 0 {
        return sized(1, data, 0).map(|(_, end)| &data[end..]);
    }
    if header == 0 {
        return Some(rest);
    }
    for _ in 0..header / 2 {
        rest = after_item(rest)?;
    }
    match rest.split_first() {
        Some((0, rest)) => Some(rest),
        _ => None,
    }
}

/// As [`varint_items`], for an array of many items or with its size in bytes.
#[inline(never)]
fn varint_block(each: usize, data: &[u8], at: usize) -> Option<(usize, usize)> {
    let mut cursor = cursor_at(data, at)?;
    let Some(block) = whole_block(each, &mut cursor)? else {
        return Some((0, cursor.position()));
    };
    match block.bytes {
        Some(bytes) => cursor.bytes(bytes).ok().map(drop)?,
        None => cursor.skip_varints(block.count.checked_mul(each)?).ok()?,
    }
    cursor
        .ends_array()
        .then_some((block.count, cursor.position()))
}

/// The header of an array's only block, with its size in bytes if it has one. `Some(None)` if the
/// array has no items.
#[inline]
pub(super) fn whole_block(min_item: usize, cursor: &mut Cursor<'_>) -> Option<Option<ItemBlock>> {
    let count = cursor.long().ok()?;
    if count == 0 {
        return Some(None);
    }
    let bytes = if count < 0 {
        Some(cursor.length().ok()?)
    } else {
        None
    };
    let count = count.unsigned_abs();
    fits(count, min_item, bytes.unwrap_or(cursor.remaining())).then_some(())?;
    let count = count as usize;
    Some(Some(ItemBlock { count, bytes }))
}
