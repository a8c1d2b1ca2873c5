//! Decodes a varint in words of 8 bytes.

/// In each byte of a word, the bit that is clear in the last byte of a varint.
pub(super) const END_BITS: u64 = 0x8080_8080_8080_8080;

/// Maximum number of bytes of an `int`.
pub(super) const MAX_INT_BYTES: usize = 5;

/// The varint at the start of `data`, still zig-zag coded, and its size in bytes. `None` if it does
/// not end, or has more than 64 bits.
#[inline]
pub(super) fn first(data: &[u8]) -> Option<(u64, usize)> {
    let Some(word) = data.first_chunk() else {
        return first_of_few(data);
    };
    let word = u64::from_le_bytes(*word);
    match in_word(word) {
        Some(found) => Some(found),
        None => long(word, &data[8..]),
    }
}

/// Undoes the zig-zag coding: 0, 1, 2, 3 become 0, -1, 1, -2.
#[inline]
pub(super) fn zigzag(bits: u64) -> i64 {
    (bits >> 1) as i64 ^ -((bits & 1) as i64)
}

/// The varint at the start of a little-endian word; `None` if it does not end in the word.
#[inline]
fn in_word(word: u64) -> Option<(u64, usize)> {
    let ends = !word & END_BITS;
    if ends == 0 {
        return None;
    }
    let len = (ends.trailing_zeros() as usize >> 3) + 1;
    // Clear all bytes after the first end bit.
    Some((join(word & (ends ^ (ends - 1))), len))
}

/// The values of the two varints at the start of a little-endian word and their size in bytes, if
/// each has at most 4 bytes.
#[inline]
pub(super) fn two(word: u64) -> Option<([i32; 2], usize)> {
    let ends = !word & END_BITS;
    let second_ends = ends & ends.wrapping_sub(1);
    // The number of bits of the first varint, and of both.
    let (first, both) = (ends.trailing_zeros() + 1, second_ends.trailing_zeros() + 1);
    if first > 32 || both > first + 32 || both > 64 {
        return None;
    }
    let low = word & (ends ^ (ends - 1));
    let high = (word & (second_ends ^ (second_ends - 1))) >> first;
    let bits = join_halves(low | high << 32);
    let value = |bits: u32| (bits >> 1) as i32 ^ -((bits & 1) as i32);
    Some((
        [value(bits as u32), value((bits >> 32) as u32)],
        both as usize / 8,
    ))
}

/// Joins seven bits of each byte.
#[inline]
fn join(word: u64) -> u64 {
    let word = join_halves(word);
    (word & 0x0000_0000_0fff_ffff) | ((word & 0x0fff_ffff_0000_0000) >> 4)
}

/// Joins seven bits of each byte, separately for the lower and the upper four bytes.
#[inline]
fn join_halves(word: u64) -> u64 {
    let word = (word & 0x007f_007f_007f_007f) | ((word & 0x7f00_7f00_7f00_7f00) >> 1);
    (word & 0x0000_3fff_0000_3fff) | ((word & 0x3fff_0000_3fff_0000) >> 2)
}

/// A varint of 9 or 10 bytes: 8 in the word, the others in `behind`.
#[inline]
fn long(word: u64, behind: &[u8]) -> Option<(u64, usize)> {
    let &ninth = behind.first()?;
    let bits = join(word) | u64::from(ninth & 0x7f) << 56;
    if ninth < 0x80 {
        return Some((bits, 9));
    }
    match behind.get(1)? {
        // The tenth byte holds only the 64th bit.
        &tenth @ 0..=1 => Some((bits | u64::from(tenth) << 63, 10)),
        _ => None,
    }
}

/// The varint at the start of fewer than 8 bytes of data.
#[cold]
fn first_of_few(data: &[u8]) -> Option<(u64, usize)> {
    let mut word = [0x80; 8];
    word[..data.len()].copy_from_slice(data);
    in_word(u64::from_le_bytes(word))
}
