//! Segments: rows of columns whose place in the batch is not known when they are written.

use crate::batch::ColumnData;
use crate::parts::{Memory, SegmentSizes};
use crate::{Buffer, ColumnKind, ColumnSpec, DType, Layout, Values};

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
    /// The memory that the run writes to, and the start and end of its rows there.
    pub(crate) memory: Memory,
    pub(crate) start: SegmentSizes,
    pub(crate) end: SegmentSizes,
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
        Self::of(spec.dtype, levels, spec.rank())
    }

    /// An empty segment for the same column.
    pub(crate) fn new_alike(&self) -> Self {
        Self::of(self.values.dtype(), self.splits.len(), self.extents.len())
    }

    fn of(dtype: DType, levels: usize, rank: usize) -> Self {
        let mut segment = Segment {
            values: Values::new(dtype),
            indices: Buffer::new(),
            splits: (0..levels).map(|_| Buffer::new()).collect(),
            extents: vec![0; rank],
            rows: 0,
            memory: Memory::Run,
            start: SegmentSizes::default(),
            end: SegmentSizes::default(),
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
        self.mark_start();
    }

    pub(crate) fn mark_start(&mut self) {
        let mut mark = std::mem::take(&mut self.start);
        mark.set(self);
        self.start = mark;
    }

    pub(crate) fn mark_end(&mut self) {
        let mut mark = std::mem::take(&mut self.end);
        mark.set(self);
        self.end = mark;
    }

    /// Swaps the contents with another segment of the column.
    pub(crate) fn swap_memory(&mut self, other: &mut Segment) {
        std::mem::swap(&mut self.values, &mut other.values);
        std::mem::swap(&mut self.indices, &mut other.indices);
        std::mem::swap(&mut self.splits, &mut other.splits);
        std::mem::swap(&mut self.extents, &mut other.extents);
    }

    /// Swaps the memory with a column.
    pub(crate) fn swap_with(&mut self, column: &mut ColumnData) {
        std::mem::swap(&mut self.values, &mut column.values);
        std::mem::swap(&mut self.indices, &mut column.indices);
        std::mem::swap(&mut self.splits, &mut column.splits);
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
