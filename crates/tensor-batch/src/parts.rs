//! Segments of workers, and the parts of segments that belong to a run.

use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::Segment;

/// The segments that workers write to. A worker has one segment per column, for all runs that it
/// [begins](crate::RowSlots::begin), in order.
///
/// With a segment for each run, every segment would grow to the longest run, and there are many
/// more runs than workers.
#[derive(Debug, Default)]
pub(crate) struct Workers(Mutex<Vec<Vec<Option<Segment>>>>);

impl Workers {
    /// Empties all segments.
    pub(crate) fn start(&mut self) {
        let all = self.all_mut().iter_mut().flatten().flatten();
        all.for_each(|segment| segment.start(0));
    }

    pub(crate) fn capacity_bytes(&self) -> usize {
        let all = self.lock();
        let segments = all.iter().flatten().flatten();
        segments.map(Segment::capacity_bytes).sum()
    }

    /// Swaps the memory of `runs` with the segments of `worker`. `runs` has the segments of a run
    /// with the indices of their columns.
    pub(crate) fn swap<'s>(
        &self,
        worker: usize,
        runs: impl Iterator<Item = (usize, &'s mut Segment)>,
    ) {
        let mut all = self.lock();
        if all.len() <= worker {
            all.resize_with(worker + 1, Vec::new);
        }
        let columns = &mut all[worker];
        for (column, run) in runs {
            if columns.len() <= column {
                columns.resize_with(column + 1, || None);
            }
            let own = columns[column].get_or_insert_with(|| run.new_alike());
            own.swap_memory(run);
        }
    }

    /// The segments of each worker, by column.
    pub(crate) fn all_mut(&mut self) -> &mut Vec<Vec<Option<Segment>>> {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Vec<Vec<Option<Segment>>>> {
        // Nothing panics while the lock is held; the segments are whole.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The owner of the memory that a run writes to.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) enum Memory {
    /// The segment of the run.
    #[default]
    Run,
    /// The column of the batch, which begins with this run.
    Column,
    /// A worker's segment, after its earlier runs.
    Worker(usize),
}

/// The end of the written part of a segment.
#[derive(Clone, Debug, Default)]
pub(crate) struct SegmentSizes {
    pub(crate) values: usize,
    /// Bytes of strings.
    pub(crate) bytes: usize,
    pub(crate) indices: usize,
    /// Per level, number of entries in the splits, with the leading 0.
    pub(crate) splits: Vec<usize>,
}

impl SegmentSizes {
    pub(crate) fn set(&mut self, segment: &Segment) {
        let values = &segment.values;
        self.values = values.len();
        self.bytes = values
            .as_strings()
            .map_or(0, |strings| strings.data().len());
        self.indices = segment.indices.len();
        self.splits.clear();
        self.splits
            .extend(segment.splits.iter().map(|ends| ends.len()));
    }
}

/// The rows of a run in a column: a part of a segment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SegmentRows<'a> {
    /// The segment with these rows, and with rows of other runs.
    pub(crate) segment: &'a Segment,
    pub(crate) rows: usize,
    pub(crate) start: &'a SegmentSizes,
    pub(crate) end: &'a SegmentSizes,
}

impl<'a> SegmentRows<'a> {
    /// The rows that the run of segment `run` wrote to `column`.
    pub(crate) fn of(run: &'a Segment, column: usize, workers: &'a [Vec<Option<Segment>>]) -> Self {
        let of_worker = match run.memory {
            Memory::Worker(worker) => workers[worker][column].as_ref(),
            _ => None,
        };
        SegmentRows {
            segment: of_worker.unwrap_or(run),
            rows: run.rows,
            start: &run.start,
            end: &run.end,
        }
    }

    /// The range of the values in the segment.
    pub(crate) fn values(self) -> Range<usize> {
        self.start.values..self.end.values
    }

    /// The offsets of the strings, beginning with the end of the previous string.
    pub(crate) fn offsets(self) -> &'a [i64] {
        let strings = self.segment.values.as_strings();
        strings.map_or(&[], |strings| {
            &strings.offsets()[self.start.values..=self.end.values]
        })
    }

    /// The bytes of the strings.
    pub(crate) fn bytes(self) -> &'a [u8] {
        let strings = self.segment.values.as_strings();
        strings.map_or(&[], |strings| {
            &strings.data()[self.start.bytes..self.end.bytes]
        })
    }

    /// The range of the rows in the segment, which are the lists of the outermost level.
    pub(crate) fn lists(self) -> Range<usize> {
        self.start.splits[0] - 1..self.end.splits[0] - 1
    }

    /// The indices.
    pub(crate) fn indices(self) -> &'a [i64] {
        &self.segment.indices.as_slice()[self.start.indices..self.end.indices]
    }

    /// The splits of `level`, beginning with the end of the previous list.
    pub(crate) fn splits(self, level: usize) -> &'a [i64] {
        let splits = self.segment.splits[level].as_slice();
        &splits[self.start.splits[level] - 1..self.end.splits[level]]
    }
}
