//! Skips whole records.

use super::cursor::Cursor;
use super::skip::{Skip, SkipTable};
use crate::limits::MAX_DECODE_DEPTH;
use crate::{DecodeError, Schema};

/// Skips records of one schema without reading them.
///
/// As with values that no feature of a [`Plan`](crate::Plan) reads, lengths, counts and union
/// branches are read, and nothing else is checked.
#[derive(Clone, Debug)]
pub struct Skipper {
    table: SkipTable,
    record: Skip,
}

impl Skipper {
    /// Creates a skipper of records written with the schema `writer`.
    pub fn new(writer: &Schema) -> Self {
        Self::with_max_depth(writer, MAX_DECODE_DEPTH)
    }

    /// As [`new`](Self::new), for records nested as deep as
    /// [`DecodeOptions::max_depth`](crate::DecodeOptions::max_depth) allows.
    pub fn with_max_depth(writer: &Schema, max_depth: usize) -> Self {
        let mut table = SkipTable::with_max_depth(max_depth);
        let record = table.skip_of(writer, writer.root());
        Skipper { table, record }
    }

    /// The offset in `data` after `records` records, the first of which is at `position`.
    ///
    /// # Errors
    /// If the data is not valid. The error has the offset in `data`, and the index of the record,
    /// counted from the first.
    pub fn skip(&self, data: &[u8], position: usize, records: u64) -> Result<usize, DecodeError> {
        let position = position.min(data.len());
        if self.record.is_nothing() {
            // Any number of records fits in no bytes.
            return Ok(position);
        }
        let mut cursor = Cursor::new(data, position);
        for record in 0..records {
            self.table
                .run(&self.record, &mut cursor)
                .map_err(|fault| DecodeError::new(*fault, cursor.position()).in_record(record))?;
        }
        Ok(cursor.position())
    }
}
