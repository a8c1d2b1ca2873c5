//! A decode plan, compiled once from a schema and the features asked for, and
//! its executor.
//!
//! Avro records have no field offsets: a record is read front to back. The plan
//! is therefore a [program](program): operations in the order of the schema's
//! fields. A value that was asked for is read by the operation of its feature
//! straight into the batch, and what lies between is skipped, neighbours in one
//! step where their sizes are known.

pub(crate) mod blocks;
mod compile;
pub(crate) mod cursor;
mod entries;
mod error;
mod fast_skip;
mod filter;
mod infer;
pub(crate) mod items;
pub(crate) mod leaf;
mod meanings;
mod missing;
mod output;
mod part;
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

use tensor_batch::{BatchSpec, RowSlots};

use crate::feature::Features;
use crate::utf8::replaced_texts;
use crate::{DecodeError, DecodeErrorKind, DecodeOptions, Schema};
use cursor::Cursor;
use output::Output;
use program::Program;
use run::Run;
use skip::SkipTable;

const SLOTS: &str = "the slots are of the plan's batch spec";
const STRINGS: &str = "the slots are of the plan's batch spec: strings";

/// What to do with a sparse entry that has an index outside its dimension.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum OutOfBounds {
    /// It is an error.
    #[default]
    Error,
    /// The entry is dropped and counted.
    Drop,
}

/// Choices that a plan is compiled with.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct PlanOptions {
    /// Sparse entries with an index outside their dimension.
    pub out_of_bounds: OutOfBounds,
    /// What records are read as, by Avro's schema resolution: the features are
    /// found in this schema, whatever the writer's. Without, in the writer's.
    pub reader_schema: Option<Arc<Schema>>,
    /// What the columns mean by the schemas before: those of the plan for the
    /// first schema, of [`Plan::meanings`]. Values of another unit of time, a
    /// smaller scale of decimals or another numbering of symbols are converted
    /// to these; values that do not become them are an error.
    pub meanings: Meanings,
    /// What the schema is of, such as the name of a file, for the errors of
    /// plans that are compiled after it.
    pub origin: Option<Arc<str>>,
    /// Choices about the values that are read.
    pub decode: DecodeOptions,
}

/// A compiled plan: reads records of one schema into batches of one spec.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Tells it from every other plan but its clones.
    id: u64,
    spec: BatchSpec,
    program: Program,
    outputs: Box<[Output]>,
    /// How many registers the program has.
    registers: usize,
    /// How many values its filters keep.
    operands: usize,
    /// How many lengths of arrays it predicts.
    predicted: usize,
    /// Whether later records are prefetched.
    asks_ahead: bool,
    /// How many fast skips of a record are slow enough for a prefetch each.
    slow_skips: usize,
    skips: SkipTable,
    min_record_len: u64,
    meanings: Meanings,
    /// Whether what is not UTF-8 is replaced.
    replaces_utf8: bool,
    /// Whether bytes after a record without a container are left.
    leaves_trailing_bytes: bool,
    absent: Box<[Absent]>,
}

/// An expression of a feature that leads to a field, or a branch of a union,
/// that the schema lacks.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Absent {
    /// The expression: the feature's, or that of one of its keys or of an operand
    /// of its filters.
    pub expression: String,
    /// What the schema lacks. This is the error of a feature that has neither a
    /// default nor a mask.
    pub error: PlanError,
}

impl Absent {
    /// Whether this is the same expression of the same feature, which may lead to
    /// different ends in two schemas.
    pub fn is_same(&self, other: &Absent) -> bool {
        self.error.feature == other.error.feature && self.expression == other.expression
    }
}

/// What [`Plan::execute`] did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Executed {
    /// Where in the data the next record starts.
    pub position: usize,
    /// Sparse entries dropped for an index outside their dimension.
    pub dropped: u64,
    /// Lists of [truncated](crate::Feature::with_truncate) features that were cut.
    pub truncated: u64,
    /// Texts in which something was not UTF-8 and was replaced.
    pub replaced: u64,
}

