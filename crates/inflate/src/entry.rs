//! The entries of the lookup tables: 32 bits, with all that one lookup gives.
//!
//! | bits         | what                                                                              |
//! |--------------|-----------------------------------------------------------------------------------|
//! | 0–5          | bits to consume: the code's and the extra bits after it                            |
//! | 6, 7, 14, 15 | the number of bits of the code                                                     |
//! | 8–13         | the table of the next lookup: see [`NEXT`]                                         |
//! | 16–30        | the literal, or the base of a length or a distance, to which extra bits are added  |
//! | 31           | [`LITERAL`]                                                                        |
//!
//! Lengths and distances are called tokens; their base is above zero. An entry that is no literal
//! and has base zero only leads to another table: the next part of a code, its extra bits, or
//! [`HALT`].

/// Bits that index a table.
pub(crate) const TABLE_BITS: u32 = 10;
/// Entries of a table.
pub(crate) const TABLE_LEN: usize = 1 << TABLE_BITS;
/// The bits of an entry that name the next table. An index is these bits, joined with the next bits
/// of the stream. [`DISTANCE`] has the two highest of them set.
pub(crate) const NEXT: u32 = 0b11_1111 << 8;
/// Number of tables.
pub(crate) const TABLES: usize = 16;

/// Marks a literal: the sign bit, which vector instructions test fastest.
pub(crate) const LITERAL: u32 = 1 << 31;
/// The smallest entry, as a signed number, that is a token.
pub(crate) const LEAST_TOKEN: i32 = 1 << 16;

/// The table of literals and lengths.
pub(crate) const LITLEN: u32 = 0;
/// The table of distances. It is the last quarter of a table, indexed with eight bits. With ten bits
/// the tables of all lanes would not fit the first-level cache, and few codes are longer.
pub(crate) const DISTANCE: u32 = 1;
/// Bits that index the table of distances.
pub(crate) const DISTANCE_BITS: u32 = 8;
/// The table after the end of a block. A lookup in it consumes no bit and stays in it.
pub(crate) const HALT: u32 = 2;
/// The first table for long codes of [`LITLEN`]. These codes have 11 bits and more, and there are at
/// most 288: the last 0.141 of the code space. That is 5 of the 32 parts that five consumed bits give.
pub(crate) const LITLEN_MORE: u32 = 3;
/// The first table for long codes of [`DISTANCE`]: 32 codes of nine bits and more are at most two of
/// the 32 parts.
pub(crate) const DISTANCE_MORE: u32 = 8;
/// The first of six tables of extra bits alone, of distance symbols 24 to 29.
pub(crate) const EXTRA: u32 = 10;

/// Maximum number of bits that the lookup of a distance consumes. Two distances and a length between
/// them, of at most 10 + 5 bits, must fit the 57 bits of a round. Longer distances take two lookups.
pub(crate) const MAX_DISTANCE_BITS: u32 = 20;

const _: () = assert!(2 * MAX_DISTANCE_BITS + TABLE_BITS + 5 <= 57);
const _: () = assert!(TABLE_BITS + 10 <= MAX_DISTANCE_BITS);
const _: () = assert!(EXTRA as usize + 6 <= TABLES);

/// Symbols of the literal and length code (RFC 1951, 3.2.5), with the two that no encoder uses.
pub(crate) const LITLEN_SYMBOLS: usize = 288;
/// Symbols of the distance code, with the two that no encoder uses.
pub(crate) const DISTANCE_SYMBOLS: usize = 32;
/// Symbols of the code of code lengths (RFC 1951, 3.2.7).
pub(crate) const LENGTH_SYMBOLS: usize = 19;

/// Number of bits that the lookup consumes.
#[inline(always)]
pub(crate) fn consumed(entry: u32) -> u32 {
    entry & 63
}

/// Number of consumed bits that belong to the code.
#[inline(always)]
fn code(entry: u32) -> u32 {
    entry >> 6 & 0b11 | entry >> 12 & 0b1100
}

/// Whether the entry is a length or a distance.
#[inline(always)]
pub(crate) fn is_token(entry: u32) -> bool {
    entry.cast_signed() >= LEAST_TOKEN
}

/// The sum of the base and the extra bits, which follow the code in `word`.
#[inline(always)]
pub(crate) fn value(entry: u32, word: u32) -> u32 {
    let bits = word & ((1 << consumed(entry)) - 1);
    (entry >> 16) + (bits >> code(entry))
}

