//! Which rows lie where: the segments of workers, and parts of them.

use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::Segment;

/// The segments that workers write in: each has one per column, for all runs that
/// it [begins](crate::RowSlots::begin), one behind the other.
///
/// Were they the runs' own, each would in time have room for the longest run there
/// can be, and there are many more runs than workers.
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

    /// Swaps memory with the segment of `worker` for each of `runs`, which are the
    /// segments of a run with the numbers of their columns.
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

/// Whose memory a run writes in.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) enum Memory {
    /// That of its own segment.
    #[default]
    Run,
    /// That of the batch's column, which begins with this run.
    Column,
    /// That of a worker, behind its earlier runs.
    Worker(usize),
}

/// How far a segment has been written.
#[derive(Clone, Debug, Default)]
pub(crate) struct Mark {
    pub(crate) values: usize,
    /// Bytes of strings.
    pub(crate) bytes: usize,
    pub(crate) indices: usize,
    /// Per level, entries of the splits, the leading 0 among them.
    pub(crate) splits: Vec<usize>,
}

impl Mark {
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
pub(crate) struct Part<'a> {
    /// Where they lie, with others.
    pub(crate) segment: &'a Segment,
    pub(crate) rows: usize,
    pub(crate) start: &'a Mark,
    pub(crate) end: &'a Mark,
}

impl<'a> Part<'a> {
    /// What the run of segment `run` wrote to `column`.
    pub(crate) fn of(run: &'a Segment, column: usize, workers: &'a [Vec<Option<Segment>>]) -> Self {
        let of_worker = match run.memory {
            Memory::Worker(worker) => workers[worker][column].as_ref(),
            _ => None,
        };
        Part {
            segment: of_worker.unwrap_or(run),
            rows: run.rows,
            start: &run.start,
            end: &run.end,
        }
    }

    /// Its values, counted from the start of the segment.
    pub(crate) fn values(self) -> Range<usize> {
        self.start.values..self.end.values
    }

    /// The offsets of its strings, behind the end of what comes before.
    pub(crate) fn offsets(self) -> &'a [i64] {
        let strings = self.segment.values.as_strings();
        strings.map_or(&[], |strings| {
            &strings.offsets()[self.start.values..=self.end.values]
        })
    }

    /// The bytes of its strings.
    pub(crate) fn bytes(self) -> &'a [u8] {
        let strings = self.segment.values.as_strings();
        strings.map_or(&[], |strings| {
            &strings.data()[self.start.bytes..self.end.bytes]
        })
    }

    /// Its rows, counted from the start of the segment: the lists of the outermost
    /// level.
    pub(crate) fn lists(self) -> Range<usize> {
        self.start.splits[0] - 1..self.end.splits[0] - 1
    }

    /// Its indices.
    pub(crate) fn indices(self) -> &'a [i64] {
        &self.segment.indices.as_slice()[self.start.indices..self.end.indices]
    }

    /// The splits of `level`, behind the end of what comes before.
    pub(crate) fn splits(self, level: usize) -> &'a [i64] {
        let splits = self.segment.splits[level].as_slice();
        &splits[self.start.splits[level] - 1..self.end.splits[level]]
    }
}
