//! Lookup tables of canonical Huffman codes (RFC 1951, 3.2.2).

use crate::Error;
use crate::entry::{DISTANCE_SYMBOLS, LITLEN_SYMBOLS, TABLE_BITS, TABLE_LEN, lead};

/// The longest code word (RFC 1951, 3.2.7).
const MAX_BITS: usize = 15;

/// Number of code lengths that are checked together.
const GROUP: usize = 8;

/// Maximum number of code lengths of both codes, and of a repetition that goes past them.
pub(crate) const LENGTHS_CAPACITY: usize =
    (LITLEN_SYMBOLS + DISTANCE_SYMBOLS + 138).next_multiple_of(GROUP);

/// The words of a code: their number by length, and the symbols in the order of their words.
struct Words {
    counts: [u16; MAX_BITS + 1],
    symbols: [u16; LITLEN_SYMBOLS],
}

/// The shape of a code.
enum Shape {
    Complete,
    /// No word, or a single word of one bit.
    Degenerate {
        symbol: usize,
    },
}

/// Calls `each` with symbols and the lengths of their words. Some unused symbols are among them.
#[inline(always)]
fn for_each_length(lengths: &[u8], mut each: impl FnMut(usize, usize)) {
    let (groups, rest) = lengths.as_chunks::<GROUP>();
    for (nth, group) in groups.iter().enumerate() {
        // Unused symbols come in long runs.
        if *group != [0; GROUP] {
            for (symbol, &length) in group.iter().enumerate() {
                each(nth * GROUP + symbol, usize::from(length) & MAX_BITS);
            }
        }
    }
    for (symbol, &length) in rest.iter().enumerate() {
        each(
            groups.len() * GROUP + symbol,
            usize::from(length) & MAX_BITS,
        );
    }
}

impl Words {
    #[inline(always)]
    fn sort(lengths: &[u8]) -> Result<(Self, Shape), Error> {
        // Two counters for each length, so that a repeated length does not wait for itself.
        let mut counts = [[0; MAX_BITS + 1]; 2];
        for_each_length(lengths, |symbol, length| counts[symbol % 2][length] += 1);
        let counts: [u16; MAX_BITS + 1] =
            std::array::from_fn(|bits| counts[0][bits] + counts[1][bits]);

        let mut used = 0;
        let mut ends = [0; MAX_BITS + 1];
        let mut end = 0;
        for bits in 1..=MAX_BITS {
            ends[bits] = end;
            end += counts[bits];
            used = used * 2 + u32::from(counts[bits]);
        }
        // Unused symbols go after the others, where they are not read: faster than a branch.
        ends[0] = end;
        let mut symbols = [0; LITLEN_SYMBOLS];
        for_each_length(lengths, |symbol, length| {
            if let Some(slot) = symbols.get_mut(usize::from(ends[length])) {
                *slot = symbol as u16;
            }
            ends[length] += 1;
        });

        // As in libdeflate, a code may have no words, or a single word of one bit, which then
        // stands for both words of that length.
        const ALL: u32 = 1 << MAX_BITS;
        let shape = match used {
            ALL => Shape::Complete,
            0 => Shape::Degenerate { symbol: 0 },
            _ if used == ALL / 2 && counts[1] == 1 => Shape::Degenerate {
                symbol: symbols[0].into(),
            },
            _ => return Err(Error::Code),
        };
        Ok((Words { counts, symbols }, shape))
    }
}

/// Fills `table`, which is indexed with the next bits of the stream, for the code whose words have
/// these `lengths`. `entry` makes an entry from a symbol and the length of its word.
///
/// Words longer than the table's index continue in the tables `more`; `more_number` is the number of
/// the first of them. A lookup in `table` then consumes only as many bits as leave at most ten for
/// the longest word. So most words share one further table.
///
/// # Errors
///
/// [`Error::Code`].
#[inline(always)]
pub(crate) fn build<const LEN: usize>(
    lengths: &[u8],
    table: &mut [u32; LEN],
    more: &mut [u32],
    more_number: u32,
    entry: impl Fn(usize, u32) -> u32,
) -> Result<(), Error> {
    const { assert!(LEN.is_power_of_two() && LEN <= TABLE_LEN) };
    let (words, shape) = Words::sort(lengths)?;
    if let Shape::Degenerate { symbol } = shape {
        table.fill(entry(symbol, 1));
        return Ok(());
    }

    // The current word, shifted to `TABLE_BITS` bits.
    let mut word = 0;
    let mut symbols = words.symbols.iter().map(|&symbol| usize::from(symbol));
    // The table begins with one entry and doubles for each longer length: each word is entered once.
    let mut size = 1;
    for bits in 1..=LEN.ilog2() {
        double(table, size);
        size *= 2;
        let count = usize::from(words.counts[bits as usize]);
        for symbol in symbols.by_ref().take(count) {
            let slot = REVERSED[word % TABLE_LEN];
            table[usize::from(slot) % LEN] = entry(symbol, bits);
            word += TABLE_LEN >> bits;
        }
    }
    if word == TABLE_LEN {
        return Ok(());
    }
    long_words(&words, symbols, word, table, more, more_number, entry);
    Ok(())
}

/// Appends a copy of the first `size` entries.
#[inline(always)]
fn double(table: &mut [u32], size: usize) {
    if size < 16 {
        // One by one: a wide load of entries that were just stored one by one would stall.
        for at in 0..size {
            table[size + at] = table[at];
        }
    } else {
        table.copy_within(..size, size);
    }
}

/// Enters the words that are longer than a table's index. `word` is the first of them, cut to the
/// bits of an index.
#[cold]
fn long_words<const LEN: usize>(
    words: &Words,
    mut symbols: impl Iterator<Item = usize>,
    word: usize,
    table: &mut [u32; LEN],
    more: &mut [u32],
    more_number: u32,
    entry: impl Fn(usize, u32) -> u32,
) {
    let longest = words.counts.iter().rposition(|&count| count > 0);
    let longest = longest.unwrap_or(0) as u32;
    let passed = longest.saturating_sub(TABLE_BITS);
    // Shifted to the maximum length.
    let mut word = (word << (MAX_BITS as u32 - TABLE_BITS)) as u16;
    let mut part = None;
    let mut number = more_number.wrapping_sub(1);
    for bits in LEN.ilog2() + 1..=longest {
        let count = usize::from(words.counts[bits as usize]);
        for symbol in symbols.by_ref().take(count) {
            let slot = usize::from((word << 1).reverse_bits());
            // Where the bits that are consumed first differ, another table begins.
            let first = slot & ((1 << passed) - 1);
            if part != Some(first) {
                part = Some(first);
                number = number.wrapping_add(1);
            }
            table[slot % LEN] = lead(passed, number);
            let at = (number - more_number) as usize * TABLE_LEN;
            let rest = bits - passed;
            let entries = more[at..at + TABLE_LEN].iter_mut();
            for slot in entries.skip(slot >> passed).step_by(1 << rest) {
                *slot = entry(symbol, rest);
            }
            word = word.wrapping_add(1 << (MAX_BITS as u32 - bits));
        }
    }
}

/// Numbers of [`TABLE_BITS`] bits with their bits reversed, because a stream has the first bit of a
/// word lowest.
static REVERSED: [u16; TABLE_LEN] = {
    let mut reversed = [0; TABLE_LEN];
    let mut number = 0;
    while number < TABLE_LEN {
        reversed[number] = (number as u16).reverse_bits() >> (u16::BITS - TABLE_BITS);
        number += 1;
    }
    reversed
};
