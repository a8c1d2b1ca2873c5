//! The values of a `Feature`: a list of bytes, of floats, or of integers.

use std::fmt;

use super::error::{DecodeErrorKind, Fault};
use crate::wire::{Cursor, WireType};

/// The kind of a feature's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// `bytes_list`.
    Bytes,
    /// `float_list`: floats of 32 bits.
    Float,
    /// `int64_list`.
    Int64,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Bytes => "bytes",
            Kind::Float => "float",
            Kind::Int64 => "int64",
        })
    }
}

/// The tag of field 1 with a length: the values of a list, packed or a string, and the entries of a
/// map.
pub(crate) const FIELD_1: u8 = 1 << 3 | 2;

/// The values of a feature: the message `BytesList`, `FloatList` or `Int64List`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct List<'a> {
    pub(crate) kind: Kind,
    pub(crate) message: &'a [u8],
}

/// A part of a list of numbers.
enum Part<'a> {
    /// Numbers end to end.
    Packed(&'a [u8]),
    /// One number.
    One(u64),
}

impl<'a> List<'a> {
    /// The numbers, if they are packed in one part, as all writers but odd ones write them.
    #[inline]
    fn packed(&self) -> Option<&'a [u8]> {
        match *self.message {
            [FIELD_1, len, ref rest @ ..] if len < 0x80 => {
                (rest.len() == usize::from(len)).then_some(rest)
            }
            [FIELD_1, ..] => {
                let mut cursor = Cursor::new(&self.message[1..]);
                let packed = cursor.delimited().ok()?;
                cursor.is_empty().then_some(packed)
            }
            _ => None,
        }
    }

    /// Calls `each` with every part of a list of numbers, whose unpacked numbers are of `one`.
    fn parts(
        &self,
        one: WireType,
        mut each: impl FnMut(Part<'a>) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let mut cursor = Cursor::new(self.message);
        while !cursor.is_empty() {
            match cursor.tag()? {
                (1, WireType::Delimited) => each(Part::Packed(cursor.delimited()?))?,
                (1, WireType::Varint) if one == WireType::Varint => {
                    each(Part::One(cursor.varint()?))?;
                }
                (1, WireType::Fixed32) if one == WireType::Fixed32 => {
                    let bits = u32::from_le_bytes(cursor.fixed()?);
                    each(Part::One(bits.into()))?;
                }
                (field, wire_type) => cursor.skip(field, wire_type)?,
            }
        }
        Ok(())
    }

    /// Number of values. Varints are counted by their last bytes: reading them finds the rest that may
    /// be wrong.
    #[inline]
    pub(crate) fn len(&self) -> Result<usize, Fault> {
        match (self.kind, self.packed()) {
            (Kind::Bytes, _) => {
                let mut n = 0;
                self.strings(|_| {
                    n += 1;
                    Ok(())
                })?;
                Ok(n)
            }
            (Kind::Float, Some(packed)) => floats_in(packed),
            (Kind::Int64, Some(packed)) => ints_in(packed),
            (kind, None) => self.len_of_parts(kind),
        }
    }

    #[cold]
    fn len_of_parts(&self, kind: Kind) -> Result<usize, Fault> {
        let mut n = 0;
        let one = match kind {
            Kind::Float => WireType::Fixed32,
            _ => WireType::Varint,
        };
        self.parts(one, |part| {
            n += match part {
                Part::Packed(packed) if kind == Kind::Float => floats_in(packed)?,
                Part::Packed(packed) => ints_in(packed)?,
                Part::One(_) => 1,
            };
            Ok(())
        })?;
        Ok(n)
    }

    /// Reads the first integers into `out`, which has as many elements as there are integers, or
    /// fewer.
    #[inline]
    pub(crate) fn fill_ints<T>(
        &self,
        out: &mut [T],
        convert: impl Fn(i64) -> Result<T, Fault>,
    ) -> Result<(), Fault> {
        if let Some(packed) = self.packed() {
            let mut cursor = Cursor::new(packed);
            for out in &mut *out {
                *out = convert(cursor.varint()? as i64)?;
            }
            return check_ints(cursor);
        }
        let mut out = out.iter_mut();
        self.parts(WireType::Varint, |part| {
            match part {
                Part::One(value) => {
                    if let Some(out) = out.next() {
                        *out = convert(value as i64)?;
                    }
                }
                Part::Packed(packed) => {
                    let mut cursor = Cursor::new(packed);
                    while !cursor.is_empty() {
                        let value = cursor.varint()?;
                        if let Some(out) = out.next() {
                            *out = convert(value as i64)?;
                        }
                    }
                }
            }
            Ok(())
        })
    }

    /// Reads the first floats into `out`, which has as many elements as there are floats, or fewer.
    #[inline]
    pub(crate) fn fill_floats<T>(
        &self,
        out: &mut [T],
        convert: impl Fn(f32) -> T,
    ) -> Result<(), Fault> {
        if let Some(packed) = self.packed() {
            let (floats, _) = packed.as_chunks();
            for (out, &bytes) in out.iter_mut().zip(floats) {
                *out = convert(f32::from_le_bytes(bytes));
            }
            return Ok(());
        }
        let mut out = out.iter_mut();
        self.parts(WireType::Fixed32, |part| {
            match part {
                Part::One(bits) => {
                    if let Some(out) = out.next() {
                        *out = convert(f32::from_bits(bits as u32));
                    }
                }
                Part::Packed(packed) => {
                    let (floats, _) = packed.as_chunks();
                    for (&bytes, out) in floats.iter().zip(&mut out) {
                        *out = convert(f32::from_le_bytes(bytes));
                    }
                }
            }
            Ok(())
        })
    }

    /// Calls `each` with every string of a list of bytes.
    #[inline]
    pub(crate) fn strings(
        &self,
        mut each: impl FnMut(&'a [u8]) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let mut cursor = Cursor::new(self.message);
        while !cursor.is_empty() {
            if cursor.eat(FIELD_1) {
                each(cursor.delimited()?)?;
                continue;
            }
            match cursor.tag()? {
                (1, WireType::Delimited) => each(cursor.delimited()?)?,
                (field, wire_type) => cursor.skip(field, wire_type)?,
            }
        }
        Ok(())
    }
}

/// Number of varints in `packed`.
#[inline]
fn ints_in(packed: &[u8]) -> Result<usize, Fault> {
    if packed.last().is_some_and(|&byte| byte >= 0x80) {
        return Err(Fault::new(DecodeErrorKind::UnexpectedEnd, packed));
    }
    Ok(packed.iter().filter(|&&byte| byte < 0x80).count())
}

/// Number of floats in `packed`.
#[inline]
fn floats_in(packed: &[u8]) -> Result<usize, Fault> {
    match packed.len() % 4 {
        0 => Ok(packed.len() / 4),
        _ => Err(Fault::new(DecodeErrorKind::UnexpectedEnd, packed)),
    }
}

/// Checks the varints that are left out.
#[inline]
fn check_ints(mut cursor: Cursor<'_>) -> Result<(), Fault> {
    while !cursor.is_empty() {
        cursor.varint()?;
    }
    Ok(())
}
