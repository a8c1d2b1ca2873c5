//! Reading primitives forward from a slice: the fast twin of
//! [`reference`](crate::reference).

use crate::DecodeErrorKind;

/// What went wrong, boxed to keep the results of the hot functions small.
pub(crate) type Fault = Box<DecodeErrorKind>;

/// A place in a slice of Avro binary data.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cursor<'a> {
    data: &'a [u8],
    position: usize,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(data: &'a [u8], position: usize) -> Self {
        Cursor { data, position }
    }

    #[inline]
    pub(crate) fn position(&self) -> usize {
        self.position
    }

    #[inline]
    pub(crate) fn remaining(&self) -> usize {
        self.data.len() - self.position
    }

    /// The next `n` bytes.
    #[inline]
    pub(crate) fn bytes(&mut self, n: usize) -> Result<&'a [u8], Fault> {
        match self.data[self.position..].get(..n) {
            Some(bytes) => {
                self.position += n;
                Ok(bytes)
            }
            None => Err(unexpected_end()),
        }
    }

    /// A zig-zag varint of at most 64 bits.
    #[inline]
    pub(crate) fn long(&mut self) -> Result<i64, Fault> {
        let (value, len) = match self.data[self.position..].first_chunk::<8>() {
            Some(word) => match varint_in_word(u64::from_le_bytes(*word)) {
                Some(found) => found,
                None => self.varint_slowly()?,
            },
            None => self.varint_slowly()?,
        };
        self.position += len;
        Ok(zigzag(value))
    }

    /// A zig-zag varint of at most 32 bits.
    #[inline]
    pub(crate) fn int(&mut self) -> Result<i32, Fault> {
        let start = self.position;
        let value = self.long()?;
        match i32::try_from(value) {
            Ok(value) if self.position - start <= MAX_INT_BYTES => Ok(value),
            _ => {
                let taken = self.position - start;
                self.position = start;
                Err(bad_int(value, taken))
            }
        }
    }

    /// The length of bytes or a string, checked against what is left.
    #[inline]
    pub(crate) fn length(&mut self) -> Result<usize, Fault> {
        let start = self.position;
        let length = self.long()?;
        match usize::try_from(length) {
            Ok(length) if length <= self.remaining() => Ok(length),
            _ => {
                let remaining = self.remaining();
                self.position = start;
                Err(bad_length(length, remaining))
            }
        }
    }

    /// Moves past `n` varints, a word at a time: each ends with the one byte of
    /// it that is below 0x80.
    pub(crate) fn skip_varints(&mut self, mut n: usize) -> Result<(), Fault> {
        let mut position = self.position;
        while n > 8 {
            let Some(word) = self.data[position..].first_chunk::<8>() else {
                break;
            };
            n -= (!u64::from_le_bytes(*word) & END_BITS).count_ones() as usize;
            position += 8;
        }
        while n > 0 {
            let Some(&byte) = self.data.get(position) else {
                return Err(unexpected_end());
            };
            n -= usize::from(byte < 0x80);
            position += 1;
        }
        self.position = position;
        Ok(())
    }

    #[cold]
    fn varint_slowly(&self) -> Result<(u64, usize), Fault> {
        let mut value = 0u64;
        for (i, &byte) in self.data[self.position..].iter().enumerate() {
            // The tenth byte holds the 64th bit and nothing else.
            if i == 9 && byte > 1 {
                return Err(Box::new(if byte < 0x80 {
                    DecodeErrorKind::VarintOverflow
                } else {
                    DecodeErrorKind::VarintTooLong
                }));
            }
            value |= u64::from(byte & 0x7f) << (7 * i);
            if byte < 0x80 {
                return Ok((value, i + 1));
            }
        }
        Err(unexpected_end())
    }
}

/// Bytes of the longest varint that an `int` may take.
const MAX_INT_BYTES: usize = 5;

/// The bit of each byte of a word that is clear where a varint ends.
const END_BITS: u64 = 0x8080_8080_8080_8080;

#[inline]
fn zigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

/// The varint at the start of a little-endian word and its length, or `None`
/// if it does not end within the word.
#[inline]
fn varint_in_word(word: u64) -> Option<(u64, usize)> {
    if word & 0x80 == 0 {
        return Some((word & 0x7f, 1));
    }
    let ends = !word & END_BITS;
    if ends == 0 {
        return None;
    }
    let len = (ends.trailing_zeros() as usize >> 3) + 1;
    // Everything up to the first end bit, then seven bits of each byte.
    let word = word & (ends ^ (ends - 1));
    let word = (word & 0x007f_007f_007f_007f) | ((word & 0x7f00_7f00_7f00_7f00) >> 1);
    let word = (word & 0x0000_3fff_0000_3fff) | ((word & 0x3fff_0000_3fff_0000) >> 2);
    let word = (word & 0x0000_0000_0fff_ffff) | ((word & 0x0fff_ffff_0000_0000) >> 4);
    Some((word, len))
}

#[cold]
fn unexpected_end() -> Fault {
    Box::new(DecodeErrorKind::UnexpectedEnd)
}

#[cold]
fn bad_int(value: i64, taken: usize) -> Fault {
    Box::new(if taken > MAX_INT_BYTES {
        DecodeErrorKind::VarintTooLong
    } else {
        DecodeErrorKind::IntOutOfRange(value)
    })
}

#[cold]
fn bad_length(length: i64, remaining: usize) -> Fault {
    Box::new(match u64::try_from(length) {
        Ok(length) => DecodeErrorKind::LengthBeyondEnd { length, remaining },
        Err(_) => DecodeErrorKind::NegativeLength(length),
    })
}

#[cfg(test)]
mod tests;
