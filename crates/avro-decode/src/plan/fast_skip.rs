//! Skips neighbouring fields at the speed at which their lengths can be read.
//!
//! The fields of a record follow each other. The start of one is known only when the one
//! before it has been read, and skipping costs that chain of loads. An array of items of
//! fixed width is therefore predicted to be as long as in the record before. Checking the
//! prediction is a branch, which the processor predicts, and not a load that all later
//! fields wait for.
//!
//! A field that is laid out in a rare way, or is damaged, is left to [`SkipTable::run`],
//! which starts over.

use super::cursor::{Cursor, END_BITS};
use super::prefetch::SkipPrefetch;
use super::skip::{Skip, SkipTable};
use crate::varints::{Kernels, Work};

mod arrays;

use arrays::{fixed, lists, pair, sparse, varint_items};

/// One operation of a fast skip.
#[derive(Clone, Debug)]
pub(crate) enum FastSkip {
    /// This many bytes.
    Bytes(usize),
    /// This many varints.
    Varints(usize),
    /// A length and that many bytes.
    Length,
    /// An array of items of `width` bytes each; `predicted` is the index of its
    /// predicted length.
    Fixed { width: usize, predicted: usize },
    /// An array of items of this many varints each.
    VarintItems(usize),
    /// Two arrays of varints, predicted to have equally many.
    Pair { predicted: usize },
    /// An array of varints and one of items of `width` bytes, mostly equally many:
    /// indices and values.
    Sparse { width: usize, predicted: usize },
    /// Arrays of bytes or strings, within `depth` arrays.
    Lists { depth: usize, skip: Box<Skip> },
    /// Anything else, within `depth` records. Boxed, so that the discriminant has a word of its own.
    Other { depth: usize, skip: Box<Skip> },
}

/// The length of the last array at a field: the bytes before its items, and all its bytes. For a
/// pair of arrays, `len` is 1 if both had equally many items, and 0 otherwise.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PredictedLen {
    header: u32,
    /// The bits of `header` that count.
    mask: u32,
    len: usize,
}

impl PredictedLen {
    /// No array was seen: no header equals this one.
    pub(crate) const NONE: PredictedLen = PredictedLen {
        header: 1,
        mask: 0,
        len: 1,
    };
}

impl FastSkip {
    /// The fast skips that do what `skip` does. `predicted` counts the predicted lengths.
    pub(crate) fn all(skip: &Skip, table: &SkipTable, predicted: &mut usize) -> Box<[FastSkip]> {
        Self::within(0, skip, table, predicted)
    }

    /// The same, for a `skip` within `depth` records.
    pub(crate) fn within(
        depth: usize,
        skip: &Skip,
        table: &SkipTable,
        predicted: &mut usize,
    ) -> Box<[FastSkip]> {
        let mut skips = Vec::new();
        push(depth, skip, table, predicted, &mut skips);
        skips.into()
    }

    /// Whether it takes long enough for a prefetch at the same time.
    pub(crate) fn is_slow(&self) -> bool {
        match self {
            FastSkip::VarintItems(_) | FastSkip::Pair { .. } | FastSkip::Sparse { .. } => true,
            FastSkip::Lists { .. } | FastSkip::Other { .. } => true,
            FastSkip::Bytes(_)
            | FastSkip::Varints(_)
            | FastSkip::Length
            | FastSkip::Fixed { .. } => false,
        }
    }
}

/// Maximum number of fast skips that the fields of records are expanded to. Types that
/// contain others several times could need very many.
const MANY: usize = 256;

fn push(
    depth: usize,
    skip: &Skip,
    table: &SkipTable,
    predicted: &mut usize,
    skips: &mut Vec<FastSkip>,
) {
    let other = |skip: &Skip| FastSkip::Other {
        depth,
        skip: Box::new(skip.clone()),
    };
    let skip = match skip {
        Skip::Bytes(n) => FastSkip::Bytes(*n),
        Skip::Varints(n) => FastSkip::Varints(*n),
        Skip::Length => FastSkip::Length,
        Skip::Items { item, .. } => match &**item {
            Skip::Bytes(width) if *width > 0 => {
                let (width, predicted) = (*width, next(predicted));
                match skips.pop_if(|skip| width <= 8 && matches!(skip, FastSkip::VarintItems(1))) {
                    Some(_) => FastSkip::Sparse { width, predicted },
                    None => FastSkip::Fixed { width, predicted },
                }
            }
            Skip::Varints(1) if matches!(skips.last(), Some(FastSkip::VarintItems(1))) => {
                skips.pop();
                let predicted = next(predicted);
                FastSkip::Pair { predicted }
            }
            Skip::Varints(each) => FastSkip::VarintItems(*each),
            Skip::Length => FastSkip::Lists {
                depth: 0,
                skip: Box::new(skip.clone()),
            },
            Skip::Items { item, .. } if matches!(**item, Skip::Length) => FastSkip::Lists {
                depth: 1,
                skip: Box::new(skip.clone()),
            },
            _ => other(skip),
        },
        Skip::Sequence(all) => {
            all.iter()
                .for_each(|skip| push(depth, skip, table, predicted, skips));
            return;
        }
        Skip::Record(record) if skips.len() < MANY => match table.fields(*record) {
            Some(fields) => {
                fields
                    .iter()
                    .for_each(|skip| push(depth + 1, skip, table, predicted, skips));
                return;
            }
            None => other(skip),
        },
        Skip::Record(_) | Skip::Union(_) => other(skip),
    };
    skips.push(skip);
}

