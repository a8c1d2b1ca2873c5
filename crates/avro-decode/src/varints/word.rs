//! A varint by words of 8 bytes.

/// The bit of each byte of a word that is clear where a varint ends.
pub(super) const END_BITS: u64 = 0x8080_8080_8080_8080;

/// Bytes of the longest varint that an `int` may take.
pub(super) const MAX_INT_BYTES: usize = 5;

/// The varint at the start of `data`, before its zig-zag coding is undone, and
/// the bytes it takes; `None` if it does not end, or has more than 64 bits.
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

/// A value that a zig-zag varint stands for: 0, 1, 2, 3 are 0, -1, 1, -2.
#[inline]
pub(super) fn zigzag(bits: u64) -> i64 {
    (bits >> 1) as i64 ^ -((bits & 1) as i64)
}

/// The varint at the start of a little-endian word, unless it goes on behind it.
#[inline]
fn in_word(word: u64) -> Option<(u64, usize)> {
    let ends = !word & END_BITS;
    if ends == 0 {
        return None;
    }
    let len = (ends.trailing_zeros() as usize >> 3) + 1;
    // Everything up to the first end bit.
    Some((join(word & (ends ^ (ends - 1))), len))
}

/// The values of the two varints at the start of a little-endian word and the
/// bytes they take, if each has at most 4.
#[inline]
pub(super) fn two(word: u64) -> Option<([i32; 2], usize)> {
    let ends = !word & END_BITS;
    let second_ends = ends & ends.wrapping_sub(1);
    // The bits of the first, and of both.
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

/// Seven bits of each byte.
#[inline]
fn join(word: u64) -> u64 {
    let word = join_halves(word);
    (word & 0x0000_0000_0fff_ffff) | ((word & 0x0fff_ffff_0000_0000) >> 4)
}

/// Seven bits of each byte of the lower four, and of the upper.
#[inline]
fn join_halves(word: u64) -> u64 {
    let word = (word & 0x007f_007f_007f_007f) | ((word & 0x7f00_7f00_7f00_7f00) >> 1);
    (word & 0x0000_3fff_0000_3fff) | ((word & 0x3fff_0000_3fff_0000) >> 2)
}

/// A varint of 9 or 10 bytes: 8 in the word, and those behind.
#[inline]
fn long(word: u64, behind: &[u8]) -> Option<(u64, usize)> {
    let &ninth = behind.first()?;
    let bits = join(word) | u64::from(ninth & 0x7f) << 56;
    if ninth < 0x80 {
        return Some((bits, 9));
    }
    match behind.get(1)? {
        // It holds the 64th bit and nothing else.
        &tenth @ 0..=1 => Some((bits | u64::from(tenth) << 63, 10)),
        _ => None,
    }
}

/// A varint of fewer than 8 bytes of data.
#[cold]
fn first_of_few(data: &[u8]) -> Option<(u64, usize)> {
    let mut word = [0x80; 8];
    word[..data.len()].copy_from_slice(data);
    in_word(u64::from_le_bytes(word))
}