/// What [`Plan::execute_each`] did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExecutedEach {
    /// Sparse entries dropped for an index outside their dimension.
    pub dropped: u64,
    /// Lists of [truncated](crate::Feature::with_truncate) features that were cut.
    pub truncated: u64,
    /// Texts in which something was not UTF-8 and was replaced.
    pub replaced: u64,
    /// Bytes left behind records.
    pub trailing_bytes: u64,
}

impl Plan {
    /// Compiles the plan that reads `features` from records that were written
    /// with `writer`.
    ///
    /// A field or a branch of a union that `writer` lacks is missing in every
    /// record, like a null, if the feature has a default or a mask; see
    /// [`absent`](Self::absent). With a reader's schema that is an error, since
    /// the reader's schema says what there is.
    ///
    /// # Errors
    /// A feature's expression leads to nothing in the schema; or the values there do not fit the feature in kind, rank or dtype.
    /// No dtype is changed unless the feature asks for it: int is int32, long
    /// int64, float float32, double float64, boolean bool, string, bytes, fixed
    /// and enum string. With a reader's schema: the writer's cannot become it.
    /// With meanings of schemas before: the values do not become what a column
    /// means.
    pub fn compile(
        writer: &Arc<Schema>,
        features: &Features,
        options: &PlanOptions,
    ) -> Result<Plan, PlanError> {
        compile::compile(writer, features, options)
    }

    /// The expressions that lead to nothing in the writer's schema. A caller that
    /// reads several schemas should refuse an expression that leads to nothing in
    /// any of them: it is most likely misspelled.
    pub fn absent(&self) -> &[Absent] {
        &self.absent
    }

    /// The columns the plan fills.
    pub fn spec(&self) -> &BatchSpec {
        &self.spec
    }

    /// What the columns mean: what the options said, and what this schema tells
    /// of columns that they said nothing of.
    pub fn meanings(&self) -> &Meanings {
        &self.meanings
    }

    /// The fewest bytes a record takes.
    pub fn min_record_len(&self) -> u64 {
        self.min_record_len
    }

    /// Whether [`execute_with`](Self::execute_with) has the processor load data
    /// before it is needed, past the end of `data` if the records are its last.
    ///
    /// A plan that skips most of the data is faster than the prefetching of the
    /// processor itself. A plan that reads all of the data is not.
    #[doc(hidden)]
    pub fn asks_ahead(&self) -> bool {
        self.asks_ahead
    }

    /// Reads `records` records from `data`, the first starting at `position`,
    /// into the next rows of `slots`.
    ///
    /// What no feature asks for is skipped and not checked: only its lengths,
    /// counts and union branches are read.
    ///
    /// # Errors
    /// Data that is not such records, or does not fit the features; the error
    /// has the offset in `data`, the number of the record counted from this
    /// call's first, and the field. The rows of a failed call are unspecified.
    ///
    /// # Panics
    /// If `slots` are not of the plan's [`BatchSpec`] or have fewer rows left.
    pub fn execute(
        &self,
        data: &[u8],
        position: usize,
        records: usize,
        slots: &mut RowSlots<'_>,
    ) -> Result<Executed, DecodeError> {
        self.execute_with(&mut Scratch::new(), data, position, records, slots)
    }

    /// [`execute`](Self::execute) in the memory of an earlier call.
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

    /// Texts that this thread has replaced so far, if the plan replaces any.
    #[inline]
    fn replaced_texts(&self) -> u64 {
        if self.replaces_utf8 {
            replaced_texts()
        } else {
            0
        }
    }

    /// Reads records that stand each for itself, such as the messages of a
    /// queue, into the next rows of `slots`: [`execute`](Self::execute) for each,
    /// without its preparations.
    ///
    /// # Errors
    /// As for [`execute`](Self::execute), offsets counting from the start of the
    /// record; and bytes that are left behind a record.
    ///
    /// # Panics
    /// If `slots` are not of the plan's [`BatchSpec`] or have fewer rows left.
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
