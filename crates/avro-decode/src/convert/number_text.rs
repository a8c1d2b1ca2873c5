//! Numbers and booleans as text, in unions that also hold text.

use std::io::Write;

use atds_features::Ids;

use super::chunks::each;
use super::out::integers;
use super::{Out, other_dtype};
use crate::DecodeErrorKind;
use crate::plan::cursor::{Cursor, Fault};
use crate::plan::leaf::Leaf;

/// Length that any number's text fits in: an i64 takes at most 20 bytes, an f64 24.
const MAX_LEN: usize = 32;

/// Reads a number or a boolean as text. An integer is written in decimal, a float as the shortest
/// text that reads back as the same float (`1.5`, `1e16`, `NaN`, `inf`). A boolean is `true` or
/// `false`.
#[derive(Clone, Copy, Debug)]
pub(super) struct NumberText {
    /// The type of the data.
    pub(super) writer: Leaf,
    /// The type that the value is promoted to before it becomes text.
    pub(super) reader: Leaf,
}

/// Reads numbers in unions as the ids of their text. Outside unions, floats and booleans have no
/// ids.
#[derive(Clone, Debug)]
pub(super) struct NumberTextIds {
    pub(super) text: NumberText,
    pub(super) ids: Ids,
}

impl NumberText {
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

    /// Calls `with` with the next value's text. After an error the cursor is at the start of the
    /// value.
    fn next<T>(self, cursor: &mut Cursor<'_>, with: impl FnOnce(&[u8]) -> T) -> Result<T, Fault> {
        let start = *cursor;
        let mut buffer = [0; MAX_LEN];
        let written = self.write(cursor, &mut buffer);
        match written {
            Ok(length) => Ok(with(&buffer[..length])),
            Err(fault) => {
                *cursor = start;
                Err(fault)
            }
        }
    }

    /// Writes the next value's text and returns its length.
    fn write(self, cursor: &mut Cursor<'_>, buffer: &mut [u8; MAX_LEN]) -> Result<usize, Fault> {
        let mut rest = &mut buffer[..];
        let written = match (self.writer, self.reader) {
            (Leaf::Int | Leaf::Long, reader) => {
                let number = match self.writer {
                    Leaf::Int => cursor.int()?.into(),
                    _ => cursor.long()?,
                };
                match reader {
                    Leaf::Float => write!(rest, "{:?}", number as f32),
                    Leaf::Double => write!(rest, "{:?}", number as f64),
                    _ => write!(rest, "{number}"),
                }
            }
            (Leaf::Float, reader) => {
                let bytes = cursor.bytes(4)?.try_into().unwrap_or_default();
                let number = f32::from_le_bytes(bytes);
                match reader {
                    Leaf::Double => write!(rest, "{:?}", f64::from(number)),
                    _ => write!(rest, "{number:?}"),
                }
            }
            (Leaf::Double, _) => {
                let bytes = cursor.bytes(8)?.try_into().unwrap_or_default();
                write!(rest, "{:?}", f64::from_le_bytes(bytes))
            }
            (Leaf::Boolean, _) => match cursor.bytes(1)?[0] {
                byte @ 0..=1 => write!(rest, "{}", byte == 1),
                byte => return Err(Box::new(DecodeErrorKind::BadBoolean(byte))),
            },
            (Leaf::Bytes | Leaf::String | Leaf::ReplacedString, _) => other_dtype(),
        };
        written.expect("the text of a number fits");
        let left = rest.len();
        Ok(MAX_LEN - left)
    }
}

impl NumberTextIds {
    pub(super) fn read(&self, cursor: &mut Cursor<'_>, out: Out<'_>) -> Result<(), Fault> {
        let id = |cursor: &mut Cursor<'_>| self.text.next(cursor, |text| self.ids.of(text));
        integers!(out, out: Integer => each(cursor, out, |cursor| Ok(id(cursor)? as Integer)))
    }
}
