//! Builds batches: workers fill slots, then segments are gathered into columns.

use std::fmt;
use std::sync::Arc;

use crate::agree::{Disagreement, agrees, first_disagreement};
use crate::batch::ColumnData;
use crate::gather::{GatherTask, join};
use crate::pad::{Level, Padding};
use crate::parts::{Memory, SegmentRows, Workers};
use crate::reuse::Emptied;
use crate::short::Short;
use crate::sizes::Sizes;
use crate::spec::Placement;
use crate::values::each_values;
use crate::{
    Batch, BatchSpec, ColumnKind, KeepMemory, Kept, Recycler, RowSlots, Segment, Slot, UNKNOWN,
};

/// Builds batches, one after another, in recycled memory.
///
/// For each batch: [`slots`](Self::slots), which workers fill;
/// [`gather`](Self::gather), whose tasks workers run; [`finish`](Self::finish).
pub struct BatchBuilder {
    spec: BatchSpec,
    recycler: Arc<Recycler>,
    /// Number of rows in each run of the current batch.
    run_rows: Vec<usize>,
    /// The columns of the current batch.
    columns: Vec<ColumnData>,
    /// The sizes of the columns in the largest recent batch, for the memory of the next one.
    sizes: Vec<Sizes>,
    sized_rows: usize,
    /// For each column, a segment for each run of rows; empty for columns that are written in
    /// place.
    segments: Vec<Vec<Segment>>,
    /// The segments of the workers.
    workers: Workers,
    /// For each padded column, its levels of lists.
    levels: Vec<Vec<Level>>,
    emptied: Arc<Emptied>,
}

impl fmt::Debug for BatchBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BatchBuilder")
            .field("columns", &self.spec.columns().len())
            .field("run_rows", &Short(&self.run_rows))
            .finish_non_exhaustive()
    }
}

impl BatchBuilder {
    /// A builder of batches of `spec`.
    pub fn new(spec: BatchSpec) -> Self {
        let columns = spec.columns().len();
        BatchBuilder {
            recycler: Recycler::new(),
            spec,
            run_rows: Vec::new(),
            columns: Vec::new(),
            sizes: vec![Sizes::default(); columns],
            sized_rows: 0,
            workers: Workers::default(),
            segments: (0..columns).map(|_| Vec::new()).collect(),
            levels: vec![Vec::new(); columns],
            emptied: Arc::default(),
        }
    }

    /// Has `keeper` count the memory of dropped batches that is kept for later ones. Call this before
    /// the first batch.
    pub fn set_keeper(&mut self, keeper: Arc<dyn KeepMemory>) {
        self.recycler.set_keeper(keeper);
    }

    /// The memory of dropped batches that is kept for later ones.
    pub fn kept(&self) -> Kept {
        self.recycler.kept()
    }

    /// The columns.
    pub fn spec(&self) -> &BatchSpec {
        &self.spec
    }

    /// Size in bytes of the builder's own memory: the segments and the current batch.
    pub fn capacity_bytes(&self) -> usize {
        let segments = self.segments.iter().flatten();
        segments.map(Segment::capacity_bytes).sum::<usize>()
            + self.workers.capacity_bytes()
            + self
                .columns
                .iter()
                .map(ColumnData::capacity_bytes)
                .sum::<usize>()
    }

