//! Zig-zag varints (Avro 1.12, "Primitive Types"), one byte at a time.

use crate::DecodeErrorKind;

/// Maximum number of bytes of an `int`.
const MAX_INT_BYTES: usize = 5;
/// Maximum number of bytes of a `long`.
const MAX_LONG_BYTES: usize = 10;

/// Reads a `long` at `position` and moves past it. Padded encodings (more bytes than the value
/// needs) are accepted, up to 10 bytes.
///
/// # Errors
/// If the input ends, or the varint has more than 10 bytes or 64 bits. `position` is then
/// unchanged.
pub(crate) fn read_long(input: &[u8], position: &mut usize) -> Result<i64, DecodeErrorKind> {
    let (value, end) = read_varint(input, *position, MAX_LONG_BYTES)?;
    *position = end;
    Ok(value)
}

/// Reads an `int` at `position` and moves past it, as [`read_long`] does, up
/// to 5 bytes.
pub(crate) fn read_int(input: &[u8], position: &mut usize) -> Result<i32, DecodeErrorKind> {
    let (value, end) = read_varint(input, *position, MAX_INT_BYTES)?;
    let value = i32::try_from(value).map_err(|_| DecodeErrorKind::IntOutOfRange(value))?;
    *position = end;
    Ok(value)
}

fn read_varint(
    input: &[u8],
    start: usize,
    max_bytes: usize,
) -> Result<(i64, usize), DecodeErrorKind> {
    let mut bits = 0u128;
    for i in 0..max_bytes {
        let Some(&byte) = input.get(start + i) else {
            return Err(DecodeErrorKind::UnexpectedEnd);
        };
        bits |= u128::from(byte & 0x7f) << (7 * i);
        if byte & 0x80 == 0 {
            let bits = u64::try_from(bits).map_err(|_| DecodeErrorKind::VarintOverflow)?;
            return Ok((unzigzag(bits), start + i + 1));
        }
    }
    Err(DecodeErrorKind::VarintTooLong)
}

/// Undoes the zig-zag coding: 0, 1, 2, 3, 4 .. become 0, -1, 1, -2, 2 ..
fn unzigzag(bits: u64) -> i64 {
    let magnitude = (bits / 2) as i64;
    if bits.is_multiple_of(2) {
        magnitude
    } else {
        -magnitude - 1
    }
}

/// Appends `value` as the shortest zig-zag varint. This is the encoding of `int`, `long`, lengths,
/// counts and indices.
pub fn write_long(out: &mut Vec<u8>, value: i64) {
    let mut bits = ((value << 1) ^ (value >> 63)) as u64;
    while bits > 0x7f {
        out.push(bits as u8 | 0x80);
        bits >>= 7;
    }
    out.push(bits as u8);
}

#[cfg(test)]
mod tests;
