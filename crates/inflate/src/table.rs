//! Lookup tables of canonical Huffman codes (RFC 1951, 3.2.2).

use crate::Error;
use crate::entry::{LITLEN_SYMBOLS, TABLE_BITS, TABLE_LEN, lead};

/// The longest code word (RFC 1951, 3.2.7).
const MAX_BITS: usize = 15;

/// The words of a code: how many there are of each length, and the symbols in the order of their
/// words.
struct Words {
    counts: [u16; MAX_BITS + 1],
    symbols: [u16; LITLEN_SYMBOLS],
    longest: u32,
}

/// What a code amounts to.
enum Shape {
    Complete,
    /// No word, or one of one bit.
    Degenerate {
        symbol: usize,
    },
}

impl Words {
    #[inline(always)]
    fn sort(lengths: &[u8]) -> Result<(Self, Shape), Error> {
        let mut counts = [0; MAX_BITS + 1];
        for &length in lengths {
            counts[usize::from(length) & MAX_BITS] += 1;
        }
        let mut longest = 1;
        let mut used = 0u32;
        let mut ends = [0; MAX_BITS + 1];
        for bits in 1..MAX_BITS {
            used = used * 2 + u32::from(counts[bits]);
            ends[bits + 1] = ends[bits] + counts[bits];
            if counts[bits] > 0 {
                longest = bits as u32;
            }
        }
        used = used * 2 + u32::from(counts[MAX_BITS]);
        if counts[MAX_BITS] > 0 {
            longest = MAX_BITS as u32;
        }
        // Unused symbols are sorted too, to where nobody looks: that is faster than a branch.
        let used_symbols = lengths.len() as u16 - counts[0];
        ends[0] = used_symbols;
        let mut symbols = [0; LITLEN_SYMBOLS];
        for (symbol, &length) in lengths.iter().enumerate() {
            let end = &mut ends[usize::from(length) & MAX_BITS];
            if let Some(place) = symbols.get_mut(usize::from(*end)) {
                *place = symbol as u16;
            }
            *end += 1;
        }
        // As libdeflate has it: a code may have no words, or one of one bit, which then stands
        // for both words of that length.
        const ALL: u32 = 1 << MAX_BITS;
        let shape = match used {
            ALL => Shape::Complete,
            0 => Shape::Degenerate { symbol: 0 },
            _ if used == ALL / 2 && counts[1] == 1 => Shape::Degenerate {
                symbol: symbols[0].into(),
            },
            _ => return Err(Error::Code),
        };
        let words = Words {
            counts,
            symbols,
            longest,
        };
        Ok((words, shape))
    }
}

/// The next word in lexicographic order. Words are kept reversed, as they are in the stream, where
/// the first bit is the lowest; `ones` is the last of its length.
#[inline(always)]
fn next_word(word: u32, ones: u32) -> u32 {
    let bit = 1 << (31 - (word ^ ones).leading_zeros());
    word & (bit - 1) | bit
}

/// Fills `table`, which is indexed with the next bits of the stream, for the code whose words have
/// these `lengths`; `entry` makes an entry of a symbol and the length of its word.
///
/// Words longer than the table's index go on in the tables of `more`, of which `more_number` is the
/// first one's number. A look at the first table then consumes as few bits as leave the longest
/// word ten, so that most if not all words share one further table.
///
/// # Errors
///
/// [`Error::Code`].
#[inline(always)]
pub(crate) fn build(
    lengths: &[u8],
    table: &mut [u32],
    more: &mut [u32],
    more_number: u32,
    entry: impl Fn(usize, u32) -> u32,
) -> Result<(), Error> {
    let (words, shape) = Words::sort(lengths)?;
    if let Shape::Degenerate { symbol } = shape {
        table.fill(entry(symbol, 1));
        return Ok(());
    }

    // A table of one entry, doubled whenever words become longer: so each word is entered once.
    let mut symbols = words.symbols.iter().map(|&symbol| usize::from(symbol));
    let (mut word, mut size) = (0, 1);
    let mut bits = 0;
    while size < table.len() {
        table.copy_within(..size, size);
        size *= 2;
        bits += 1;
        let ones = size as u32 - 1;
        let count = usize::from(words.counts[bits as usize]);
        for symbol in symbols.by_ref().take(count) {
            table[word as usize] = entry(symbol, bits);
            if word == ones {
                // The last word of all.
                while size < table.len() {
                    table.copy_within(..size, size);
                    size *= 2;
                }
                return Ok(());
            }
            word = next_word(word, ones);
        }
    }

    let ones = table.len() as u32 - 1;
    let passed = words.longest.saturating_sub(TABLE_BITS);
    let mut part = u32::MAX;
    let mut number = more_number.wrapping_sub(1);
    for bits in bits + 1..=words.longest {
        let count = usize::from(words.counts[bits as usize]);
        for symbol in symbols.by_ref().take(count) {
            // Where the bits that are consumed first differ, another table begins.
            if word & ((1 << passed) - 1) != part {
                part = word & ((1 << passed) - 1);
                number = number.wrapping_add(1);
            }
            table[(word & ones) as usize] = lead(passed, number);
            let at = (number - more_number) as usize * TABLE_LEN;
            let rest = bits - passed;
            let places = more[at..at + TABLE_LEN].iter_mut();
            let places = places.skip((word >> passed) as usize);
            for place in places.step_by(1 << rest) {
                *place = entry(symbol, rest);
            }
            let ones = (1 << bits) - 1;
            if word == ones {
                break;
            }
            word = next_word(word, ones);
        }
    }
    Ok(())
}
