//! The ways past arrays: the place behind one, or `None` if it is not laid out as
//! most are, or is at fault.

use std::hint::select_unpredictable;

use super::super::blocks::{ItemBlock, fits};
use super::super::cursor::Cursor;
use super::{Guess, behind_string, cursor_at};
use crate::varints::Kernels;

/// The place behind an array of items of `width` bytes.
#[inline(always)]
pub(super) fn fixed(width: usize, guess: &mut Guess, data: &[u8], at: usize) -> Option<usize> {
    let header = u32::from_le_bytes(*data.get(at..)?.first_chunk()?);
    let behind = at + guess.len;
    if header & guess.mask == guess.header && data.get(behind - 1) == Some(&0) {
        return Some(behind);
    }
    learn(width, guess, data, at)
}

/// As [`fixed`], where the array is another than the last.
#[inline(never)]
fn learn(width: usize, guess: &mut Guess, data: &[u8], at: usize) -> Option<usize> {
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
        *guess = Guess {
            header: header & mask,
            mask,
            len: cursor.position() - at,
        };
    }
    Some(cursor.position())
}

/// The place behind an array of varints and one of items of `width` bytes.
#[inline(always)]
pub(super) fn sparse(
    width: usize,
    kernels: Kernels,
    guesses: &mut [Guess],
    guess: usize,
    data: &[u8],
    at: usize,
) -> Option<usize> {
    match equal_sparse(width, kernels, data, at) {
        Some(behind) => Some(behind),
        None => any_sparse(width, kernels, &mut guesses[guess], data, at),
    }
}

/// As [`sparse`], if both have as many items.
#[inline(always)]
fn equal_sparse(width: usize, kernels: Kernels, data: &[u8], at: usize) -> Option<usize> {
    let (&[header], items) = data.get(at..)?.split_first_chunk()?;
    let count = short_count(header)?;
    let middle = at + 1 + kernels.skip(items, count)?;
    // The end of the first, and the number of the second, a byte each. Nothing
    // waits for the bytes that say so.
    let behind = middle + 2 + count * width;
    let is_equal = data.get(behind) == Some(&0) && is_next(header, data, middle);
    is_equal.then_some(behind + 1)
}

/// The number of items of an array in one block that does not say its size, if a byte
/// says it and there are any.
#[inline(always)]
fn short_count(header: u8) -> Option<usize> {
    // Even and below 0x80, it is twice as large.
    let count = header.rotate_right(1);
    (1..64).contains(&count).then_some(count.into())
}

/// Whether an array ends at `at`, and the number of items of the next is `byte`.
#[inline(always)]
fn is_next(byte: u8, data: &[u8], at: usize) -> bool {
    // Made in a register: two bytes written to memory cannot be loaded as one
    // value before both writes are through.
    let expected = u16::from(byte) << 8;
    let here = data.get(at..).and_then(|rest| rest.first_chunk());
    here.is_some_and(|&here| u16::from_le_bytes(here) == expected)
}

/// As [`sparse`], where they are laid out in another way.
#[inline(never)]
fn any_sparse(
    width: usize,
    kernels: Kernels,
    guess: &mut Guess,
    data: &[u8],
    at: usize,
) -> Option<usize> {
    if let Some(behind) = both_sized(1, width, data, at) {
        return Some(behind);
    }
    let (_, at) = varint_items(1, kernels, data, at)?;
    match sized(width, data, at) {
        Some((_, behind)) => Some(behind),
        None => fixed(width, guess, data, at),
    }
}

/// The number of items of an array of so many varints each, and the place behind
/// it.
#[inline(always)]
pub(super) fn varint_items(
    each: usize,
    kernels: Kernels,
    data: &[u8],
    at: usize,
) -> Option<(usize, usize)> {
    let count = match *data.get(at)? {
        // As most are: an even byte is a positive count of as many varints.
        byte if byte < 0x80 && byte & 1 == 0 => usize::from(byte / 2),
        _ => return sized(each, data, at).or_else(|| varint_block(each, data, at)),
    };
    let behind = match count {
        0 => return Some((0, at + 1)),
        _ => at + 1 + kernels.skip(&data[at + 1..], count * each)?,
    };
    (data.get(behind) == Some(&0)).then_some((count, behind + 1))
}

