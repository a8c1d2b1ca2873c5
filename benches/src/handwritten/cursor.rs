//! Reads Avro values from the front of a block.

/// An error in a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// The data end inside a value.
    #[error("the data end inside a value")]
    End,
    /// A varint has more bytes, or bits, than its type.
    #[error("a varint is longer than its type")]
    Varint,
    /// An array does not have the length of its feature's shape, or of its indices.
    #[error("an array has another length than its feature")]
    Length,
    /// A sparse index lies outside its dimension.
    #[error("a sparse index lies outside its dimension")]
    Index,
    /// A boolean is neither 0 nor 1.
    #[error("a boolean is neither 0 nor 1")]
    Boolean,
    /// A string is not UTF-8.
    #[error("a string is not UTF-8")]
    Utf8,
    /// A block has bytes after its last record.
    #[error("a block has bytes after its last record")]
    Trailing,
}

/// The rest of a block.
#[derive(Clone, Copy, Debug)]
pub struct Cursor<'a> {
    rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    /// A cursor before the first value of `data`.
    pub fn new(data: &'a [u8]) -> Self {
        Cursor { rest: data }
    }

    /// Checks that no bytes are left.
    ///
    /// # Errors
    ///
    /// [`Fault::Trailing`].
    pub fn at_end(&self) -> Result<(), Fault> {
        if self.rest.is_empty() {
            Ok(())
        } else {
            Err(Fault::Trailing)
        }
    }

    /// A `long`: zig-zag, 7 bits a byte, 10 bytes at most.
    #[inline(always)]
    pub(super) fn long(&mut self) -> Result<i64, Fault> {
        // One word holds the common lengths, 1 to 4 bytes. A branch for each length lets the processor
        // read the next value before this length is known, because lengths come in runs.
        let word = match self.rest.first_chunk() {
            Some(word) => u64::from_le_bytes(*word),
            None => u64::MAX,
        };
        let (bits, len) = if word & 0x80 == 0 {
            (word & 0x7f, 1)
        } else if word & 0x8000 == 0 {
            (word & 0x7f | word >> 1 & 0x3f80, 2)
        } else if word & 0x80_0000 == 0 {
            (word & 0x7f | word >> 1 & 0x3f80 | word >> 2 & 0x1f_c000, 3)
        } else if word & 0x8000_0000 == 0 {
            let low = word & 0x7f | word >> 1 & 0x3f80;
            (low | word >> 2 & 0x1f_c000 | word >> 3 & 0xfe0_0000, 4)
        } else {
            long_bytewise(self.rest)?
        };
        self.rest = &self.rest[len..];
        Ok(unzigzag(bits))
    }

    /// An `int`: as a long, 5 bytes at most, and within 32 bits.
    #[inline(always)]
    pub(super) fn int(&mut self) -> Result<i32, Fault> {
        let before = self.rest.len();
        let value = self.long()?;
        if before - self.rest.len() > 5 {
            return Err(Fault::Varint);
        }
        i32::try_from(value).map_err(|_| Fault::Varint)
    }

    /// The next four longs if each has two bytes, as most longs below 1,000 have.
    #[inline(always)]
    pub(super) fn four_of_two_bytes(&mut self) -> Option<[i16; 4]> {
        let (word, rest) = self.rest.split_first_chunk()?;
        let word = u64::from_le_bytes(*word);
        if word & 0x8080_8080_8080_8080 != 0x0080_0080_0080_0080 {
            return None;
        }
        self.rest = rest;
        let bits = word & 0x007f_007f_007f_007f | word >> 1 & 0x3f80_3f80_3f80_3f80;
        let long = |shift: u32| unzigzag(bits >> shift & 0xffff) as i16;
        Some([long(0), long(16), long(32), long(48)])
    }

    /// The next `len` bytes.
    #[inline(always)]
    pub(super) fn bytes(&mut self, len: usize) -> Result<&'a [u8], Fault> {
        let (bytes, rest) = self.rest.split_at_checked(len).ok_or(Fault::End)?;
        self.rest = rest;
        Ok(bytes)
    }

    /// The next `N` bytes.
    #[inline(always)]
    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], Fault> {
        let (bytes, rest) = self.rest.split_first_chunk().ok_or(Fault::End)?;
        self.rest = rest;
        Ok(*bytes)
    }

    #[inline(always)]
    pub(super) fn boolean(&mut self) -> Result<u8, Fault> {
        match self.array()? {
            [byte @ (0 | 1)] => Ok(byte),
            _ => Err(Fault::Boolean),
        }
    }

    #[inline(always)]
    pub(super) fn string(&mut self) -> Result<&'a str, Fault> {
        let len = usize::try_from(self.long()?).map_err(|_| Fault::Length)?;
        std::str::from_utf8(self.bytes(len)?).map_err(|_| Fault::Utf8)
    }

    /// Number of items in the next block of an array; 0 at its end. At most the number of bytes left,
    /// since each item has at least one byte.
    #[inline(always)]
    pub(super) fn items(&mut self) -> Result<usize, Fault> {
        let mut count = self.long()?;
        if count < 0 {
            // A negative count is followed by the block's size in bytes.
            count = count.checked_neg().ok_or(Fault::Length)?;
            if self.long()? < 0 {
                return Err(Fault::Length);
            }
        }
        if count as u64 > self.rest.len() as u64 {
            return Err(Fault::End);
        }
        Ok(count as usize)
    }
}

/// The bits and the length of the varint at the start of `data`.
#[cold]
fn long_bytewise(data: &[u8]) -> Result<(u64, usize), Fault> {
    let mut bits = 0;
    for (i, &byte) in data.iter().take(10).enumerate() {
        bits |= u64::from(byte & 0x7f) << (7 * i);
        if byte & 0x80 == 0 {
            // The tenth byte has one bit of 64 left.
            let fits = i < 9 || byte <= 1;
            return if fits {
                Ok((bits, i + 1))
            } else {
                Err(Fault::Varint)
            };
        }
    }
    let cut = data.len() < 10;
    Err(if cut { Fault::End } else { Fault::Varint })
}

#[inline(always)]
fn unzigzag(bits: u64) -> i64 {
    (bits >> 1) as i64 ^ -((bits & 1) as i64)
}
