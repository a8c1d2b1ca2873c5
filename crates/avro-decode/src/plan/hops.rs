//! Moving past neighbouring values that nobody asked for, at the speed at which
//! their lengths can be read.
//!
//! A record's values are behind one another: where one starts is known when the
//! one before has been read, and that chain of loads is what skipping costs. An
//! array of fixed-width items is therefore guessed to be as long as it was in
//! the record before. Whether it is, is a branch, which the processor predicts,
//! and not a load that everything behind waits for.
//!
//! Whatever is not laid out as most are, or is at fault, is left to the general
//! way, which starts over.

use super::blocks::{ItemBlock, fits};
use super::cursor::{Cursor, END_BITS};
use super::skip::{Skip, SkipTable};
use crate::varints::Kernels;

/// A step of the way past some values.
#[derive(Clone, Debug)]
pub(crate) enum Hop {
    /// This many bytes.
    Bytes(usize),
    /// This many varints.
    Varints(usize),
    /// A length and as many bytes.
    Length,
    /// An array of items of `width` bytes each; `guess` is the number of its
    /// guess.
    Fixed { width: usize, guess: usize },
    /// An array of items of `width` bytes each, as many as the array before has:
    /// the values of indices.
    Same(usize),
    /// An array of items of so many varints each.
    VarintItems(usize),
    /// Anything else.
    Other(Skip),
}

/// The last array at a place: the bytes before its items, and all its bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Guess {
    header: u32,
    /// The bits of `header` that count.
    mask: u32,
    len: usize,
}

impl Guess {
    /// Nothing is known yet: no header is like that.
    pub(crate) const NONE: Guess = Guess {
        header: 1,
        mask: 0,
        len: 1,
    };
}

impl Hop {
    /// The way past what `skip` gets past; `guesses` counts those that are used.
    pub(crate) fn all(skip: &Skip, table: &SkipTable, guesses: &mut usize) -> Box<[Hop]> {
        let mut hops = Vec::new();
        push(skip, table, guesses, &mut hops);
        hops.into()
    }
}

/// Hops from which on records stay as they are: types that have others several
/// times could else become very many.
const MANY: usize = 256;

fn push(skip: &Skip, table: &SkipTable, guesses: &mut usize, hops: &mut Vec<Hop>) {
    hops.push(match skip {
        Skip::Bytes(n) => Hop::Bytes(*n),
        Skip::Varints(n) => Hop::Varints(*n),
        Skip::Length => Hop::Length,
        Skip::Items { item, .. } => match **item {
            Skip::Bytes(width @ 1..=8) if matches!(hops.last(), Some(Hop::VarintItems(1))) => {
                Hop::Same(width)
            }
            Skip::Bytes(width) if width > 0 => {
                *guesses += 1;
                let guess = *guesses - 1;
                Hop::Fixed { width, guess }
            }
            Skip::Varints(each) => Hop::VarintItems(each),
            _ => Hop::Other(skip.clone()),
        },
        Skip::Sequence(all) => {
            all.iter().for_each(|skip| push(skip, table, guesses, hops));
            return;
        }
        Skip::Record(place) if hops.len() < MANY => match table.fields(*place) {
            Some(fields) => {
                fields
                    .iter()
                    .for_each(|skip| push(skip, table, guesses, hops));
                return;
            }
            None => Hop::Other(skip.clone()),
        },
        Skip::Record(_) | Skip::Union(_) => Hop::Other(skip.clone()),
    });
}

/// Moves past the values, if they are laid out as most are; whether they were.
#[inline]
pub(crate) fn run(
    hops: &[Hop],
    table: &SkipTable,
    guesses: &mut [Guess],
    cursor: &mut Cursor<'_>,
) -> bool {
    let kernels = Kernels::fastest();
    let mut count = 0;
    // A place in a register, rather than a cursor in memory.
    let (data, mut at) = (cursor.data(), cursor.position());
    for hop in hops {
        let behind = match hop {
            Hop::Bytes(n) => at.checked_add(*n).filter(|&behind| behind <= data.len()),
            Hop::Varints(1) => varint(data, at),
            Hop::Varints(n) => data
                .get(at..)
                .and_then(|rest| Some(at + kernels.skip(rest, *n)?)),
            Hop::Length => length(data, at),
            Hop::Fixed { width, guess } => fixed(*width, &mut guesses[*guess], data, at),
            Hop::Same(width) => same(*width, count, data, at),
            Hop::VarintItems(each) => {
                let items = varint_items(*each, kernels, data, at);
                items.map(|(items, behind)| {
                    count = items;
                    behind
                })
            }
            Hop::Other(skip) => other(skip, table, data, at),
        };
        match behind {
            Some(behind) => at = behind,
            None => return false,
        }
    }
    *cursor = cursor.at(at);
    true
}

/// The place behind a varint, if it ends within 8 bytes, of which there are as
/// many.
#[inline]
fn varint(data: &[u8], at: usize) -> Option<usize> {
    let word = u64::from_le_bytes(*data.get(at..)?.first_chunk()?);
    let ends = !word & END_BITS;
    (ends != 0).then_some(at + ends.trailing_zeros() as usize / 8 + 1)
}

fn length(data: &[u8], at: usize) -> Option<usize> {
    let mut cursor = cursor_at(data, at)?;
    let length = cursor.length().ok()?;
    Some(cursor.position() + length)
}

fn other(skip: &Skip, table: &SkipTable, data: &[u8], at: usize) -> Option<usize> {
    let mut cursor = cursor_at(data, at)?;
    table.run(skip, &mut cursor).ok()?;
    Some(cursor.position())
}

fn cursor_at(data: &[u8], at: usize) -> Option<Cursor<'_>> {
    (at <= data.len()).then(|| Cursor::new(data, at))
}

/// The place behind an array of items of `width` bytes.
#[inline]
fn fixed(width: usize, guess: &mut Guess, data: &[u8], at: usize) -> Option<usize> {
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

/// The place behind an array of items of `width` bytes, by guess `count` of them.
#[inline]
fn same(width: usize, count: usize, data: &[u8], at: usize) -> Option<usize> {
    // Where the guess is right, nothing waits for the bytes that say so.
    if (1..64).contains(&count)
        && data.get(at) == Some(&(2 * count as u8))
        && data.get(at + 1 + count * width) == Some(&0)
    {
        return Some(at + 2 + count * width);
    }
    let mut cursor = cursor_at(data, at)?;
    if let Some(block) = whole_block(width, &mut cursor)? {
        let bytes = block.bytes.unwrap_or(block.count * width);
        cursor.bytes(bytes).ok()?;
        cursor.ends_array().then_some(())?;
    }
    Some(cursor.position())
}

/// The number of items of an array of so many varints each, and the place behind
/// it.
#[inline]
fn varint_items(each: usize, kernels: Kernels, data: &[u8], at: usize) -> Option<(usize, usize)> {
    let count = match *data.get(at)? {
        // As most are: an even byte is a positive count of as many varints.
        byte if byte < 0x80 && byte & 1 == 0 => usize::from(byte / 2),
        _ => return varint_block(each, data, at),
    };
    let behind = match count {
        0 => return Some((0, at + 1)),
        _ => at + 1 + kernels.skip(&data[at + 1..], count * each)?,
    };
    (data.get(behind) == Some(&0)).then_some((count, behind + 1))
}

/// As [`varint_items`], for an array of many items or with its size in bytes.
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
fn whole_block(min_item: usize, cursor: &mut Cursor<'_>) -> Option<Option<ItemBlock>> {
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

#[cfg(test)]
mod tests;
