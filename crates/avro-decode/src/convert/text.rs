//! Reads strings, bytes and fixed as strings.

use super::chunks::each;
use crate::DecodeErrorKind;
use crate::plan::cursor::{Cursor, Fault};

/// How the length of bytes is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bytes {
    /// `bytes` and `string`: the data has the length before the bytes.
    Delimited {
        /// Whether either schema says `string`, so that the bytes must be UTF-8.
        utf8: bool,
    },
    /// `fixed`: the schema has the length.
    Fixed(usize),
}

/// Reads bytes as a string.
#[derive(Clone, Copy, Debug)]
pub(super) struct Text {
    pub(super) bytes: Bytes,
    /// Whether the bytes are a UUID, which is returned as its text.
    pub(super) uuid: bool,
}

impl Bytes {
    /// The next value. After an error the cursor is at its start.
    #[inline]
    pub(super) fn next<'a>(self, cursor: &mut Cursor<'a>) -> Result<&'a [u8], Fault> {
        match self {
            Bytes::Fixed(size) => cursor.bytes(size),
            Bytes::Delimited { utf8 } => {
                let start = *cursor;
                let length = cursor.length()?;
                let bytes = cursor.bytes(length)?;
                if utf8 && !crate::utf8::is_utf8(bytes) {
                    *cursor = start;
                    return Err(invalid_utf8());
                }
                Ok(bytes)
            }
        }
    }
}

impl Text {
    pub(super) fn read(
        self,
        cursor: &mut Cursor<'_>,
        n: usize,
        mut push: impl FnMut(&[u8]) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        for _ in 0..n {
            self.next(cursor, &mut push)??;
        }
        Ok(())
    }

    /// Fills `out` with the results of `of` for the strings of the next values. After an error the
    /// cursor is at the start of the first value that fails.
    #[inline]
    pub(super) fn fill<T>(
        self,
        cursor: &mut Cursor<'_>,
        out: &mut [T],
        of: impl Fn(&[u8]) -> T,
    ) -> Result<(), Fault> {
        each(cursor, out, |cursor| self.next(cursor, &of))
    }

    /// Calls `with` with the next value's string. After an error the cursor is at the start of the
    /// value.
    #[inline]
    pub(super) fn next<T>(
        self,
        cursor: &mut Cursor<'_>,
        with: impl FnOnce(&[u8]) -> T,
    ) -> Result<T, Fault> {
        let bytes = self.bytes.next(cursor)?;
        Ok(match bytes.try_into() {
            Ok(uuid) if self.uuid => with(&uuid_text(uuid)),
            _ => with(bytes),
        })
    }
}

/// The text of a UUID (RFC 9562, section 4): 32 hexadecimal digits, hyphens
/// between.
pub(crate) fn uuid_text(uuid: [u8; 16]) -> [u8; 36] {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = [b'-'; 36];
    let mut at = 0;
    for (i, byte) in uuid.into_iter().enumerate() {
        if matches!(i, 4 | 6 | 8 | 10) {
            at += 1;
        }
        text[at] = DIGITS[usize::from(byte >> 4)];
        text[at + 1] = DIGITS[usize::from(byte & 0xf)];
        at += 2;
    }
    text
}

#[cold]
fn invalid_utf8() -> Fault {
    Box::new(DecodeErrorKind::InvalidUtf8)
}
