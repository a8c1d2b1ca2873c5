//! Skips whole records.

use super::cursor::Cursor;
use super::fast_skip::{FastSkip, PredictedLen, SkipRun};
use super::prefetch::SkipPrefetch;
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
    fast: Box<[FastSkip]>,
    /// Number of lengths that are predicted.
    predicted: usize,
}

/// The deepest value that fast skips do not count the depth of: a list of lists in a record in a record.
const FAST_DEPTH: usize = 4;

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
        let (mut predicted, mut fast) = (0, Box::default());
        if max_depth >= FAST_DEPTH {
            let depth = usize::from(matches!(record, Skip::Record(_)));
            fast = FastSkip::within(depth, table.inside(&record), &table, &mut predicted);
        }
        Skipper {
            table,
            record,
            fast,
            predicted,
        }
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
        let mut predicted = vec![PredictedLen::NONE; self.predicted];
        for record in 0..records {
            let run = SkipRun {
                skips: &self.fast,
                table: &self.table,
                predicted: &mut predicted,
                prefetch: &mut SkipPrefetch::default(),
                cursor: &mut cursor,
            };
            if self.fast.is_empty() || !run.try_skip() {
                self.table.run(&self.record, &mut cursor).map_err(|fault| {
                    DecodeError::new(*fault, cursor.position()).in_record(record)
                })?;
            }
        }
        Ok(cursor.position())
    }
}
