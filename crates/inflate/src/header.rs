//! Block headers (RFC 1951, 3.2.3 to 3.2.7).

use crate::Error;
use crate::bits::Bits;
use crate::entry::{
    DISTANCE, DISTANCE_BITS, DISTANCE_MORE, DISTANCE_SYMBOLS, EXTRA, LENGTH_SYMBOLS, LENGTHS,
    LITLEN, LITLEN_MORE, LITLEN_SYMBOLS, LITLENS, REPEATS_LAST, TABLE_LEN, code_length, consumed,
    distance, first_index, value, with_code,
};
use crate::table::{LENGTHS_CAPACITY, build};

/// Bits of the longest code word of a code length.
const LENGTH_BITS: u32 = 7;

/// The order in which the lengths of the code lengths' own code come.
const LENGTH_ORDER: [usize; LENGTH_SYMBOLS] = [
    16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15,
];

/// The type of a block, from its second and third bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BlockType {
    Stored,
    Fixed,
    Dynamic,
}

/// Reads whether the block is the last, and its type.
pub(crate) fn block(bits: &mut Bits<'_>) -> Result<(bool, BlockType), Error> {
    let is_last = bits.take(1) == 1;
    let kind = match bits.take(2) {
        0 => BlockType::Stored,
        1 => BlockType::Fixed,
        2 => BlockType::Dynamic,
        _ => return Err(Error::BlockType),
    };
    Ok((is_last, kind))
}

/// Builds the tables of the fixed codes.
pub(crate) fn fixed(tables: &mut [u32]) -> Result<(), Error> {
    let mut lengths = [8; LITLEN_SYMBOLS + DISTANCE_SYMBOLS];
    lengths[144..256].fill(9);
    lengths[256..280].fill(7);
    lengths[LITLEN_SYMBOLS..].fill(5);
    fill(tables, &lengths, LITLEN_SYMBOLS)
}

/// Reads the codes of a dynamic block and builds their tables.
pub(crate) fn dynamic(bits: &mut Bits<'_>, tables: &mut [u32]) -> Result<(), Error> {
    bits.refill();
    let litlens = bits.take(5) as usize + 257;
    let distances = bits.take(5) as usize + 1;
    let count = bits.take(4) as usize + 4;

    let mut of_lengths = [0; LENGTH_SYMBOLS];
    bits.refill();
    for (nth, symbol) in LENGTH_ORDER.into_iter().take(count).enumerate() {
        if nth == 16 {
            bits.refill();
        }
        of_lengths[symbol] = bits.take(3) as u8;
    }
    let mut table = [0; 1 << LENGTH_BITS];
    build(&of_lengths, &mut table, &mut [], 0, |symbol, len| {
        with_code(LENGTHS[symbol], len)
    })?;

    let mut lengths = [0; LENGTHS_CAPACITY];
    let end = litlens + distances;
    if code_lengths(bits, &table, &mut lengths, end)? != end {
        return Err(Error::Repetition);
    }
    fill(tables, &lengths[..end], litlens)
}

/// Reads at least `end` code lengths. A repetition can go past `end`. Returns their number.
fn code_lengths(
    bits: &mut Bits<'_>,
    table: &[u32; 1 << LENGTH_BITS],
    lengths: &mut [u8; LENGTHS_CAPACITY],
    end: usize,
) -> Result<usize, Error> {
    const NONE: u8 = u8::MAX;
    let mut last = NONE;
    let mut at = 0;
    loop {
        bits.refill();
        // Four symbols with their extra bits fit a refill.
        for _ in 0..4 {
            let entry = table[bits.peek() as usize % table.len()];
            let word = bits.take(consumed(entry));
            let repeat = value(entry, word) as usize;
            let length = match entry & REPEATS_LAST {
                0 => code_length(entry),
                _ => last,
            };
            if length == NONE {
                return Err(Error::Repetition);
            }
            // Eight at once; lengths past the repetition are overwritten later.
            lengths[at..at + 8].fill(length);
            if repeat > 8 {
                lengths[at..at + repeat].fill(length);
            }
            last = length;
            at += repeat;
            if at >= end {
                return Ok(at);
            }
        }
    }
}

/// Builds the tables of both codes. The first `litlens` lengths belong to the first code.
fn fill(tables: &mut [u32], lengths: &[u8], litlens: usize) -> Result<(), Error> {
    let (litlen_lengths, distance_lengths) = lengths.split_at(litlens);
    let (litlen, more) = part::<TABLE_LEN>(tables, LITLEN, LITLEN_MORE..DISTANCE_MORE);
    build(litlen_lengths, litlen, more, LITLEN_MORE, |symbol, len| {
        with_code(LITLENS[symbol], len)
    })?;
    let (table, more) = part::<{ 1 << DISTANCE_BITS }>(tables, DISTANCE, DISTANCE_MORE..EXTRA);
    build(distance_lengths, table, more, DISTANCE_MORE, distance)
}

/// The table `number`, and the later tables `more`.
fn part<const LEN: usize>(
    tables: &mut [u32],
    number: u32,
    more: std::ops::Range<u32>,
) -> (&mut [u32; LEN], &mut [u32]) {
    let (before, after) = tables.split_at_mut(more.start as usize * TABLE_LEN);
    let table = before[first_index(number) as usize..].first_chunk_mut();
    (
        table.expect("a whole table"),
        &mut after[..more.len() * TABLE_LEN],
    )
}
