//! Reads primitives in order from a slice: the fast twin of [`reference`](crate::reference).

use crate::DecodeErrorKind;
use crate::varints::Kernels;

/// An error kind, boxed to keep the results of the hot functions small.
pub(crate) type Fault = Box<DecodeErrorKind>;

/// A position in a slice of Avro binary data.
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

    /// All of the data.
    pub(crate) fn data(&self) -> &'a [u8] {
        self.data
    }

    /// A cursor at another position of the same data.
    pub(crate) fn at(&self, position: usize) -> Self {
        Cursor { position, ..*self }
    }

    /// Moves to another position. This stores one word, unlike copying a cursor. A later load of
    /// the same size gets that word without delay.
    #[inline]
    pub(crate) fn go_to(&mut self, position: usize) {
        self.position = position;
    }

    /// All bytes from the position on.
    #[inline]
    pub(crate) fn rest(&self) -> &'a [u8] {
        &self.data[self.position..]
    }

    /// Moves past `n` bytes, which must exist.
    #[inline]
    pub(crate) fn advance(&mut self, n: usize) {
        self.position += n;
    }

    /// Reads the next `n` bytes.
    #[inline]
    pub(crate) fn bytes(&mut self, n: usize) -> Result<&'a [u8], Fault> {
        match self.rest().get(..n) {
            Some(bytes) => {
                self.position += n;
                Ok(bytes)
            }
            None => Err(unexpected_end()),
        }
    }

    /// Reads a zig-zag varint of at most 64 bits.
    #[inline]
    pub(crate) fn long(&mut self) -> Result<i64, Fault> {
        // Most counts, lengths and branch numbers take one byte, some two.
        match *self.rest() {
            [byte @ ..0x80, ..] => {
                self.position += 1;
                Ok(zigzag(byte.into()))
            }
            [low, high @ ..0x80, ..] => {
                self.position += 2;
                Ok(zigzag(u64::from(low & 0x7f) | u64::from(high) << 7))
            }
            _ => self.long_of_some_bytes(),
        }
    }

    fn long_of_some_bytes(&mut self) -> Result<i64, Fault> {
        let word = self.rest().first_chunk::<8>();
        let (value, len) = match word.and_then(|word| varint_in_word(u64::from_le_bytes(*word))) {
            Some(found) => found,
            None => self.varint_slowly()?,
        };
        self.advance(len);
        Ok(zigzag(value))
    }

    /// Reads the number of items of an array in the usual layout: one block without a size in
    /// bytes. For an empty array, the end is read too. `None` if the layout differs or the data is
    /// invalid.
    #[inline(always)] // Called for every row, it takes less than a call.
    pub(crate) fn whole_array(&mut self) -> Option<usize> {
        let (code, len) = match *self.rest() {
            [byte @ ..0x80, ..] => (byte.into(), 1),
            [low, high @ ..0x80, ..] => (usize::from(low & 0x7f) | usize::from(high) << 7, 2),
            _ => return self.large_whole_array(),
        };
        let is_negative = code % 2 == 1;
        self.position += len;
        let count = code / 2;
        // An item takes at least one byte.
        (!is_negative && count <= self.remaining()).then_some(count)
    }

    #[cold]
    fn large_whole_array(&mut self) -> Option<usize> {
        let count = usize::try_from(self.long().ok()?).ok()?;
        (count <= self.remaining()).then_some(count)
    }

    /// Moves past the end of an array, if the position is there.
    #[inline]
    pub(crate) fn ends_array(&mut self) -> bool {
        let here = self.rest().first() == Some(&0);
        self.position += usize::from(here);
        here
    }

    /// Reads a zig-zag varint of at most 32 bits.
    #[inline]
    pub(crate) fn int(&mut self) -> Result<i32, Fault> {
        let start = self.position;
        let value = self.long()?;
        let taken = self.position - start;
        match i32::try_from(value) {
            Ok(value) if taken <= MAX_INT_BYTES => Ok(value),
            _ => {
                self.position = start;
                Err(bad_int(value, taken))
            }
        }
    }

    /// Reads the length of bytes or a string, and checks it against the remaining bytes.
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

    /// Moves past `n` varints. The last byte of each varint is below 0x80.
    #[inline]
    pub(crate) fn skip_varints(&mut self, n: usize) -> Result<(), Fault> {
        match Kernels::fastest().skip(self.rest(), n) {
            Some(len) => {
                self.position += len;
                Ok(())
            }
            None => Err(unexpected_end()),
        }
    }

    #[cold]
    fn varint_slowly(&self) -> Result<(u64, usize), Fault> {
        let mut value = 0u64;
        for (i, &byte) in self.rest().iter().enumerate() {
            // The tenth byte holds only the 64th bit.
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

/// Maximum number of bytes of an `int`.
const MAX_INT_BYTES: usize = 5;

/// In each byte of a word, the bit that is clear in the last byte of a varint.
pub(crate) const END_BITS: u64 = 0x8080_8080_8080_8080;

#[inline]
fn zigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

/// The varint at the start of a little-endian word and its length; `None` if it does not end in the
/// word.
#[inline]
fn varint_in_word(word: u64) -> Option<(u64, usize)> {
    let ends = !word & END_BITS;
    if ends == 0 {
        return None;
    }
    let len = (ends.trailing_zeros() as usize >> 3) + 1;
    // Clear all bytes after the first end bit, then join seven bits of each byte.
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
