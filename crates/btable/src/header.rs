//! The header: the version and the labels of the columns.

use std::sync::Arc;

use crate::error::{Error, ErrorKind};
use crate::limits::Limits;

/// The header of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    labels: Arc<[String]>,
    len: u64,
}

/// What separates labels: U+001F, the unit separator.
pub(crate) const SEPARATOR: char = '\u{1f}';

/// Size in bytes of the version and the length of the labels.
pub(crate) const START: usize = 8;

impl Header {
    /// The labels of the columns, one for each.
    ///
    /// A file of the originals that has no columns is read as one with a single column, whose label is
    /// empty: the two look the same.
    pub fn labels(&self) -> &Arc<[String]> {
        &self.labels
    }

    /// Number of columns.
    pub fn columns(&self) -> u32 {
        // A separator is between any two, and there are fewer than 2^31 code units.
        self.labels.len() as u32
    }

    /// Size of the header in bytes: the offset of the first row.
    #[allow(clippy::len_without_is_empty)] // A header has eight bytes or more.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// The size in bytes of the header that `start` begins; `None` if it needs more bytes to tell.
    pub(crate) fn len_of(start: &[u8], limits: &Limits) -> Result<Option<usize>, Error> {
        let number = |at: usize| {
            start
                .get(at..at + 4)?
                .try_into()
                .ok()
                .map(i32::from_be_bytes)
        };
        if let Some(version) = number(0)
            && version != 0
        {
            return Err(Error::new(ErrorKind::Version(version), 0, None));
        }
        let Some(units) = number(4) else {
            return Ok(None);
        };
        let Ok(units) = u32::try_from(units) else {
            return Err(Error::new(ErrorKind::NegativeLength(units), 4, None));
        };
        let limit = limits.max_label_units;
        if units > limit {
            let kind = ErrorKind::LabelsTooLong { units, limit };
            return Err(Error::new(kind, 4, None));
        }
        Ok(Some(START + 2 * units as usize))
    }

    /// Reads a header from all its bytes.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, Error> {
        let (units, _) = bytes[START..].as_chunks::<2>();
        let mut labels = Vec::new();
        let mut label = String::new();
        let mut at = 0;
        for char in char::decode_utf16(units.iter().map(|unit| u16::from_be_bytes(*unit))) {
            match char {
                Ok(SEPARATOR) => labels.push(std::mem::take(&mut label)),
                Ok(char) => label.push(char),
                Err(error) => {
                    let kind = ErrorKind::UnpairedSurrogate(error.unpaired_surrogate());
                    return Err(Error::new(kind, (START + 2 * at) as u64, None));
                }
            }
            at += char.map_or(1, char::len_utf16);
        }
        labels.push(label);
        Ok(Header {
            labels: labels.into(),
            len: bytes.len() as u64,
        })
    }

    /// The bytes of a header with these labels.
    pub(crate) fn encode<L: AsRef<str>>(labels: &[L]) -> Result<Vec<u8>, Error> {
        let error = |kind| Error::new(kind, 0, None);
        if labels.is_empty() {
            return Err(error(ErrorKind::NoLabels));
        }
        let mut bytes = vec![0; START];
        for (i, label) in labels.iter().enumerate() {
            let label = label.as_ref();
            if label.contains(SEPARATOR) {
                return Err(error(ErrorKind::SeparatorInLabel(label.to_owned())));
            }
            if i > 0 {
                bytes.extend_from_slice(&(SEPARATOR as u16).to_be_bytes());
            }
            label
                .encode_utf16()
                .for_each(|unit| bytes.extend_from_slice(&unit.to_be_bytes()));
        }
        let units = (bytes.len() - START) / 2;
        let limit = i32::MAX as u32;
        let Ok(units) = i32::try_from(units) else {
            let units = u32::try_from(units).unwrap_or(u32::MAX);
            return Err(error(ErrorKind::LabelsTooLong { units, limit }));
        };
        bytes[4..START].copy_from_slice(&units.to_be_bytes());
        Ok(bytes)
    }
}
