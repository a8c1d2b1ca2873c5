//! The columns and layout of a feature's values.

use tensor_batch::{Layout, Values};

use super::OutOfBounds;

/// A feature as the executor sees it: its columns and their layout.
#[derive(Clone, Debug)]
pub(crate) struct Output {
    /// The column of the values.
    pub(crate) column: usize,
    /// The column of the mask.
    pub(crate) mask: Option<usize>,
    /// The column of the row mask.
    pub(crate) row_mask: Option<usize>,
    pub(crate) layout: OutputLayout,
    /// The replacement for a missing value: one value, or one for each element of a row. `None` if
    /// a missing value is an error.
    pub(crate) fill: Option<Values>,
}

/// How values and their indices are written.
#[derive(Clone, Debug)]
pub(crate) enum OutputLayout {
    /// Values in row-major order.
    Dense {
        /// For each dimension, and then for a value, the number of values in it.
        strides: Box<[usize]>,
    },
    /// Values with coordinates.
    Coo {
        /// Whether an extent is the largest index of a value + 1; otherwise it is the largest
        /// length.
        by_values: bool,
    },
    /// Values and the row splits of their lists.
    Ragged,
    /// Entries of a sparse feature, whose indices are written when the row ends.
    Entries(Entries),
    /// ATDS's sparse record, which its own operation writes.
    Record,
}

/// The entries of a sparse feature with keys.
#[derive(Clone, Debug)]
pub(crate) struct Entries {
    /// Index of the state of the current row.
    pub(crate) state: usize,
    /// Number of indices before those of the keys: one for each list around the entry.
    pub(crate) lists: usize,
    /// The size of the dimension of each index key.
    pub(crate) shape: Box<[i64]>,
    /// Whether each key is read relative to the entry: the index keys, then the value.
    pub(crate) relative: Box<[bool]>,
    pub(crate) sort: bool,
    pub(crate) layout: Layout,
    pub(crate) out_of_bounds: OutOfBounds,
}

/// The allowed length of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Length {
    /// Any length.
    Any,
    /// This length.
    Exactly(usize),
    /// At most this length; missing values are filled.
    AtMost(usize),
}

impl Length {
    /// Maximum number of items.
    #[inline]
    pub(crate) fn most(self) -> usize {
        match self {
            Length::Any => usize::MAX,
            Length::Exactly(n) | Length::AtMost(n) => n,
        }
    }
}
