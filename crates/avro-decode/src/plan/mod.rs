//! A decode plan, compiled once from a schema and features, and its executor.
//!
//! Avro records have no field offsets, so a record is read front to back. The plan is therefore a
//! [program](program): operations in the order of the schema's fields. The operation of a feature
//! reads its value straight into the batch. The values between features are skipped, in as few
//! operations as their sizes allow.

pub(crate) mod blocks;
mod compile;
pub(crate) mod cursor;
mod entries;
mod error;
mod fast_skip;
mod filter;
mod infer;
mod item_slice;
pub(crate) mod items;
pub(crate) mod leaf;
mod meanings;
mod missing;
mod output;
mod prefetch;
mod program;
mod row;
mod run;
mod scratch;
mod sink;
pub(crate) mod skip;
mod skipper;
mod sparse;
mod sparse_row;
mod state;
mod strings;
mod values;

use std::sync::Arc;

pub use error::{PlanError, PlanErrorKind};
pub use infer::{Inferred, LeftOut, LeftOutReason, Rounded, Sampled, infer};
pub(crate) use meanings::MeaningOf;
pub use meanings::{MeaningError, Meanings};
pub use scratch::Scratch;
pub use skipper::Skipper;

use atds_features::feature::Features;
use tensor_batch::{BatchSpec, RowSlots};

use crate::utf8::replaced_texts;
use crate::{DecodeError, DecodeErrorKind, DecodeOptions, Schema};
use cursor::Cursor;
use output::Output;
use program::Program;
use run::Run;
use skip::SkipTable;

const SLOTS: &str = "the slots are of the plan's batch spec";
const STRINGS: &str = "the slots are of the plan's batch spec: strings";

/// How to treat a sparse entry with an index outside its dimension.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum OutOfBounds {
    /// Report an error.
    #[default]
    Error,
    /// Drop the entry and count it.
    Drop,
}

/// Options for compiling a plan.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct PlanOptions {
    /// How to treat sparse entries with an index outside their dimension.
    pub out_of_bounds: OutOfBounds,
    /// The schema that records are read as, by Avro's schema resolution. The features are found in
    /// this schema. `None` uses the writer's schema.
    pub reader_schema: Option<Arc<Schema>>,
    /// The meanings of the columns by earlier schemas: for the second schema, [`Plan::meanings`] of
    /// the first plan. Times in another unit, decimals of a smaller scale and enums with other
    /// numbers are converted to these meanings. Values that cannot be converted are an error.
    pub meanings: Meanings,
    /// The origin of the schema, such as the name of a file, for the errors of later plans.
    pub origin: Option<Arc<str>>,
    /// Options for decoding values.
    pub decode: DecodeOptions,
}

/// A compiled plan. It reads records of one schema into batches of one spec.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Identifies the plan and its clones.
    id: u64,
    spec: BatchSpec,
    program: Program,
    outputs: Box<[Output]>,
    /// Number of registers of the program.
    registers: usize,
    /// Number of values that the filters store.
    operands: usize,
    /// Number of array lengths that are predicted.
    predicted: usize,
    /// Whether to prefetch later records.
    asks_ahead: bool,
    /// Number of fast skips of a record that are slow enough for a prefetch each.
    slow_skips: usize,
    skips: SkipTable,
    min_record_len: u64,
    meanings: Meanings,
    /// Whether invalid UTF-8 is replaced.
    replaces_utf8: bool,
    /// Whether bytes after a record without a container are ignored.
    leaves_trailing_bytes: bool,
    absent: Box<[Absent]>,
}

/// An expression of a feature that leads to a field or a branch that the schema lacks.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Absent {
    /// The expression of the feature, of one of its keys, or of an operand of its filters.
    pub expression: String,
    /// The missing part of the schema, as the error for a feature without a default or a mask.
    pub error: PlanError,
}

impl Absent {
    /// Whether `other` is for the same expression of the same feature. The missing part may differ
    /// between two schemas.
    pub fn is_same(&self, other: &Absent) -> bool {
        self.error.feature == other.error.feature && self.expression == other.expression
    }
}

/// The result of [`Plan::execute`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Executed {
    /// Offset in the data of the next record.
    pub position: usize,
    /// Number of sparse entries dropped for an index outside their dimension.
    pub dropped: u64,
    /// Number of lists of [truncated](crate::Feature::with_truncate) features that were cut.
    pub truncated: u64,
    /// Number of texts in which invalid UTF-8 was replaced.
    pub replaced: u64,
}

/// The result of [`Plan::execute_each`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExecutedEach {
    /// Number of sparse entries dropped for an index outside their dimension.
    pub dropped: u64,
    /// Number of lists of [truncated](crate::Feature::with_truncate) features that were cut.
    pub truncated: u64,
    /// Number of texts in which invalid UTF-8 was replaced.
    pub replaced: u64,
    /// Number of bytes ignored after records.
    pub trailing_bytes: u64,
}

