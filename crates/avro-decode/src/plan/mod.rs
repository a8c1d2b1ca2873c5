//! A decode plan, compiled once from a schema and the columns asked for, and
//! its executor.
//!
//! Avro records have no field offsets: a record is read front to back. The plan
//! is therefore a list of operations in the order of the schema's fields: a
//! field that was asked for is read by the operation of its kind (`dense`,
//! `sparse`, `varlen`) straight into the batch, and the fields between are
//! skipped, neighbours in one step where their sizes are known. Records inside
//! records need no operation of their own: their fields stand in line.

pub(crate) mod blocks;
mod compile;
pub(crate) mod cursor;
mod dense;
mod error;
mod infer;
mod items;
mod nested;
pub(crate) mod skip;
mod sparse;
mod varlen;

pub use error::{PlanError, PlanErrorKind};
pub use infer::{Inferred, LeftOut, infer};

use tensor_batch::{BatchSpec, RowSlots};

use crate::schema::describe;
use crate::{DecodeError, DecodeErrorKind, Schema};
use cursor::{Cursor, Fault};
use dense::Dense;
use nested::Nullable;
use skip::{Skip, SkipTable};
use sparse::Sparse;
use varlen::Varlen;

const SLOTS: &str = "the slots are of the plan's batch spec";
const STRINGS: &str = "the slots are of the plan's batch spec: strings";

/// What to do with a sparse entry that has an index outside its dimension.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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
}

/// A compiled plan: reads records of one schema into batches of one spec.
#[derive(Clone, Debug)]
pub struct Plan {
    spec: BatchSpec,
    operations: Box<[Operation]>,
    skips: SkipTable,
    min_record_len: u64,
}

/// What [`Plan::execute`] did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Executed {
    /// Where in the data the next record starts.
    pub position: usize,
    /// Sparse entries dropped for an index outside their dimension.
    pub dropped: u64,
}

#[derive(Clone, Debug)]
struct Operation {
    /// The field it reads or skips, dotted; of several skipped the first.
    field: Box<str>,
    action: Action,
}

#[derive(Clone, Debug)]
enum Action {
    /// Moves past fields.
    Skip {
        /// All of them, in as few steps as their sizes allow.
        all: Skip,
        /// Each with its name, to tell which one an error is in.
        each: Vec<(Box<str>, Skip)>,
    },
    /// Reads the union around a nested record.
    ExpectValue(Nullable),
    /// Runs operations, then goes back to where they started: for a field that
    /// is read twice, as a feature and for features inside it.
    Peek(Box<[Operation]>),
    Dense(usize, Dense),
    Sparse(usize, Sparse),
    Varlen(usize, Varlen),
}

impl Plan {
    /// Compiles the plan that reads the columns of `spec` from records of
    /// `schema`. Columns are found by name; dots lead into nested records.
    ///
    /// # Errors
    /// The schema is not a record; a column is not in it; or does not fit it in
    /// kind, rank or dtype. No dtype is ever changed on the way: int is int32,
    /// long int64, float float32, double float64, boolean bool, string and
    /// bytes string.
    pub fn compile(
        schema: &Schema,
        spec: &BatchSpec,
        options: &PlanOptions,
    ) -> Result<Plan, PlanError> {
        compile::compile(schema, spec, options)
    }

    /// The columns the plan fills.
    pub fn spec(&self) -> &BatchSpec {
        &self.spec
    }

    /// The fewest bytes a record takes.
    pub fn min_record_len(&self) -> u64 {
        self.min_record_len
    }

    /// Reads `records` records from `data`, the first starting at `position`,
    /// into the next rows of `slots`.
    ///
    /// Fields that are not among the columns are skipped and not checked: only
    /// their lengths, counts and union branches are read.
    ///
    /// # Errors
    /// Data that is not such records; the error has the offset in `data`, the
    /// number of the record counted from this call's first, and the field. The
    /// rows of a failed call are unspecified.
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
        assert!(records <= slots.remaining(), "more records than rows");
        let mut cursor = Cursor::new(data, position.min(data.len()));
        let mut dropped = 0;
        for record in 0..records {
            for operation in &self.operations {
                let start = cursor;
                match self.run(&operation.action, &mut cursor, slots) {
                    Ok(n) => dropped += n as u64,
                    Err(fault) => {
                        let error = self.locate(*fault, start, &cursor, operation);
                        return Err(error.in_record(record as u64));
                    }
                }
            }
            slots.advance();
        }
        Ok(Executed {
            position: cursor.position(),
            dropped,
        })
    }

    #[inline]
    fn run(
        &self,
        action: &Action,
        cursor: &mut Cursor<'_>,
        slots: &mut RowSlots<'_>,
    ) -> Result<usize, Fault> {
        let (row, batch_row) = (slots.row(), slots.batch_row());
        match action {
            Action::Skip { all, .. } => self.skips.run(all, cursor)?,
            Action::ExpectValue(nullable) => nullable.expect_value(cursor)?,
            Action::Peek(operations) => {
                let mut ahead = *cursor;
                let mut dropped = 0;
                for operation in operations {
                    match self.run(&operation.action, &mut ahead, slots) {
                        Ok(n) => dropped += n,
                        Err(fault) => {
                            *cursor = ahead;
                            return Err(fault);
                        }
                    }
                }
                return Ok(dropped);
            }
            Action::Dense(column, dense) => {
                dense.read(cursor, &mut slots.columns()[*column], row)?;
            }
            Action::Varlen(column, varlen) => {
                varlen.read(cursor, &mut slots.columns()[*column], batch_row)?;
            }
            Action::Sparse(column, sparse) => {
                return sparse.read(cursor, &mut slots.columns()[*column], batch_row);
            }
        }
        Ok(0)
    }

    /// The error of an operation that began at `start` and failed at `end`.
    #[cold]
    fn locate(
        &self,
        kind: DecodeErrorKind,
        start: Cursor<'_>,
        end: &Cursor<'_>,
        operation: &Operation,
    ) -> DecodeError {
        if let Action::Skip { each, .. } = &operation.action {
            let mut cursor = start;
            for (field, skip) in each {
                if let Err(fault) = self.skips.run(skip, &mut cursor) {
                    return DecodeError::new(*fault, cursor.position()).in_field(field);
                }
            }
        }
        DecodeError::new(kind, end.position()).in_field(&operation.field)
    }
}