/// The place behind two arrays of varints.
#[inline(always)]
pub(super) fn pair(kernels: Kernels, guess: &mut Guess, data: &[u8], at: usize) -> Option<usize> {
    if guess.len == 1
        && let Some(behind) = equal_pair(kernels, data, at)
    {
        return Some(behind);
    }
    any_pair(kernels, guess, data, at)
}

/// As [`pair`], where they are laid out in another way.
#[inline(never)]
fn any_pair(kernels: Kernels, guess: &mut Guess, data: &[u8], at: usize) -> Option<usize> {
    if let Some(behind) = both_sized(1, 1, data, at) {
        return Some(behind);
    }
    let (first, middle) = varint_items(1, kernels, data, at)?;
    let (second, behind) = varint_items(1, kernels, data, middle)?;
    guess.len = usize::from(first == second);
    Some(behind)
}

/// The place behind two arrays of varints that are as many.
#[inline(always)]
fn equal_pair(kernels: Kernels, data: &[u8], at: usize) -> Option<usize> {
    let (&[header], items) = data.get(at..)?.split_first_chunk()?;
    let count = short_count(header)?;
    // Between the items there is the end of the first and the number of the
    // second, a byte each, and behind them an end again: varints all of them.
    // What follows need not wait for where the first ends.
    let [first, both] = kernels.skip_both(items, count, count + 3)?;
    let (middle, behind) = (at + 1 + first, at + 1 + both);
    let is_pair = is_next(header, data, middle) && data[behind - 1] == 0 && data[behind - 2] < 0x80;
    is_pair.then_some(behind)
}

/// The number of items, and the place behind, of an array that says its size in
/// bytes.
#[inline]
fn sized(min_item: usize, data: &[u8], at: usize) -> Option<(usize, usize)> {
    let word = u32::from_le_bytes(*data.get(at..)?.first_chunk()?);
    // A negative count of a byte, and a size of one or two: which it is, is
    // chance, so both are computed and no branch taken.
    let count = (word as usize & 0xff).div_ceil(2);
    let is_long = word & 0x8000 != 0;
    let short = word as usize >> 9 & 0x3f;
    let long = short | word as usize >> 10 & 0x1fc0;
    let bytes = select_unpredictable(is_long, long, short);
    let behind = select_unpredictable(is_long, at + 3 + long, at + 2 + short);
    let is_sized = word & 0x181 == 1
        && word & word << 8 & 0x80_0000 == 0 // of a long size, the second byte ends it
        && count * min_item <= bytes
        && data.get(behind) == Some(&0);
    is_sized.then_some((count, behind + 1))
}

/// The place behind two arrays that say their sizes.
#[inline(always)]
fn both_sized(first: usize, second: usize, data: &[u8], at: usize) -> Option<usize> {
    let (_, middle) = sized(first, data, at)?;
    let (_, behind) = sized(second, data, middle)?;
    Some(behind)
}

/// The place behind an array of strings, or at a `depth` of 1 of arrays of them.
pub(super) fn lists(depth: usize, data: &[u8], at: usize) -> Option<usize> {
    let list = data.get(at..)?;
    let rest = match depth {
        0 => behind_list(list, behind_string)?,
        _ => behind_list(list, |list| behind_list(list, behind_string))?,
    };
    Some(data.len() - rest.len())
}

/// What follows the array that `data` begins with. A slice is a pointer: where the next
/// item is, is known a cycle sooner than by adding its place to another.
#[inline(always)]
fn behind_list(data: &[u8], behind_item: impl Fn(&[u8]) -> Option<&[u8]>) -> Option<&[u8]> {
    let (&header, mut rest) = data.split_first()?;
    if header & 0x81 != 0 {
        return sized(1, data, 0).map(|(_, behind)| &data[behind..]);
    }
    if header == 0 {
        return Some(rest);
    }
    for _ in 0..header / 2 {
        rest = behind_item(rest)?;
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

/// The header of an array's only block, with its size in bytes if it has one;
/// `None` inside for an array without items.
#[inline]
pub(super) fn whole_block(min_item: usize, cursor: &mut Cursor<'_>) -> Option<Option<ItemBlock>> {
    let count = cursor.long().ok()?;
    if count == 0 {
        return Some(None);
    }
    let bytes = match count < 0 {
        true => Some(cursor.length().ok()?),
        false => None,
    };
    let count = count.unsigned_abs();
    fits(count, min_item, bytes.unwrap_or(cursor.remaining())).then_some(())?;
    let count = count as usize;
    Some(Some(ItemBlock { count, bytes }))
}
