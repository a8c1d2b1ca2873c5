//! What is written of a column whose rows have no place of their own beforehand.

use crate::batch::ColumnData;
use crate::parts::{Mark, Memory};
use crate::{Buffer, ColumnKind, ColumnSpec, DType, Layout, Values};

/// Consecutive rows of a column whose place depends on other rows: dense
/// strings, sparse, varlen, padded, flat.
#[derive(Debug)]
pub struct Segment {
    /// The values, end to end.
    pub values: Values,
    /// COO: `[nnz, rank + 1]` flat, the row of the batch first. Ragged sparse:
    /// `[nnz, rank]` flat. Else empty.
    pub indices: Buffer<i64>,
    /// Ragged and padded: per level, outermost first, 0 and then the end of each
    /// list, counted in elements of the next level from the start of this
    /// segment.
    pub splits: Vec<Buffer<i64>>,
    /// COO: per dimension the largest index of a value + 1. Padded: per level
    /// the largest length of a list, empty or not. Needed where the shape is
    /// [`UNKNOWN`](crate::UNKNOWN).
    pub extents: Vec<i64>,
    /// Rows of the runs whose slots this is.
    pub(crate) rows: usize,
    /// Whose memory the run of this segment writes in, and where its rows start and
    /// end there.
    pub(crate) memory: Memory,
    pub(crate) start: Mark,
    pub(crate) end: Mark,
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

    /// An empty one for the same column.
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
            start: Mark::default(),
            end: Mark::default(),
        };
        segment.start(0);
        segment
    }

    /// Empties it, for `rows` rows.
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

    /// Swaps what is written with another segment of the column.
    pub(crate) fn swap_memory(&mut self, other: &mut Segment) {
        std::mem::swap(&mut self.values, &mut other.values);
        std::mem::swap(&mut self.indices, &mut other.indices);
        std::mem::swap(&mut self.splits, &mut other.splits);
        std::mem::swap(&mut self.extents, &mut other.extents);
    }

    /// Swaps memory with a column that is gathered.
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
