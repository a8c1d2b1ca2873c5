//! What a plan is made of: operations on the bytes of a record.
//!
//! A program is a list of operations that together read one value, front to
//! back. Records inside records need no operation of their own: their fields
//! stand in line. Arrays, maps and unions have programs inside them.

use std::sync::Arc;

use super::fast_skip::FastSkip;
use super::filter::{Filter, Operand};
use super::leaf::Nullable;
use super::output::Length;
use super::part::Part;
use super::row::Row;
use super::skip::Skip;
use super::sparse::SparseRecord;
use crate::DecodeErrorKind;
use crate::convert::Rescale;
use crate::convert::Source;

/// Operations, one after another.
pub(crate) type Program = Box<[Operation]>;

/// A step of a program.
#[derive(Clone, Debug)]
pub(crate) struct Operation {
    /// What it reads, for errors: a feature's expression, or the way to a field;
    /// of several skipped the first.
    pub(crate) field: Box<str>,
    /// The union around what it reads.
    pub(crate) optional: Option<Optional>,
    pub(crate) action: Action,
}

/// A union with one branch besides null, around what an operation reads: most
/// values are not null, and nothing stands between them and their operation but
/// the number of the branch.
#[derive(Clone, Debug)]
pub(crate) struct Optional {
    pub(crate) nullable: Nullable,
    /// What happens for a null.
    pub(crate) null: Program,
}

#[derive(Clone, Debug)]
pub(crate) enum Action {
    /// Skips values.
    Skip {
        /// All of them, in as few operations as their sizes allow.
        all: Skip,
        /// The same, for values that are laid out in the usual way.
        fast: Box<[FastSkip]>,
        /// Each with its name, to tell which one an error is in.
        each: Vec<(Box<str>, Skip)>,
    },
    /// Reads the number of a union's branch; any but one is a null, and an
    /// error.
    ExpectValue(Nullable),
    /// Reads the number of a union's branch and runs that branch's program.
    Union(Box<[Program]>),
    /// Reads one value for a feature.
    Value(Read),
    /// Reads an array of values for a feature: its innermost dimension.
    Array(Items, Read),
    /// Reads neighbouring values of a dense row.
    Row(Box<Row>),
    /// Runs a program for the items of an array or the entries of a map.
    Each(Box<Each>),
    /// Runs a program for one item of an array or one entry of a map.
    Pick(Box<Pick>),
    /// Reads ATDS's sparse record for a feature.
    SparseRecord(SparseRecord),
    /// Reads one index for a sparse feature with keys.
    Index(IndexRead),
    /// Ends an entry of a sparse feature with keys.
    EndEntry(EndEntry),
    /// Ends a row of a sparse feature with keys.
    EndRow(usize),
    /// A feature has no value here.
    Missing(Missing),
    /// A feature's first list, or its value, is there: for its row mask.
    Present(usize),
    /// Reads a value that a filter needs.
    Capture(Operand),
    /// Data that cannot become what is asked for.
    Fail(DecodeErrorKind),
    /// Runs a program, then goes back to where it started: for a value that is
    /// read more than once.
    Peek(Program),
    /// Runs a program on other bytes: on a default of the reader's schema.
    Default(Box<Default>),
}

/// How one value is read for a feature.
#[derive(Clone, Debug)]
pub(crate) struct Read {
    /// The feature.
    pub(crate) output: usize,
    /// The union around the value, with null its only other branch.
    pub(crate) nullable: Option<Nullable>,
    /// How the value is read.
    pub(crate) source: Source,
    /// Where the indices of the lists around it stand.
    pub(crate) registers: Box<[usize]>,
}

/// An array whose items are values of one feature.
#[derive(Clone, Debug)]
pub(crate) struct Items {
    /// The fewest bytes of an item.
    pub(crate) min_item: usize,
    /// How many may be read.
    pub(crate) length: Length,
    /// Which items are read; all of them if there is none.
    pub(crate) part: Option<Box<Part>>,
    /// How the data says how many there are.
    pub(crate) coding: Coding,
}

/// How the data says how many items a list has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Coding {
    /// An array: blocks with a count each.
    Blocks,
    /// The bytes of `bytes`: their number before them.
    Delimited,
    /// The bytes of a `fixed` of this size.
    Fixed(usize),
}

/// A walk through an array or a map.
#[derive(Clone, Debug)]
pub(crate) struct Each {
    /// Whether each item has a key before it.
    pub(crate) is_map: bool,
    /// The fewest bytes of an item, with its key.
    pub(crate) min_item: usize,
    /// Which items count.
    pub(crate) filter: Option<Filter>,
    /// Which of the items that count are read; all of them if there is none.
    pub(crate) part: Option<Box<Part>>,
    /// Where the number of the item stands while its program runs.
    pub(crate) register: usize,
    /// What reads an item.
    pub(crate) item: Program,
    /// The features that have a dimension here.
    pub(crate) lists: Box<[List]>,
}

/// A dimension of a feature: how long its list is, is known at the end of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct List {
    pub(crate) output: usize,
    /// The dimension, counted from 0.
    pub(crate) depth: usize,
    pub(crate) length: Length,
    /// Values of a dense row in one item.
    pub(crate) stride: usize,
}

/// One item of an array or one entry of a map.
#[derive(Clone, Debug)]
pub(crate) struct Pick {
    pub(crate) which: Which,
    /// The fewest bytes of an item, with its key.
    pub(crate) min_item: usize,
    /// What reads the item.
    pub(crate) item: Program,
    /// What reads any other.
    pub(crate) other: Skip,
    /// What happens where there is no such item.
    pub(crate) absent: Program,
}

/// What a [`Pick`] picks.
#[derive(Clone, Debug)]
pub(crate) enum Which {
    /// The item at a place, counted from 0.
    Index(u64),
    /// The first entry of a key.
    Key(Box<str>),
}

/// A field that only the reader's schema has.
#[derive(Clone, Debug)]
pub(crate) struct Default {
    /// Its default, encoded by the reader's schema.
    pub(crate) encoded: Arc<[u8]>,
    /// Values in it, and bytes of their strings.
    pub(crate) parts: usize,
    /// What reads it.
    pub(crate) value: Program,
}

/// How an index of a sparse entry is read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IndexRead {
    /// The feature.
    pub(crate) output: usize,
    /// Which of its index keys.
    pub(crate) key: usize,
    /// Whether it is an `int`, else a `long`.
    pub(crate) is_int: bool,
    /// For times that are of another unit than those of other schemas.
    pub(crate) rescale: Option<Rescale>,
}

/// The end of an entry of a sparse feature.
#[derive(Clone, Debug)]
pub(crate) struct EndEntry {
    pub(crate) output: usize,
    /// Where the indices of the lists around the entry stand.
    pub(crate) registers: Box<[usize]>,
}

/// A place where a feature has no value, or no list.
#[derive(Clone, Debug)]
pub(crate) struct Missing {
    pub(crate) output: usize,
    pub(crate) at: MissingAt,
    /// Whether it is all of the row that is missing.
    pub(crate) is_row: bool,
    /// Where the indices of the lists around stand.
    pub(crate) registers: Box<[usize]>,
    /// The error, for a feature that has nothing for it.
    pub(crate) why: DecodeErrorKind,
}

/// What is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MissingAt {
    /// A value.
    Value,
    /// The list of a dimension, counted from 0; of a sparse feature, entries.
    List(usize),
}
