//! Segments: rows of columns whose place in the batch is not known when they are written.

use crate::batch::ColumnData;
use crate::{Buffer, ColumnKind, ColumnSpec, Layout, Strings, Values};

/// Consecutive rows of a column whose place depends on other rows: dense strings, sparse, varlen,
/// padded and flat columns.
#[derive(Debug)]
pub struct Segment {
    /// The values, end to end.
    pub values: Values,
    /// COO: `[nnz, rank + 1]` flat, the row of the batch first. Ragged sparse:
    /// `[nnz, rank]` flat. Else empty.
    pub indices: Buffer<i64>,
    /// Ragged and padded: for each level, outermost first, a 0 and then the end of each list. Ends
    /// are counted in items of the next level, from the start of this segment.
    pub splits: Vec<Buffer<i64>>,
    /// COO: for each dimension the largest index + 1. Padded: for each level the largest length of
    /// a list. Used for dimensions that are [`UNKNOWN`](crate::UNKNOWN).
    pub extents: Vec<i64>,
    /// Number of rows in the run.
    pub(crate) rows: usize,
    /// Whether the memory is that of the batch's column, which begins with this run.
    pub(crate) is_column: bool,
    /// Size of the memory when the run began.
    first_bytes: usize,
}

impl Segment {
    pub(crate) fn new(spec: &ColumnSpec) -> Self {
        let levels = match spec.kind {
            ColumnKind::Sparse {
                layout: Layout::Ragged,
                ..
            } => 1,
            ColumnKind::Varlen {
                layout: Layout::Ragged,
                ..
            }
            | ColumnKind::Padded { .. } => spec.rank(),
            _ => 0,
        };
        let mut segment = Segment {
            values: Values::new(spec.dtype),
            indices: Buffer::new(),
            splits: (0..levels).map(|_| Buffer::new()).collect(),
            extents: vec![0; spec.rank()],
            rows: 0,
            is_column: false,
            first_bytes: 0,
        };
        segment.start(0);
        segment
    }

    /// Clears the segment for a run of `rows` rows.
    pub(crate) fn start(&mut self, rows: usize) {
        self.rows = rows;
        self.values.clear();
        self.indices.clear();
        for splits in &mut self.splits {
            splits.clear();
            splits.push(0);
        }
        self.extents.fill(0);
        self.first_bytes = self.capacity_bytes();
    }

    pub(crate) fn has_grown(&self) -> bool {
        self.capacity_bytes() > self.first_bytes
    }

    /// Swaps the memory with a column.
    pub(crate) fn swap_with(&mut self, column: &mut ColumnData) {
        std::mem::swap(&mut self.values, &mut column.values);
        std::mem::swap(&mut self.indices, &mut column.indices);
        std::mem::swap(&mut self.splits, &mut column.splits);
    }

    /// The offsets of the strings, beginning with a 0; none for another dtype.
    pub(crate) fn offsets(&self) -> &[i64] {
        self.values.as_strings().map_or(&[], Strings::offsets)
    }

    /// The bytes of the strings; none for another dtype.
    pub(crate) fn bytes(&self) -> &[u8] {
        self.values.as_strings().map_or(&[], Strings::data)
    }

    pub(crate) fn used_bytes(&self) -> usize {
        let splits: usize = self.splits.iter().map(Buffer::len).sum();
        self.values.used_bytes() + (self.indices.len() + splits) * size_of::<i64>()
    }

    pub(crate) fn capacity_bytes(&self) -> usize {
        let splits: usize = self.splits.iter().map(Buffer::capacity_bytes).sum();
        self.values.capacity_bytes() + self.indices.capacity_bytes() + splits
    }
}
