//! What becomes of the values of a feature.

use tensor_batch::{Layout, Values};

use super::OutOfBounds;

/// A feature as the executor sees it: its columns and their form.
#[derive(Clone, Debug)]
pub(crate) struct Output {
    /// The column of the values.
    pub(crate) column: usize,
    /// The column of the mask.
    pub(crate) mask: Option<usize>,
    /// The column of the row mask.
    pub(crate) row_mask: Option<usize>,
    pub(crate) layout: OutputLayout,
    /// What stands for a missing value: one value, or one for each place of a
    /// row; `None` if that is an error.
    pub(crate) fill: Option<Values>,
}

/// Where values and their places go.
#[derive(Clone, Debug)]
pub(crate) enum OutputLayout {
    /// Values in row-major order.
    Dense {
        /// For each dimension, and then for a value, how many values it has.
        strides: Box<[usize]>,
    },
    /// Values with coordinates.
    Coo {
        /// Whether an extent is the largest index of a value + 1, else the
        /// largest length.
        by_values: bool,
    },
    /// Values and the ends of their lists.
    Ragged,
    /// Entries of a sparse feature: their indices are written at the row's end.
    Entries(Entries),
    /// ATDS's sparse record: its own operation writes it.
    Record,
}

/// The entries of a sparse feature with keys.
#[derive(Clone, Debug)]
pub(crate) struct Entries {
    /// Where the state of the row being read stands.
    pub(crate) state: usize,
    /// Indices before those of the keys: lists around the entry.
    pub(crate) lists: usize,
    /// The size of the dimension of each index key.
    pub(crate) shape: Box<[i64]>,
    /// Which keys are read relative to the entry: the index keys, then the
    /// value.
    pub(crate) relative: Box<[bool]>,
    pub(crate) sort: bool,
    pub(crate) layout: Layout,
    pub(crate) out_of_bounds: OutOfBounds,
}

/// How long a list may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Length {
    /// Any length.
    Any,
    /// This length.
    Exactly(usize),
    /// At most this length; what is missing is filled.
    AtMost(usize),
}

impl Length {
    /// The most items.
    #[inline]
    pub(crate) fn most(self) -> usize {
        match self {
            Length::Any => usize::MAX,
            Length::Exactly(n) | Length::AtMost(n) => n,
        }
    }
}
