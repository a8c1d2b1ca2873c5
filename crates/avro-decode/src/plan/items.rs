//! Runs of values of one Avro primitive, read in one go.

use std::marker::PhantomData;

use tensor_batch::{Buffer, DenseElement, Element, Strings};

use super::cursor::{Cursor, Fault};
use crate::DecodeErrorKind;

/// How an Avro primitive is read into values of a fixed-width dtype.
pub(crate) trait Primitive {
    /// The element type of the column.
    type Element: DenseElement;
    /// Reads `out.len()` values.
    fn read(cursor: &mut Cursor<'_>, out: &mut [RawOf<Self>]) -> Result<(), Fault>;
}

/// What a value of the primitive is in memory.
pub(crate) type RawOf<P> = <<P as Primitive>::Element as Element>::Raw;

/// `int`: a zig-zag varint (Avro 1.12, "Primitive Types").
pub(crate) struct Int;
/// `long`: a zig-zag varint.
pub(crate) struct Long;
/// `float`: 4 bytes, little-endian.
pub(crate) struct Float;
/// `double`: 8 bytes, little-endian.
pub(crate) struct Double;
/// `boolean`: a byte, 0 or 1.
pub(crate) struct Boolean;

impl Primitive for Int {
    type Element = i32;
    #[inline]
    fn read(cursor: &mut Cursor<'_>, out: &mut [i32]) -> Result<(), Fault> {
        for out in out {
            *out = cursor.int()?;
        }
        Ok(())
    }
}

impl Primitive for Long {
    type Element = i64;
    #[inline]
    fn read(cursor: &mut Cursor<'_>, out: &mut [i64]) -> Result<(), Fault> {
        for out in out {
            *out = cursor.long()?;
        }
        Ok(())
    }
}

impl Primitive for Float {
    type Element = f32;
    #[inline]
    fn read(cursor: &mut Cursor<'_>, out: &mut [f32]) -> Result<(), Fault> {
        let bytes = cursor.bytes(out.len() * 4)?;
        for (out, bytes) in out.iter_mut().zip(bytes.as_chunks::<4>().0) {
            *out = f32::from_le_bytes(*bytes);
        }
        Ok(())
    }
}

impl Primitive for Double {
    type Element = f64;
    #[inline]
    fn read(cursor: &mut Cursor<'_>, out: &mut [f64]) -> Result<(), Fault> {
        let bytes = cursor.bytes(out.len() * 8)?;
        for (out, bytes) in out.iter_mut().zip(bytes.as_chunks::<8>().0) {
            *out = f64::from_le_bytes(*bytes);
        }
        Ok(())
    }
}

impl Primitive for Boolean {
    type Element = bool;
    #[inline]
    fn read(cursor: &mut Cursor<'_>, out: &mut [u8]) -> Result<(), Fault> {
        let mut ahead = *cursor;
        let bytes = ahead.bytes(out.len())?;
        if let Some(bad) = bytes.iter().position(|&byte| byte > 1) {
            cursor.bytes(bad)?;
            return Err(bad_boolean(bytes[bad]));
        }
        out.copy_from_slice(bytes);
        *cursor = ahead;
        Ok(())
    }
}

#[cold]
fn bad_boolean(byte: u8) -> Fault {
    Box::new(DecodeErrorKind::BadBoolean(byte))
}

/// Where runs of values go.
pub(crate) trait Sink {
    /// Reads the next `n` values. `n` is at most the bytes that are left.
    fn take(&mut self, cursor: &mut Cursor<'_>, n: usize) -> Result<(), Fault>;
}

/// One row of a dense column, in its final place.
pub(crate) struct InPlace<'a, P: Primitive> {
    rest: &'a mut [RawOf<P>],
}

impl<'a, P: Primitive> InPlace<'a, P> {
    pub(crate) fn new(row: &'a mut [RawOf<P>]) -> Self {
        InPlace { rest: row }
    }
}

impl<P: Primitive> Sink for InPlace<'_, P> {
    #[inline]
    fn take(&mut self, cursor: &mut Cursor<'_>, n: usize) -> Result<(), Fault> {
        // The walk has checked every length against the shape before.
        let (now, later) = std::mem::take(&mut self.rest).split_at_mut(n);
        self.rest = later;
        P::read(cursor, now)
    }
}

/// The end of a segment's values.
pub(crate) struct Append<'a, P: Primitive> {
    buffer: &'a mut Buffer<RawOf<P>>,
    primitive: PhantomData<P>,
}

impl<'a, P: Primitive> Append<'a, P> {
    pub(crate) fn new(buffer: &'a mut Buffer<RawOf<P>>) -> Self {
        Append {
            buffer,
            primitive: PhantomData,
        }
    }
}

impl<P: Primitive> Sink for Append<'_, P> {
    #[inline]
    fn take(&mut self, cursor: &mut Cursor<'_>, n: usize) -> Result<(), Fault> {
        P::read(cursor, self.buffer.append(n))
    }
}

/// The end of a segment's strings. `bytes` and `string` differ in the check
/// for UTF-8 alone.
pub(crate) struct AppendStrings<'a> {
    pub(crate) strings: &'a mut Strings,
    pub(crate) utf8: bool,
}

impl Sink for AppendStrings<'_> {
    #[inline]
    fn take(&mut self, cursor: &mut Cursor<'_>, n: usize) -> Result<(), Fault> {
        for _ in 0..n {
            let start = *cursor;
            let length = cursor.length()?;
            let string = cursor.bytes(length)?;
            if self.utf8 && simdutf8::basic::from_utf8(string).is_err() {
                *cursor = start;
                return Err(invalid_utf8());
            }
            self.strings.push(string);
        }
        Ok(())
    }
}

#[cold]
fn invalid_utf8() -> Fault {
    Box::new(DecodeErrorKind::InvalidUtf8)
}
