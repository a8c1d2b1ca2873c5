//! The lines of an index, and the hashes between them.

use std::io::{self, BufRead, Read};

use super::values;
use crate::limits::MAX_INDEX_LINE;

/// The lines of a file, up to a length.
pub(super) struct Lines<R> {
    reader: R,
    line: Vec<u8>,
    /// Number of bytes before the next line.
    pub(super) at: u64,
}

impl<R: BufRead> Lines<R> {
    pub(super) fn new(reader: R) -> Self {
        Lines {
            reader,
            line: Vec::new(),
            at: 0,
        }
    }

    /// The next line with its end, or an error if it is too long; `None` at the end of the file.
    pub(super) fn next(&mut self) -> io::Result<Option<Result<&[u8], ()>>> {
        self.line.clear();
        let most = MAX_INDEX_LINE as u64 + 1;
        let read = self
            .reader
            .by_ref()
            .take(most)
            .read_until(b'\n', &mut self.line)?;
        self.at += read as u64;
        Ok(match read {
            0 => None,
            read if read > MAX_INDEX_LINE => Some(Err(())),
            _ => Some(Ok(&self.line)),
        })
    }

    /// The checksum of the hashes of `records` records, which come next; `None` if the file ends before.
    pub(super) fn checksum_of(&mut self, records: u64) -> io::Result<Option<String>> {
        let Some(bytes) = records.checked_mul(8) else {
            return Ok(None);
        };
        let mut hashes = self.reader.by_ref().take(bytes);
        let found = values::checksum_of(&mut hashes)?;
        if hashes.limit() > 0 {
            return Ok(None);
        }
        self.at += bytes;
        Ok(Some(found))
    }
}
