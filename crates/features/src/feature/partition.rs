//! How the values of a key are divided into lists of lists.

use std::fmt;

use crate::words::Shown;

/// Divides the values of a row, or the lists of the next partition, into lists: a partition of
/// TensorFlow's `RaggedFeature`. The lists of numbers are int64 and in the same record.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Partition {
    /// A 0, and then the end of each list.
    RowSplits(String),
    /// The length of each list.
    RowLengths(String),
    /// The start of each list, the first of which is 0.
    RowStarts(String),
    /// The end of each list.
    RowLimits(String),
    /// For each item the number of its list, in rising order. Numbers that are left out are empty
    /// lists.
    ValueRowIds(String),
    /// The length of all lists, above 0.
    UniformRowLength(u64),
}

impl Partition {
    /// The names of partitions that have a key, with what makes one.
    #[expect(clippy::type_complexity, reason = "a table with functions")]
    pub const WITH_KEY: [(&'static str, fn(String) -> Partition); 5] = [
        ("row_splits", Partition::RowSplits),
        ("row_lengths", Partition::RowLengths),
        ("row_starts", Partition::RowStarts),
        ("row_limits", Partition::RowLimits),
        ("value_rowids", Partition::ValueRowIds),
    ];

    /// The name: `row_splits`, `row_lengths`, `row_starts`, `row_limits`, `value_rowids` or
    /// `uniform_row_length`.
    pub fn name(&self) -> &'static str {
        match self {
            Partition::RowSplits(_) => "row_splits",
            Partition::RowLengths(_) => "row_lengths",
            Partition::RowStarts(_) => "row_starts",
            Partition::RowLimits(_) => "row_limits",
            Partition::ValueRowIds(_) => "value_rowids",
            Partition::UniformRowLength(_) => "uniform_row_length",
        }
    }

    /// The key of its list of numbers; `None` if all lists have one length.
    pub fn key(&self) -> Option<&str> {
        match self {
            Partition::RowSplits(key)
            | Partition::RowLengths(key)
            | Partition::RowStarts(key)
            | Partition::RowLimits(key)
            | Partition::ValueRowIds(key) => Some(key),
            Partition::UniformRowLength(_) => None,
        }
    }
}

impl fmt::Display for Partition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Partition::UniformRowLength(length) => write!(f, "{} {length}", self.name()),
            keyed => write!(
                f,
                "{} '{}'",
                self.name(),
                Shown(keyed.key().unwrap_or_default())
            ),
        }
    }
}
