//! The wire format of protocol buffers: varints, tags, and fields that are skipped.

use crate::decode::{DecodeErrorKind, Fault};

/// How a field's value is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WireType {
    Varint,
    Fixed64,
    Delimited,
    StartGroup,
    EndGroup,
    Fixed32,
}

/// Groups in groups that are skipped at most: as in other implementations, so that no message takes
/// a stack of any depth.
const MAX_GROUPS: usize = 100;

/// Reads a message from its start to its end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cursor<'a> {
    rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    #[inline]
    pub(crate) fn new(message: &'a [u8]) -> Self {
        Cursor { rest: message }
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// The bytes that are not read yet.
    #[inline]
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Reads the byte `byte`, if it is next.
    #[inline]
    pub(crate) fn eat(&mut self, byte: u8) -> bool {
        match self.rest.split_first() {
            Some((&first, rest)) if first == byte => {
                self.rest = rest;
                true
            }
            _ => false,
        }
    }

    /// Reads a varint of 64 bits.
    #[inline]
    pub(crate) fn varint(&mut self) -> Result<u64, Fault> {
        match self.rest.split_first() {
            Some((&byte, rest)) if byte < 0x80 => {
                self.rest = rest;
                Ok(byte.into())
            }
            _ => self.long_varint(),
        }
    }

    fn long_varint(&mut self) -> Result<u64, Fault> {
        let mut value = 0;
        for (i, &byte) in self.rest.iter().take(10).enumerate() {
            // The tenth byte has the last bit of 64.
            if i == 9 && byte > 1 {
                break;
            }
            value |= u64::from(byte & 0x7f) << (7 * i);
            if byte < 0x80 {
                self.rest = &self.rest[i + 1..];
                return Ok(value);
            }
        }
        let kind = match self.rest.len() < 10 {
            true => DecodeErrorKind::UnexpectedEnd,
            false => DecodeErrorKind::VarintTooLong,
        };
        Err(Fault::new(kind, self.rest))
    }

    /// Reads a length, and as many bytes.
    #[inline]
    pub(crate) fn delimited(&mut self) -> Result<&'a [u8], Fault> {
        let start = self.rest;
        let len = self.varint()?;
        let found = usize::try_from(len)
            .ok()
            .and_then(|len| self.rest.split_at_checked(len));
        let Some((value, rest)) = found else {
            return Err(Fault::new(DecodeErrorKind::UnexpectedEnd, start));
        };
        self.rest = rest;
        Ok(value)
    }

    /// Reads `N` bytes.
    #[inline]
    pub(crate) fn fixed<const N: usize>(&mut self) -> Result<[u8; N], Fault> {
        match self.rest.split_first_chunk() {
            Some((value, rest)) => {
                self.rest = rest;
                Ok(*value)
            }
            None => Err(Fault::new(DecodeErrorKind::UnexpectedEnd, self.rest)),
        }
    }

    /// Reads a tag: the number of a field and the type of its value.
    #[inline]
    pub(crate) fn tag(&mut self) -> Result<(u32, WireType), Fault> {
        let start = self.rest;
        let tag = self.varint()?;
        let wire_type = match tag & 7 {
            0 => WireType::Varint,
            1 => WireType::Fixed64,
            2 => WireType::Delimited,
            3 => WireType::StartGroup,
            4 => WireType::EndGroup,
            5 => WireType::Fixed32,
            _ => return Err(Fault::new(DecodeErrorKind::BadTag { tag }, start)),
        };
        match u32::try_from(tag) {
            Ok(tag) if tag >> 3 > 0 => Ok((tag >> 3, wire_type)),
            _ => Err(Fault::new(DecodeErrorKind::BadTag { tag }, start)),
        }
    }

    /// Skips the value of a field whose tag was read.
    pub(crate) fn skip(&mut self, field: u32, wire_type: WireType) -> Result<(), Fault> {
        let start = self.rest;
        match wire_type {
            WireType::Varint => self.varint().map(drop),
            WireType::Fixed64 => self.fixed::<8>().map(drop),
            WireType::Delimited => self.delimited().map(drop),
            WireType::Fixed32 => self.fixed::<4>().map(drop),
            WireType::StartGroup => self.skip_group(field),
            WireType::EndGroup => Err(Fault::new(DecodeErrorKind::BadGroup, start)),
        }
    }

    /// Skips a group whose first tag was read.
    #[cold]
    fn skip_group(&mut self, field: u32) -> Result<(), Fault> {
        let start = self.rest;
        let mut open = vec![field];
        while let Some(&innermost) = open.last() {
            let (field, wire_type) = self.tag()?;
            match wire_type {
                WireType::StartGroup if open.len() < MAX_GROUPS => open.push(field),
                WireType::StartGroup => {
                    return Err(Fault::new(DecodeErrorKind::GroupsTooDeep, start));
                }
                WireType::EndGroup if field == innermost => {
                    open.pop();
                }
                _ => self.skip(field, wire_type)?,
            }
        }
        Ok(())
    }
}