    /// Starts a batch and returns the slots of each run. `run_rows` has the number of rows of each
    /// run.
    pub fn slots(&mut self, run_rows: &[usize]) -> Vec<RowSlots<'_>> {
        let mut slots = Vec::new();
        self.slots_into(run_rows, &mut slots);
        slots
    }

    /// As [`slots`](Self::slots), but appends to `slots`. Allocates nothing if it can reuse the
    /// memory of a similar batch.
    pub fn slots_into<'a>(&'a mut self, run_rows: &[usize], slots: &mut Vec<RowSlots<'a>>) {
        self.take_back();
        self.workers.start();
        self.run_rows.clear();
        self.run_rows.extend_from_slice(run_rows);
        let rows = self.rows();
        if self.columns.is_empty() {
            self.columns = self
                .recycler
                .take(|i| self.new_column(i))
                .unwrap_or_else(|| self.new_columns());
        }

        let bytes = self.columns.iter().map(ColumnData::capacity_bytes).sum();
        let (first, workers) = (slots.len(), &self.workers);
        let mut first_row = 0;
        slots.extend(run_rows.iter().map(|&rows| {
            let slots = RowSlots::new((first_row, rows), bytes, workers, self.emptied.clone());
            first_row += rows;
            slots
        }));
        let slots = &mut slots[first..];
        let first_run = run_rows.iter().position(|&rows| rows > 0);
        let columns = self.columns.iter_mut().zip(&mut self.segments);
        for (spec, (column, segments)) in self.spec.columns().iter().zip(columns) {
            let Placement::Written { row_len } = spec.placement() else {
                while segments.len() < slots.len() {
                    segments.push(Segment::new(spec));
                }
                if let (Placement::Joined, Some(first)) = (spec.placement(), first_run) {
                    segments[first].swap_with(column);
                    segments[first].memory = Memory::Column;
                }
                for (slots, segment) in slots.iter_mut().zip(segments) {
                    segment.start(slots.remaining());
                    slots.push(Slot::Segment(segment));
                }
                continue;
            };
            let len = rows * row_len;
            each_values!(&mut column.values, buffer => buffer.set_len(len), _strings => ());
            let lens = run_rows.iter().map(|rows| rows * row_len);
            Slot::split(&mut column.values, lens, |run, slot| slots[run].push(slot));
        }
    }

    /// Size of the padded columns in bytes, at most `u64::MAX`, once all slots are filled. One long
    /// list makes every row long, so the size can be far beyond the size of the values. Check it
    /// against a limit before [`gather`](Self::gather) allocates the memory.
    pub fn padded_bytes(&self) -> u64 {
        let workers = &*self.workers.lock();
        let columns = self.spec.columns().iter().enumerate();
        let padded = columns.filter_map(|(i, spec)| match spec.placement() {
            Placement::Padded { shape, fill } => {
                let padding = Padding::new(shape, fill, self.parts_of(i, workers));
                Some(padding.bytes(self.rows()))
            }
            _ => None,
        });
        padded.fold(0, u64::saturating_add)
    }

    /// The first row of an [exact](ColumnKind::Padded) column whose lists have other lengths than
    /// earlier rows, once all slots are filled. Do not gather such a batch: its lists would be
    /// filled up.
    pub fn disagreement(&self) -> Option<Disagreement> {
        let mut columns = self.spec.columns().iter().enumerate();
        columns.find_map(|(i, spec)| match &spec.kind {
            ColumnKind::Padded {
                shape, exact: true, ..
            } => {
                let workers = &*self.workers.lock();
                if agrees(shape, self.parts_of(i, workers)) {
                    return None;
                }
                first_disagreement(i, shape, self.parts_of(i, workers))
            }
            _ => None,
        })
    }

    /// Independent tasks that copy the segments into the columns, once all slots are filled. There
    /// are no tasks if no column is padded and either one run wrote everything or each run
    /// [followed](RowSlots::follow) the run before it.
    ///
    /// # Panics
    /// If the padded columns are too large to address; see
    /// [`padded_bytes`](Self::padded_bytes).
    pub fn gather(&mut self) -> Vec<GatherTask<'_>> {
        let mut tasks = Vec::new();
        self.gather_into(&mut tasks);
        tasks
    }

    /// As [`gather`](Self::gather), but appends to `tasks`. Allocates nothing if it can reuse the
    /// memory of a similar batch.
    pub fn gather_into<'a>(&'a mut self, tasks: &mut Vec<GatherTask<'a>>) {
        let first = tasks.len();
        let runs = self.run_rows.len();
        let memory = self.segments.iter_mut().zip(&mut self.levels);
        let columns = self.columns.iter_mut().zip(memory);
        let workers: &[_] = self.workers.all_mut();
        let columns = self.spec.columns().iter().zip(columns).enumerate();
        for (i, (spec, (column, (segments, levels)))) in columns {
            match spec.placement() {
                Placement::Written { .. } => {}
                Placement::Joined => {
                    let mut task = GatherTask::new(self.emptied.clone());
                    join((i, column), &mut segments[..runs], workers, &mut task);
                    tasks.push(task);
                }
                Placement::Padded { shape, fill } => {
                    let runs = segments[..runs].iter().filter(|run| run.rows > 0);
                    let parts = runs.map(move |run| SegmentRows::of(run, i, workers));
                    let new = tasks.len();
                    let each = parts.clone();
                    tasks.extend(each.map(|_| GatherTask::new(self.emptied.clone())));
                    let padding = Padding::new(shape, fill, parts);
                    padding.levels(levels);
                    padding.spread(levels, &mut column.values, &mut tasks[new..]);
                }
            }
        }
        let mut number = 0;
        tasks.retain(|task| {
            number += 1;
            number <= first || !task.is_empty()
        });
    }

    /// Finishes the batch, once the gather tasks have run.
    pub fn finish(&mut self) -> Batch {
        let mut columns = std::mem::take(&mut self.columns);
        let rows = self.rows();
        let workers = &*self.workers.lock();
        if rows >= self.sized_rows {
            for (column, sizes) in columns.iter().zip(&mut self.sizes) {
                sizes.take(column);
            }
            self.sized_rows = rows;
        }
        for (i, (spec, column)) in self.spec.columns().iter().zip(&mut columns).enumerate() {
            column.shape.clear();
            column.shape.push(match spec.kind {
                ColumnKind::Flat => column.values.len() as i64,
                _ => rows as i64,
            });
            match &spec.kind {
                ColumnKind::Dense { shape } => {
                    column.shape.extend(shape.iter().map(|&dim| dim as i64));
                }
                ColumnKind::Sparse { shape, .. } | ColumnKind::Varlen { shape, .. } => {
                    let parts = self.parts_of(i, workers);
                    let extent = |d: usize| parts.clone().map(|part| part.segment.extents[d]).max();
                    column
                        .shape
                        .extend(shape.iter().enumerate().map(|(d, &dim)| match dim {
                            UNKNOWN => extent(d).unwrap_or(0),
                            dim => dim,
                        }));
                }
                ColumnKind::Padded { shape, fill, .. } => {
                    let padding = Padding::new(shape, fill, self.parts_of(i, workers));
                    column.shape.extend(padding.dims().map(|dim| dim as i64));
                }
                ColumnKind::Flat => {}
            }
        }
        Batch::new(rows, self.spec.clone(), columns, self.recycler.clone())
    }

    /// Columns with memory for a batch of the last one's size.
    fn new_columns(&self) -> Vec<ColumnData> {
        let columns = 0..self.spec.columns().len();
        columns.map(|i| self.new_column(i)).collect()
    }

    fn new_column(&self, i: usize) -> ColumnData {
        let mut column = ColumnData::new(&self.spec.columns()[i]);
        self.sizes[i].reserve(&mut column);
        column
    }

    fn rows(&self) -> usize {
        self.run_rows.iter().sum()
    }

    /// The parts of column `i`, one for each run.
    fn parts_of<'s>(
        &'s self,
        i: usize,
        workers: &'s [Vec<Option<Segment>>],
    ) -> impl Iterator<Item = SegmentRows<'s>> + Clone {
        let runs = self.segments[i][..self.run_rows.len()].iter();
        runs.map(move |run| SegmentRows::of(run, i, workers))
    }

    /// Returns memory to the columns if the last batch was not finished.
    fn take_back(&mut self) {
        for (i, segments) in self.segments.iter_mut().enumerate() {
            for run in segments {
                let is_column = std::mem::take(&mut run.memory) == Memory::Column;
                if let (true, Some(column)) = (is_column, self.columns.get_mut(i)) {
                    run.swap_with(column);
                }
            }
        }
    }
}