impl Plan {
    /// Compiles a plan that reads `features` from records written with the schema `writer`.
    ///
    /// If `writer` lacks a field or a branch of a union, the value is missing in every record, like
    /// a null. This needs a default or a mask; see [`absent`](Self::absent). With a reader's schema
    /// it is an error, since the reader's schema defines the fields.
    ///
    /// # Errors
    /// - If a feature's expression leads to nothing in the schema.
    /// - If the values do not fit the feature in kind, rank or dtype. Dtypes change only on
    ///   request: int is int32, long int64, float float32, double float64, boolean bool; string,
    ///   bytes, fixed and enum are string.
    /// - If the writer's schema cannot be read as the reader's.
    /// - If the values do not convert to the meaning that an earlier schema gave the column.
    pub fn compile(
        writer: &Arc<Schema>,
        features: &Features,
        options: &PlanOptions,
    ) -> Result<Plan, PlanError> {
        compile::compile(writer, features, options)
    }

    /// The expressions that lead to nothing in the writer's schema. A caller that reads several
    /// schemas should refuse an expression that leads to nothing in any of them: it is probably
    /// misspelled.
    pub fn absent(&self) -> &[Absent] {
        &self.absent
    }

    /// The columns that the plan fills.
    pub fn spec(&self) -> &BatchSpec {
        &self.spec
    }

    /// The meanings of the columns: those in the options, and those that this schema fixes for
    /// other columns.
    pub fn meanings(&self) -> &Meanings {
        &self.meanings
    }

    /// The minimum number of bytes per record.
    pub fn min_record_len(&self) -> u64 {
        self.min_record_len
    }

    /// Reads `records` records from `data` into the next rows of `slots`. The first record starts
    /// at `position`.
    ///
    /// Values that no feature reads are skipped and not checked: only lengths, counts and union
    /// branches are read.
    ///
    /// # Errors
    /// If the data is not valid, or does not fit the features. The error has the offset in `data`,
    /// the index of the record, from 0 for this call's first record, and the field. After an error,
    /// the contents of this call's rows are unspecified.
    ///
    /// # Panics
    /// If `slots` are not of the plan's [`BatchSpec`], or have fewer rows left.
    pub fn execute(
        &self,
        data: &[u8],
        position: usize,
        records: usize,
        slots: &mut RowSlots<'_>,
    ) -> Result<Executed, DecodeError> {
        self.execute_with(&mut Scratch::new(), data, position, records, slots)
    }

    /// As [`execute`](Self::execute), with the memory of an earlier call.
    ///
    /// # Errors
    /// As for [`execute`](Self::execute).
    ///
    /// # Panics
    /// As for [`execute`](Self::execute).
    pub fn execute_with(
        &self,
        scratch: &mut Scratch,
        data: &[u8],
        position: usize,
        records: usize,
        slots: &mut RowSlots<'_>,
    ) -> Result<Executed, DecodeError> {
        assert!(records <= slots.remaining(), "more records than rows");
        let replaced = self.replaced_texts();
        let mut run = Run::new(self, scratch, slots);
        let result = run.records(data, position.min(data.len()), records);
        let (dropped, truncated) = (run.state.dropped, run.state.truncated);
        let operands = run.operands;
        scratch.keep(operands, result.is_ok());
        let position = result?;
        let replaced = self.replaced_texts() - replaced;
        Ok(Executed {
            position,
            dropped,
            truncated,
            replaced,
        })
    }

    /// Number of texts that this thread has replaced so far, if the plan replaces any.
    #[inline]
    fn replaced_texts(&self) -> u64 {
        if self.replaces_utf8 {
            replaced_texts()
        } else {
            0
        }
    }

    /// Reads separate records, such as the messages of a queue, into the next rows of `slots`. It
    /// is [`execute`](Self::execute) for each record, but prepares only once.
    ///
    /// # Errors
    /// As for [`execute`](Self::execute), with offsets from the start of the record. Bytes after a
    /// record are an error too, unless they are ignored.
    ///
    /// # Panics
    /// If `slots` are not of the plan's [`BatchSpec`], or have fewer rows left.
    pub fn execute_each<'d>(
        &self,
        records: impl IntoIterator<Item = &'d [u8]>,
        slots: &mut RowSlots<'_>,
    ) -> Result<ExecutedEach, DecodeError> {
        let (replaced, mut left) = (self.replaced_texts(), 0);
        let mut scratch = Scratch::new();
        let mut run = Run::new(self, &mut scratch, slots);
        for (record, data) in records.into_iter().enumerate() {
            assert!(run.slots.remaining() > 0, "more records than rows");
            let mut cursor = Cursor::new(data, 0);
            run.record(&mut cursor)
                .map_err(|error| error.in_record(record as u64))?;
            if self.leaves_trailing_bytes {
                left += cursor.remaining() as u64;
            } else if cursor.remaining() > 0 {
                return Err(trailing_bytes(&cursor).in_record(record as u64));
            }
        }
        Ok(ExecutedEach {
            dropped: run.state.dropped,
            truncated: run.state.truncated,
            replaced: self.replaced_texts() - replaced,
            trailing_bytes: left,
        })
    }
}

#[cold]
fn trailing_bytes(cursor: &Cursor<'_>) -> DecodeError {
    let left = cursor.remaining();
    DecodeError::new(DecodeErrorKind::TrailingBytes { left }, cursor.position())
}
