//! The records of a block.

use crate::crc::masked_crc;
use crate::error::{Error, ErrorKind};
use crate::head::{HEAD, TAIL, split};

/// The records of a [block](crate::Block)'s payload, in order.
///
/// Their lengths are those that the framer has verified, so they are not verified again.
#[derive(Clone, Debug)]
pub struct Records<'a> {
    payload: &'a [u8],
    at: usize,
    record: u64,
}

/// A record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Record<'a> {
    /// Offset of the record's first byte in the payload; the data begin twelve bytes later.
    pub offset: usize,
    /// The data.
    pub data: &'a [u8],
    /// The masked checksum of the data, as it is stored.
    pub stored: u32,
}

impl Record<'_> {
    /// Verifies the checksum of the data.
    ///
    /// # Errors
    /// [`ErrorKind::DataChecksum`].
    #[inline]
    pub fn verify(&self) -> Result<(), ErrorKind> {
        let computed = masked_crc(self.data);
        if self.stored == computed {
            return Ok(());
        }
        Err(data_checksum(self.stored, computed))
    }

    /// Offset in the payload after the record.
    #[inline]
    pub fn end(&self) -> usize {
        self.offset + HEAD + self.data.len() + TAIL
    }
}

#[cold]
fn data_checksum(stored: u32, computed: u32) -> ErrorKind {
    ErrorKind::DataChecksum { stored, computed }
}

impl<'a> Records<'a> {
    /// The records of `payload` from its first byte on.
    pub fn new(payload: &'a [u8]) -> Self {
        Records::starting_at(payload, 0, 0)
    }

    /// The records from offset `at` of `payload` on, where record `record` begins.
    pub fn starting_at(payload: &'a [u8], at: usize, record: u64) -> Self {
        Records {
            payload,
            at,
            record,
        }
    }

    /// Offset in the payload of the next record.
    #[inline]
    pub fn offset(&self) -> usize {
        self.at
    }

    /// Number of the next record in its block.
    #[inline]
    pub fn record(&self) -> u64 {
        self.record
    }

    /// The next record, which is expected to be there.
    ///
    /// # Errors
    /// [`ErrorKind::Truncated`]: the payload ends before the record does. A framer's blocks have no
    /// such record.
    #[inline]
    pub fn next_record(&mut self) -> Result<Record<'a>, Error> {
        let rest = self.payload.get(self.at..).unwrap_or_default();
        let (len, _) = split(rest.first_chunk().ok_or_else(|| self.truncated(rest))?);
        let found = usize::try_from(len).ok().and_then(|len| {
            let data = rest[HEAD..].get(..len)?;
            Some((data, rest[HEAD..][len..].first_chunk()?))
        });
        let (data, stored) = found.ok_or_else(|| self.truncated(rest))?;
        let record = Record {
            offset: self.at,
            data,
            stored: u32::from_le_bytes(*stored),
        };
        self.at = record.end();
        self.record += 1;
        Ok(record)
    }

    #[cold]
    fn truncated(&self, rest: &[u8]) -> Error {
        let len = rest.first_chunk().map_or(0, |head| split(head).0);
        let needed = len.saturating_add((HEAD + TAIL) as u64);
        let missing = needed.saturating_sub(rest.len() as u64);
        let kind = ErrorKind::Truncated { missing };
        Error::new(kind, self.at as u64, self.record)
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Result<Record<'a>, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.at >= self.payload.len() {
            return None;
        }
        let next = self.next_record();
        if next.is_err() {
            self.at = self.payload.len();
        }
        Some(next)
    }
}
