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
use super::cursor::Cursor;
use super::skip::{Skip, SkipTable};
use crate::prefetch::prefetch;

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
            Skip::Bytes(width) if width > 0 && matches!(hops.last(), Some(Hop::VarintItems(1))) => {
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
    record_len: usize,
    cursor: &mut Cursor<'_>,
) -> bool {
    let mut ahead = *cursor;
    let mut count = 0;
    let all = hops.iter().try_for_each(|hop| match hop {
        Hop::Bytes(n) => ahead.bytes(*n).ok().map(drop),
        Hop::Varints(1) => ahead.skip_varint(),
        Hop::Varints(n) => ahead.skip_varints(*n).ok(),
        Hop::Length => {
            let length = ahead.length().ok()?;
            ahead.bytes(length).ok().map(drop)
        }
        Hop::Fixed { width, guess } => {
            prefetch(ahead.rest(), record_len);
            fixed(*width, &mut guesses[*guess], &mut ahead)
        }
        Hop::Same(width) => same(*width, count, &mut ahead),
        Hop::VarintItems(each) => {
            prefetch(ahead.rest(), record_len);
            prefetch(ahead.rest(), record_len + 64);
            count = varint_items(*each, &mut ahead)?;
            Some(())
        }
        Hop::Other(skip) => table.run(skip, &mut ahead).ok(),
    });
    if all.is_some() {
        *cursor = ahead;
    }
    all.is_some()
}

/// Moves past an array of items of `width` bytes.
#[inline]
fn fixed(width: usize, guess: &mut Guess, cursor: &mut Cursor<'_>) -> Option<()> {
    let bytes = cursor.rest();
    let header = u32::from_le_bytes(*bytes.first_chunk()?);
    if header & guess.mask == guess.header && bytes.get(guess.len - 1) == Some(&0) {
        cursor.advance(guess.len);
        return Some(());
    }
    learn(width, guess, cursor)
}

/// As [`fixed`], where the array is another than the last.
#[inline(never)]
fn learn(width: usize, guess: &mut Guess, cursor: &mut Cursor<'_>) -> Option<()> {
    let start = *cursor;
    let header = u32::from_le_bytes(*start.rest().first_chunk()?);
    let header_len = match whole_block(width, cursor)? {
        None => 1,
        Some(block) => {
            let header_len = cursor.position() - start.position();
            let len = block.count * width;
            cursor.bytes(block.bytes.unwrap_or(len)).ok()?;
            cursor.ends_array().then_some(header_len)?
        }
    };
    if header_len <= 4 {
        let mask = u32::MAX >> (32 - 8 * header_len);
        *guess = Guess {
            header: header & mask,
            mask,
            len: cursor.position() - start.position(),
        };
    }
    Some(())
}

/// Moves past an array of items of `width` bytes, by guess `count` of them.
#[inline]
fn same(width: usize, count: usize, cursor: &mut Cursor<'_>) -> Option<()> {
    let bytes = cursor.rest();
    // Where the guess is right, nothing waits for the bytes that say so.
    if (1..64).contains(&count)
        && bytes.first() == Some(&(2 * count as u8))
        && bytes.get(1 + count * width) == Some(&0)
    {
        cursor.advance(2 + count * width);
        return Some(());
    }
    let Some(block) = whole_block(width, cursor)? else {
        return Some(());
    };
    cursor
        .bytes(block.bytes.unwrap_or(block.count * width))
        .ok()?;
    cursor.ends_array().then_some(())
}

/// Moves past an array of items of so many varints; gives the number of items.
#[inline]
fn varint_items(each: usize, cursor: &mut Cursor<'_>) -> Option<usize> {
    let Some(block) = whole_block(each, cursor)? else {
        return Some(0);
    };
    match block.bytes {
        Some(bytes) => cursor.bytes(bytes).ok().map(drop)?,
        None => cursor.skip_varints(block.count.checked_mul(each)?).ok()?,
    }
    cursor.ends_array().then_some(block.count)
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
