//! The program of a plan: operations on the bytes of a record.
//!
//! A program is a list of operations that together read one value, front to back. A record inside a
//! record has no operation of its own: its fields' operations are in the same list. Arrays, maps
//! and unions contain programs.

use std::sync::Arc;

use super::fast_skip::FastSkip;
use super::filter::{Filter, Operand};
use super::item_slice::ItemSlice;
use super::leaf::Nullable;
use super::output::Length;
use super::row::Row;
use super::skip::Skip;
use super::sparse::SparseRecord;
use crate::DecodeErrorKind;
use crate::convert::Rescale;
use crate::convert::Source;

/// Operations that run one after another.
pub(crate) type Program = Box<[Operation]>;

/// An operation of a program.
#[derive(Clone, Debug)]
pub(crate) struct Operation {
    /// The name for errors: a feature's expression, or the path to a field. For a skip of several
    /// fields, that of the first.
    pub(crate) field: Box<str>,
    /// The union around the value, if it has one branch besides null.
    pub(crate) optional: Option<Optional>,
    pub(crate) action: Action,
}

/// A union with one branch besides null, around the value of an operation. The common case, not
/// null, only reads the branch number first.
#[derive(Clone, Debug)]
pub(crate) struct Optional {
    pub(crate) nullable: Nullable,
    /// The program for a null.
    pub(crate) null: Program,
}

#[derive(Clone, Debug)]
pub(crate) enum Action {
    /// Skips values.
    Skip {
        /// All values, in as few steps as their sizes allow.
        all: Skip,
        /// The same values, if they are in the usual layout.
        fast: Box<[FastSkip]>,
        /// Each value with its name, to name the value that an error is in.
        each: Vec<(Box<str>, Skip)>,
    },
    /// Reads the number of a union's branch; any branch but one is null, which is an error.
    ExpectValue(Nullable),
    /// Reads the number of a union's branch and runs that branch's program.
    Union(Box<[Program]>),
    /// Reads one value for a feature.
    Value(Read),
    /// Reads an array of values, the innermost dimension of a feature.
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
    /// Handles a missing value of a feature.
    Missing(Missing),
    /// Marks a feature as present in its row mask: its first list or value is reached.
    Present(usize),
    /// Reads a value that a filter needs.
    Capture(Operand),
    /// Returns this error: the data cannot be read as requested.
    Fail(DecodeErrorKind),
    /// Runs a program, then returns to its start, for a value that is read more than once.
    Peek(Program),
    /// Runs a program on other bytes: a default of the reader's schema.
    Default(Box<Default>),
}

/// How to read one value for a feature.
#[derive(Clone, Debug)]
pub(crate) struct Read {
    /// The feature.
    pub(crate) output: usize,
    /// The union around the value, with null its only other branch.
    pub(crate) nullable: Option<Nullable>,
    /// How the value is read.
    pub(crate) source: Source,
    /// The registers with the indices of the lists around the value.
    pub(crate) registers: Box<[usize]>,
}

/// An array whose items are values of one feature.
#[derive(Clone, Debug)]
pub(crate) struct Items {
    /// Minimum number of bytes per item.
    pub(crate) min_item: usize,
    /// The allowed number of items.
    pub(crate) length: Length,
    /// The items to read; `None` for all of them.
    pub(crate) slice: Option<Box<ItemSlice>>,
    /// How the data gives the number of items.
    pub(crate) coding: Coding,
}

/// How the data gives the number of items of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Coding {
    /// As an array: blocks with a count each.
    Blocks,
    /// As `bytes`: their number comes first.
    Delimited,
    /// As a `fixed` of this size.
    Fixed(usize),
}

/// A loop over the items of an array or a map.
#[derive(Clone, Debug)]
pub(crate) struct Each {
    /// Whether it is a map, whose items have a key first.
    pub(crate) is_map: bool,
    /// Minimum number of bytes per item, with its key.
    pub(crate) min_item: usize,
    /// The filter that selects items.
    pub(crate) filter: Option<Filter>,
    /// The selected items to read; `None` for all of them.
    pub(crate) slice: Option<Box<ItemSlice>>,
    /// The register for the item's index while its program runs.
    pub(crate) register: usize,
    /// The program that reads an item.
    pub(crate) item: Program,
    /// The features that have a dimension here.
    pub(crate) lists: Box<[List]>,
}

/// A dimension of a feature. The length of its list is known when the list ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct List {
    pub(crate) output: usize,
    /// The dimension, from 0.
    pub(crate) depth: usize,
    pub(crate) length: Length,
    /// Number of a dense row's values in one item.
    pub(crate) stride: usize,
}

/// One item of an array or one entry of a map.
#[derive(Clone, Debug)]
pub(crate) struct Pick {
    pub(crate) which: Which,
    /// Minimum number of bytes per item, with its key.
    pub(crate) min_item: usize,
    /// The program that reads the item.
    pub(crate) item: Program,
    /// Skips any other item.
    pub(crate) other: Skip,
    /// The program for an array or a map without such an item.
    pub(crate) absent: Program,
}

/// The item that a [`Pick`] reads.
#[derive(Clone, Debug)]
pub(crate) enum Which {
    /// The item with this index.
    Index(u64),
    /// The first entry with this key.
    Key(Box<str>),
}

/// A field that only the reader's schema has.
#[derive(Clone, Debug)]
pub(crate) struct Default {
    /// The field's default, encoded by the reader's schema.
    pub(crate) encoded: Arc<[u8]>,
    /// Number of values in the default, and bytes of their strings.
    pub(crate) parts: usize,
    /// The program that reads the default.
    pub(crate) value: Program,
}

/// How to read an index of a sparse entry.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IndexRead {
    /// The feature.
    pub(crate) output: usize,
    /// The index key's number among the feature's index keys.
    pub(crate) key: usize,
    /// Whether the index is an `int`; otherwise it is a `long`.
    pub(crate) is_int: bool,
    /// Set for times whose unit differs from that of earlier schemas.
    pub(crate) rescale: Option<Rescale>,
}

/// The end of an entry of a sparse feature.
#[derive(Clone, Debug)]
pub(crate) struct EndEntry {
    pub(crate) output: usize,
    /// The registers with the indices of the lists around the entry.
    pub(crate) registers: Box<[usize]>,
}

/// A missing value or list of a feature.
#[derive(Clone, Debug)]
pub(crate) struct Missing {
    pub(crate) output: usize,
    pub(crate) at: MissingAt,
    /// Whether the whole row is missing.
    pub(crate) is_row: bool,
    /// The registers with the indices of the lists around it.
    pub(crate) registers: Box<[usize]>,
    /// The error for a feature without a default or a mask.
    pub(crate) why: DecodeErrorKind,
}

/// The kind of thing that is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MissingAt {
    /// A value.
    Value,
    /// The list of a dimension, from 0; for a sparse feature, entries.
    List(usize),
}