/// Reserves a predicted length and returns its index.
fn next(predicted: &mut usize) -> usize {
    *predicted += 1;
    *predicted - 1
}

/// A run of fast skips over some fields of a record.
pub(crate) struct SkipRun<'w, 'd> {
    pub(crate) skips: &'w [FastSkip],
    pub(crate) table: &'w SkipTable,
    pub(crate) predicted: &'w mut [PredictedLen],
    pub(crate) prefetch: &'w mut SkipPrefetch,
    pub(crate) cursor: &'w mut Cursor<'d>,
}

impl SkipRun<'_, '_> {
    /// Skips the fields and returns true, if all are laid out in the usual way. Otherwise
    /// the cursor stays where it was.
    #[inline]
    pub(crate) fn try_skip(self) -> bool {
        Kernels::fastest().run(self)
    }
}

impl Work for SkipRun<'_, '_> {
    type Output = bool;

    #[inline(always)]
    fn run(self, kernels: Kernels) -> bool {
        // A position in a register, rather than a cursor in memory.
        let (data, mut at) = (self.cursor.data(), self.cursor.position());
        for skip in self.skips {
            let end = match skip {
                FastSkip::Bytes(n) => at.checked_add(*n).filter(|&end| end <= data.len()),
                FastSkip::Varints(1) => varint(data, at),
                FastSkip::Varints(n) => data
                    .get(at..)
                    .and_then(|rest| Some(at + kernels.skip(rest, *n)?)),
                FastSkip::Length => string(data, at),
                FastSkip::Fixed { width, predicted } => {
                    fixed(*width, &mut self.predicted[*predicted], data, at)
                }
                FastSkip::VarintItems(each) => {
                    self.prefetch.ask();
                    varint_items(*each, kernels, data, at).map(|(_, end)| end)
                }
                FastSkip::Pair { predicted } => {
                    self.prefetch.ask();
                    pair(kernels, &mut self.predicted[*predicted], data, at)
                }
                FastSkip::Sparse { width, predicted } => {
                    self.prefetch.ask();
                    sparse(*width, kernels, self.predicted, *predicted, data, at)
                }
                FastSkip::Lists { depth, skip } => {
                    self.prefetch.ask();
                    lists(*depth, data, at).or_else(|| other(0, skip, self.table, data, at))
                }
                FastSkip::Other { depth, skip } => {
                    self.prefetch.ask();
                    other(*depth, skip, self.table, data, at)
                }
            };
            match end {
                Some(end) => at = end,
                None => return false,
            }
        }
        *self.cursor = self.cursor.at(at);
        true
    }
}

/// The end of a varint, if the data has 8 bytes and the varint ends within them.
#[inline]
fn varint(data: &[u8], at: usize) -> Option<usize> {
    let word = u64::from_le_bytes(*data.get(at..)?.first_chunk()?);
    let ends = !word & END_BITS;
    (ends != 0).then_some(at + ends.trailing_zeros() as usize / 8 + 1)
}

/// The end of a string, if the data has that many bytes. Between operations, which know
/// positions, this is faster than [`after_string`].
#[inline(always)]
fn string(data: &[u8], at: usize) -> Option<usize> {
    let byte = *data.get(at)?;
    if byte & 0x81 == 0 {
        let end = at + 1 + usize::from(byte / 2);
        return (end <= data.len()).then_some(end);
    }
    after_long_string(&data[at..]).map(|rest| data.len() - rest.len())
}

/// The data after the string that it begins with, if it has that many bytes.
#[inline(always)]
fn after_string(data: &[u8]) -> Option<&[u8]> {
    let (&byte, rest) = data.split_first()?;
    if byte & 0x81 == 0 {
        return rest.get(usize::from(byte / 2)..);
    }
    after_long_string(data)
}

#[inline(never)] // Most are short.
fn after_long_string(data: &[u8]) -> Option<&[u8]> {
    let mut cursor = Cursor::new(data, 0);
    let length = cursor.length().ok()?;
    Some(&data[cursor.position() + length..])
}

#[inline(never)]
fn other(depth: usize, skip: &Skip, table: &SkipTable, data: &[u8], at: usize) -> Option<usize> {
    let mut cursor = cursor_at(data, at)?;
    table.run_within(depth, skip, &mut cursor).ok()?;
    Some(cursor.position())
}

fn cursor_at(data: &[u8], at: usize) -> Option<Cursor<'_>> {
    (at <= data.len()).then(|| Cursor::new(data, at))
}

#[cfg(test)]
mod tests;
