//! Whatever is bytes, as strings.

use tensor_batch::Strings;

use super::chunks::each;
use crate::DecodeErrorKind;
use crate::plan::cursor::{Cursor, Fault};

/// How bytes lie in the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bytes {
    /// `bytes` and `string`: a length before them.
    Delimited {
        /// Whether one of the schemas says `string`, so that they are UTF-8.
        utf8: bool,
    },
    /// `fixed`: as many as the schema says.
    Fixed(usize),
}

/// Bytes as a string.
#[derive(Clone, Copy, Debug)]
pub(super) struct Text {
    pub(super) bytes: Bytes,
    /// Whether the bytes are those of a UUID, of which the string is the text.
    pub(super) uuid: bool,
}

impl Bytes {
    /// The next value. The cursor of an error is at its start.
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
        strings: &mut Strings,
    ) -> Result<(), Fault> {
        for _ in 0..n {
            self.next(cursor, |text| strings.push(text))?;
        }
        Ok(())
    }

    /// Fills `out` with what `of` makes of the next values' strings. The cursor
    /// of an error is at the start of the first value that fails.
    ///
    /// Strings are checked for UTF-8 in runs, together with the lengths between
    /// them, which are of ASCII if they are of one byte: a check of its own for
    /// each costs more than all the rest.
    #[inline]
    pub(super) fn fill<T>(
        self,
        cursor: &mut Cursor<'_>,
        out: &mut [T],
        of: impl Fn(&[u8]) -> T,
    ) -> Result<(), Fault> {
        if self.bytes != (Bytes::Delimited { utf8: true }) {
            return each(cursor, out, |cursor| self.next(cursor, &of));
        }
        let mut done = 0;
        while done < out.len() {
            let (start, first) = (*cursor, done);
            while let Some(out) = out.get_mut(done)
                && let Some(string) = short_string(cursor)
            {
                *out = of(string);
                done += 1;
            }
            let run = &start.rest()[..cursor.position() - start.position()];
            if !crate::utf8::is_utf8(run) {
                // Up to the first at fault.
                *cursor = start;
                return each(cursor, &mut out[first..], |cursor| self.next(cursor, &of));
            }
            // One that is longer, or at fault.
            if let Some(out) = out.get_mut(done) {
                *out = self.next(cursor, &of)?;
                done += 1;
            }
        }
        Ok(())
    }

    /// Hands the next value's string to `with`. The cursor of an error is at
    /// the start of the value.
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

/// The next string, not checked, if its length takes one byte.
#[inline]
fn short_string<'a>(cursor: &mut Cursor<'a>) -> Option<&'a [u8]> {
    let (&length, rest) = cursor.rest().split_first()?;
    // Zig-zag: odd numbers are negative.
    if length >= 0x80 || length % 2 == 1 {
        return None;
    }
    let string = rest.get(..usize::from(length / 2))?;
    cursor.advance(1 + string.len());
    Some(string)
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