/// An entry whose code has no bits yet: see [`with_code`].
const fn entry(extra: u32, next: u32, base: u32) -> u32 {
    extra | first_index(next) | base << 16
}

/// Index of the first entry of a table.
pub(crate) const fn first_index(table: u32) -> u32 {
    let whole = table << TABLE_BITS;
    match table {
        DISTANCE => whole + (TABLE_LEN as u32 - (1 << DISTANCE_BITS)),
        _ => whole,
    }
}

/// The entry of a symbol whose code, or the rest of it, has `len` bits.
#[inline(always)]
pub(crate) fn with_code(entry: u32, len: u32) -> u32 {
    entry + (len | (len & 0b11) << 6 | (len & 0b1100) << 12)
}

/// An entry that consumes `len` bits and leads to the table `next`.
pub(crate) fn lead(len: u32, next: u32) -> u32 {
    with_code(entry(0, next, 0), len)
}

/// The entry of a distance symbol whose code has `len` bits left.
pub(crate) fn distance(symbol: usize, len: u32) -> u32 {
    let entry = DISTANCES[symbol];
    if consumed(entry) + len > MAX_DISTANCE_BITS {
        return lead(len, EXTRA + (symbol as u32).min(29) - 24);
    }
    with_code(entry, len)
}

/// The only entry of a table of [`EXTRA`].
pub(crate) fn extra_alone(table: u32) -> u32 {
    DISTANCES[(table - EXTRA + 24) as usize]
}

/// Literals, the end of a block and lengths (RFC 1951, 3.2.5).
pub(crate) static LITLENS: [u32; LITLEN_SYMBOLS] = {
    let mut entries = [0; LITLEN_SYMBOLS];
    let mut symbol = 0;
    while symbol < 256 {
        entries[symbol] = entry(0, LITLEN, symbol as u32) | LITERAL;
        symbol += 1;
    }
    entries[256] = entry(0, HALT, 0);
    let mut base = 3;
    symbol = 257;
    while symbol < LITLEN_SYMBOLS {
        let slot = symbol as u32 - 257;
        let extra = if slot < 8 { 0 } else { slot / 4 - 1 };
        entries[symbol] = entry(extra, DISTANCE, base);
        base += 1 << extra;
        symbol += 1;
    }
    // The longest match has its own symbol. The two symbols after it mean the same, as in
    // libdeflate.
    symbol = 285;
    while symbol < LITLEN_SYMBOLS {
        entries[symbol] = entry(0, DISTANCE, 258);
        symbol += 1;
    }
    entries
};

/// Distances (RFC 1951, 3.2.5). The last two symbols mean the same as the symbol before them, as in
/// libdeflate.
static DISTANCES: [u32; DISTANCE_SYMBOLS] = {
    let mut entries = [0; DISTANCE_SYMBOLS];
    let mut base = 1;
    let mut symbol = 0;
    while symbol < 30 {
        let extra = if symbol < 4 { 0 } else { symbol as u32 / 2 - 1 };
        entries[symbol] = entry(extra, LITLEN, base);
        base += 1 << extra;
        symbol += 1;
    }
    entries[30] = entries[29];
    entries[31] = entries[29];
    entries
};

/// Marks the code length symbol that repeats the length before it.
pub(crate) const REPEATS_LAST: u32 = 1 << 8;

/// The code length of an entry of [`LENGTHS`], in the bits of the next table.
#[inline(always)]
pub(crate) fn code_length(entry: u32) -> u8 {
    (entry >> 10 & 15) as u8
}

/// Code lengths (RFC 1951, 3.2.7). The base is the number of repetitions, before the extra bits.
pub(crate) static LENGTHS: [u32; LENGTH_SYMBOLS] = {
    const fn entry(extra: u32, length: u32, repeat: u32) -> u32 {
        extra | length << 10 | repeat << 16
    }
    let mut entries = [0; LENGTH_SYMBOLS];
    let mut length = 0;
    while length < 16 {
        entries[length as usize] = entry(0, length, 1);
        length += 1;
    }
    entries[16] = entry(2, 0, 3) | REPEATS_LAST;
    entries[17] = entry(3, 0, 3);
    entries[18] = entry(7, 0, 11);
    entries
};
