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

use super::ahead::Ahead;
use super::cursor::{Cursor, END_BITS};
use super::skip::{Skip, SkipTable};
use crate::varints::{Kernels, Work};

mod arrays;

use arrays::{fixed, lists, pair, sparse, varint_items};

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
    /// An array of items of so many varints each.
    VarintItems(usize),
    /// Two arrays of varints, by guess as many.
    Pair { guess: usize },
    /// An array of varints and one of items of `width` bytes, mostly as many:
    /// indices and values.
    Sparse { width: usize, guess: usize },
    /// Arrays of bytes or strings, in so many arrays.
    Lists { depth: usize, skip: Box<Skip> },
    /// Anything else. Boxed, so that which hop it is stands in a word of its own.
    Other(Box<Skip>),
}

/// The last array at a place: the bytes before its items, and all its bytes. For
/// a pair of arrays, `len` is 1 if they were as many, else 0.
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

    /// Whether it takes long enough for data to be asked for meanwhile.
    pub(crate) fn is_slow(&self) -> bool {
        match self {
            Hop::VarintItems(_) | Hop::Pair { .. } | Hop::Sparse { .. } => true,
            Hop::Lists { .. } | Hop::Other(_) => true,
            Hop::Bytes(_) | Hop::Varints(_) | Hop::Length | Hop::Fixed { .. } => false,
        }
    }
}

/// Hops from which on records stay as they are: types that have others several
/// times could else become very many.
const MANY: usize = 256;

fn push(skip: &Skip, table: &SkipTable, guesses: &mut usize, hops: &mut Vec<Hop>) {
    let hop = match skip {
        Skip::Bytes(n) => Hop::Bytes(*n),
        Skip::Varints(n) => Hop::Varints(*n),
        Skip::Length => Hop::Length,
        Skip::Items { item, .. } => match &**item {
            Skip::Bytes(width) if *width > 0 => {
                let (width, guess) = (*width, next(guesses));
                match hops.pop_if(|hop| width <= 8 && matches!(hop, Hop::VarintItems(1))) {
                    Some(_) => Hop::Sparse { width, guess },
                    None => Hop::Fixed { width, guess },
                }
            }
            Skip::Varints(1) if matches!(hops.last(), Some(Hop::VarintItems(1))) => {
                hops.pop();
                let guess = next(guesses);
                Hop::Pair { guess }
            }
            Skip::Varints(each) => Hop::VarintItems(*each),
            Skip::Length => Hop::Lists {
                depth: 0,
                skip: Box::new(skip.clone()),
            },
            Skip::Items { item, .. } if matches!(**item, Skip::Length) => Hop::Lists {
                depth: 1,
                skip: Box::new(skip.clone()),
            },
            _ => Hop::Other(Box::new(skip.clone())),
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
            None => Hop::Other(Box::new(skip.clone())),
        },
        Skip::Record(_) | Skip::Union(_) => Hop::Other(Box::new(skip.clone())),
    };
    hops.push(hop);
}

/// The number of one more guess.
fn next(guesses: &mut usize) -> usize {
    *guesses += 1;
    *guesses - 1
}

/// The way past some values of a record.
pub(crate) struct Way<'w, 'd> {
    pub(crate) hops: &'w [Hop],
    pub(crate) table: &'w SkipTable,
    pub(crate) guesses: &'w mut [Guess],
    pub(crate) ahead: &'w mut Ahead,
    pub(crate) cursor: &'w mut Cursor<'d>,
}

impl Way<'_, '_> {
    /// Moves past the values, if they are laid out as most are; whether they were.
    #[inline]
    pub(crate) fn go(self) -> bool {
        Kernels::fastest().run(self)
    }
}

impl Work for Way<'_, '_> {
    type Output = bool;

    #[inline(always)]
    fn run(self, kernels: Kernels) -> bool {
        // A place in a register, rather than a cursor in memory.
        let (data, mut at) = (self.cursor.data(), self.cursor.position());
        for hop in self.hops {
            let behind = match hop {
                Hop::Bytes(n) => at.checked_add(*n).filter(|&behind| behind <= data.len()),
                Hop::Varints(1) => varint(data, at),
                Hop::Varints(n) => data
                    .get(at..)
                    .and_then(|rest| Some(at + kernels.skip(rest, *n)?)),
                Hop::Length => string(data, at),
                Hop::Fixed { width, guess } => fixed(*width, &mut self.guesses[*guess], data, at),
                Hop::VarintItems(each) => {
                    self.ahead.ask();
                    varint_items(*each, kernels, data, at).map(|(_, behind)| behind)
                }
                Hop::Pair { guess } => {
                    self.ahead.ask();
                    pair(kernels, &mut self.guesses[*guess], data, at)
                }
                Hop::Sparse { width, guess } => {
                    self.ahead.ask();
                    sparse(*width, kernels, self.guesses, *guess, data, at)
                }
                Hop::Lists { depth, skip } => {
                    self.ahead.ask();
                    lists(*depth, data, at).or_else(|| other(skip, self.table, data, at))
                }
                Hop::Other(skip) => {
                    self.ahead.ask();
                    other(skip, self.table, data, at)
                }
            };
            match behind {
                Some(behind) => at = behind,
                None => return false,
            }
        }
        *self.cursor = self.cursor.at(at);
        true
    }
}

/// The place behind a varint, if it ends within 8 bytes, of which there are as
/// many.
#[inline]
fn varint(data: &[u8], at: usize) -> Option<usize> {
    let word = u64::from_le_bytes(*data.get(at..)?.first_chunk()?);
    let ends = !word & END_BITS;
    (ends != 0).then_some(at + ends.trailing_zeros() as usize / 8 + 1)
}

/// The place behind a string, if the data has as many bytes. Between hops, which know
/// places, this takes less than [`behind_string`].
#[inline(always)]
fn string(data: &[u8], at: usize) -> Option<usize> {
    let byte = *data.get(at)?;
    if byte & 0x81 == 0 {
        let behind = at + 1 + usize::from(byte / 2);
        return (behind <= data.len()).then_some(behind);
    }
    behind_long_string(&data[at..]).map(|rest| data.len() - rest.len())
}

/// What follows the string that `data` begins with, if the data has as many bytes.
#[inline(always)]
fn behind_string(data: &[u8]) -> Option<&[u8]> {
    let (&byte, rest) = data.split_first()?;
    if byte & 0x81 == 0 {
        return rest.get(usize::from(byte / 2)..);
    }
    behind_long_string(data)
}

#[inline(never)] // Most are short.
fn behind_long_string(data: &[u8]) -> Option<&[u8]> {
    let mut cursor = Cursor::new(data, 0);
    let length = cursor.length().ok()?;
    Some(&data[cursor.position() + length..])
}

#[inline(never)]
fn other(skip: &Skip, table: &SkipTable, data: &[u8], at: usize) -> Option<usize> {
    let mut cursor = cursor_at(data, at)?;
    table.run(skip, &mut cursor).ok()?;
    Some(cursor.position())
}

fn cursor_at(data: &[u8], at: usize) -> Option<Cursor<'_>> {
    (at <= data.len()).then(|| Cursor::new(data, at))
}

#[cfg(test)]
mod tests;
