//! Slots: the memory to which a worker writes a run of consecutive rows.

use std::ops::Range;

use bytemuck::cast_slice;

use crate::dtype::fixed_width_dtypes;
use crate::gather::carve;
use crate::{Element, Segment, Values};

/// The memory of consecutive rows (a run) in every column of a batch.
///
/// Slots of one batch never overlap, so several threads may fill slots at the same time. Rows are
/// written in order; [`RowSlots::advance`] ends each row.
#[derive(Debug)]
pub struct RowSlots<'a> {
    first_row: usize,
    rows: usize,
    filled: usize,
    batch_bytes: usize,
    counted_bytes: usize,
    /// The most bytes of the segments, and how many of them were left when this was last looked at.
    most_bytes: usize,
    room: usize,
    columns: Vec<Slot<'a>>,
}

impl<'a> RowSlots<'a> {
    /// Slots of `rows` rows, without columns yet, of a batch with `batch_bytes` of memory, of which
    /// `counted_bytes` are the caller's to count.
    pub(crate) fn new(
        (first_row, rows): (usize, usize),
        batch_bytes: usize,
        counted_bytes: usize,
    ) -> Self {
        RowSlots {
            first_row,
            rows,
            filled: 0,
            batch_bytes,
            counted_bytes,
            most_bytes: usize::MAX,
            room: usize::MAX,
            columns: Vec::new(),
        }
    }

    /// Adds the next column's slot.
    pub(crate) fn push(&mut self, slot: Slot<'a>) {
        self.columns.push(slot);
    }

    /// The row of the batch at which these slots start.
    pub fn first_row(&self) -> usize {
        self.first_row
    }

    /// Size in bytes of the batch's memory before its first row. Except for the first batches of a
    /// builder, this is about the final size.
    #[doc(hidden)]
    pub fn batch_bytes(&self) -> usize {
        self.batch_bytes
    }

    /// Bytes of the batch's memory that its builder's [keeper](crate::KeepMemory) has counted until now.
    /// They are not released: whoever makes the batch counts them from now on.
    pub fn counted_bytes(&self) -> usize {
        self.counted_bytes
    }

    /// Number of rows that are not written yet.
    pub fn remaining(&self) -> usize {
        self.rows - self.filled
    }

    /// The current row, counted from the start of these slots.
    #[inline]
    pub fn row(&self) -> usize {
        self.filled
    }

    /// The current row, counted from the start of the batch.
    #[inline]
    pub fn batch_row(&self) -> usize {
        self.first_row + self.filled
    }

    /// Ends the current row.
    #[inline]
    pub fn advance(&mut self) {
        debug_assert!(self.filled < self.rows);
        self.filled += 1;
    }

    /// Number of bytes written so far to segments.
    #[doc(hidden)]
    pub fn segment_bytes(&self) -> usize {
        let segments = self.columns.iter().map(|slot| match slot {
            Slot::Segment(segment) => segment.used_bytes(),
            _ => 0,
        });
        segments.sum()
    }

    /// Bytes of those segments that have more memory than the batch began with.
    pub fn grown_bytes(&self) -> usize {
        let segments = self.columns.iter().map(|slot| match slot {
            Slot::Segment(segment) if segment.has_grown() => segment.used_bytes(),
            _ => 0,
        });
        segments.sum()
    }

    /// Says that segments may take `bytes` bytes more. Whoever writes rows looks at
    /// [`room`](Self::room) before it writes an array of many values or a long string, and calls
    /// [`update_room`](Self::update_room) now and then. Without this call there is no limit.
    pub fn set_room(&mut self, bytes: usize) {
        self.room = bytes;
        self.most_bytes = self.segment_bytes().saturating_add(bytes);
    }

    /// Bytes that segments might take more when [`set_room`](Self::set_room) or
    /// [`update_room`](Self::update_room) was called.
    #[inline]
    pub fn room(&self) -> usize {
        self.room
    }

    /// Finds how much [`room`](Self::room) is left if `pending` bytes of what was read are still to be
    /// written. Whether the segments take no more than they may.
    pub fn update_room(&mut self, pending: usize) -> bool {
        let used = self.segment_bytes().saturating_add(pending);
        self.room = self.most_bytes.saturating_sub(used);
        used <= self.most_bytes
    }

    /// Takes the slot of column `at` out, for values that another than the decoder knows. The columns after
    /// it move up, so that a decoder of the other columns finds its own.
    ///
    /// # Panics
    /// If there is no such column.
    pub fn take_column(&mut self, at: usize) -> Slot<'a> {
        self.columns.remove(at)
    }

    /// The slot of each column, in the order of the batch's columns.
    #[inline]
    pub fn columns(&mut self) -> &mut [Slot<'a>] {
        &mut self.columns
    }
}

macro_rules! slot {
    ($($variant:ident: $element:ty, $raw:ty, $class:ident, $name:literal, $about:literal;)*) => {
        /// The memory for the rows of one column.
        #[derive(Debug)]
        #[non_exhaustive]
        pub enum Slot<'a> {
            $(
                #[doc = concat!("The final memory of dense ", $name, " rows, `[rows, row_len]` flat.")]
                $variant(&'a mut [$raw]),
            )*
            /// A segment, which is gathered later.
            Segment(&'a mut Segment),
        }

        impl<'a> Slot<'a> {
            /// The bytes of `elements` in a dense column of fixed width; empty for other columns.
            ///
            /// # Panics
            /// If `elements` is out of range.
            #[inline]
            #[doc(hidden)]
            pub fn bytes_of(&self, elements: Range<usize>) -> &[u8] {
                match self {
                    $(Slot::$variant(rows) => cast_slice(&rows[elements]),)*
                    Slot::Segment(_) => &[],
                }
            }

            /// Size of a dense column's memory in bytes; 0 for other columns.
            pub(crate) fn bytes(&self) -> usize {
                match self {
                    $(Slot::$variant(rows) => size_of_val(*rows),)*
                    Slot::Segment(_) => 0,
                }
            }

            /// Splits `values` into consecutive runs of `lens` values, and calls `give` with the
            /// number and slot of each.
            pub(crate) fn split(
                values: &'a mut Values,
                lens: impl Iterator<Item = usize>,
                mut give: impl FnMut(usize, Self),
            ) {
                match values {
                    $(Values::$variant(buffer) => {
                        let mut rest = buffer.as_mut_slice();
                        for (run, len) in lens.enumerate() {
                            give(run, Slot::$variant(carve(&mut rest, len)));
                        }
                    })*
                    Values::String(_) => {}
                }
            }
        }

        $(impl DenseElement for $element {
            #[inline]
            fn rows<'s>(slot: &'s mut Slot<'_>) -> Option<&'s mut [Self::Raw]> {
                match slot { Slot::$variant(rows) => Some(rows), _ => None }
            }
        })*
    };
}
fixed_width_dtypes!(slot);

impl<'a> Slot<'a> {
    /// The segment; `None` for a dense column of fixed width.
    #[inline]
    pub fn segment(&mut self) -> Option<&mut Segment> {
        match self {
            Slot::Segment(segment) => Some(segment),
            _ => None,
        }
    }

    /// The final memory of a dense column of dtype `T`.
    #[inline]
    pub fn dense<T: DenseElement>(&mut self) -> Option<&mut [T::Raw]> {
        T::rows(self)
    }
}

/// An [`Element`] that dense columns hold in place.
pub trait DenseElement: Element {
    /// The memory of `slot` if it is of this dtype.
    fn rows<'s>(slot: &'s mut Slot<'_>) -> Option<&'s mut [Self::Raw]>;
}
