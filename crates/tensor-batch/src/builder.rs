//! Builds batches: workers fill slots, then segments are gathered into columns.

use std::fmt;
use std::sync::Arc;

use crate::agree::{Disagreement, agrees, first_disagreement};
use crate::batch::ColumnData;
use crate::gather::{GatherTask, join};
use crate::pad::{Level, Padding};
use crate::short::Short;
use crate::spec::Placement;
use crate::values::each_values;
use crate::{
    Batch, BatchSpec, ColumnKind, KeepMemory, Kept, Recycler, RowSlots, Segment, Slot, Spare,
    UNKNOWN,
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
    /// For each column, a segment for each run of rows; empty for columns that are written in
    /// place.
    segments: Vec<Vec<Segment>>,
    /// For each padded column, its levels of lists.
    levels: Vec<Vec<Level>>,
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
        BatchBuilder::with_recycler(spec, Recycler::new())
    }

    /// Another builder of the same columns. The two share the memory of dropped batches: each makes its
    /// next batch in what was dropped last.
    pub fn another(&self) -> Self {
        BatchBuilder::with_recycler(self.spec.clone(), self.recycler.clone())
    }

    fn with_recycler(spec: BatchSpec, recycler: Arc<Recycler>) -> Self {
        let columns = spec.columns().len();
        BatchBuilder {
            recycler,
            spec,
            run_rows: Vec::new(),
            columns: Vec::new(),
            segments: (0..columns).map(|_| Vec::new()).collect(),
            levels: vec![Vec::new(); columns],
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

    /// Takes out the memory of dropped batches that is kept, and leaves at most `most` bytes of it to another
    /// builder: see [`take_over`](Self::take_over). It counts no more. Batches that are dropped later are not in it.
    pub fn leave(&self, most: usize) -> Spare {
        self.recycler.leave(&self.spec, most)
    }

    /// Keeps the memory of dropped batches that another builder has left, if its columns are the same. What the
    /// keeper refuses is freed. Call this before the first batch.
    pub fn take_over(&self, spare: Spare) {
        self.recycler.take_over(&self.spec, spare);
    }

    /// The columns.
    pub fn spec(&self) -> &BatchSpec {
        &self.spec
    }

    /// Size in bytes of the builder's own memory: the segments and the current batch.
    pub fn capacity_bytes(&self) -> usize {
        let segments = self.segments.iter().flatten();
        segments.map(Segment::capacity_bytes).sum::<usize>()
            + self
                .columns
                .iter()
                .map(ColumnData::capacity_bytes)
                .sum::<usize>()
    }

    /// Frees the builder's own memory, [`capacity_bytes`](Self::capacity_bytes). The memory of dropped
    /// batches is kept.
    pub fn shrink(&mut self) {
        self.run_rows.clear();
        self.columns.clear();
        self.segments.iter_mut().for_each(Vec::clear);
    }

    /// Starts a batch and returns the slots of each run. `run_rows` has the number of rows of each
    /// run.
    pub fn slots(&mut self, run_rows: &[usize]) -> Vec<RowSlots<'_>> {
        self.take_back();
        self.run_rows.clear();
        self.run_rows.extend_from_slice(run_rows);
        let rows = self.rows();
        let mut counted = 0;
        if self.columns.is_empty() {
            self.columns = self.recycler.take(&self.spec, &mut counted);
        }
        for (spec, column) in self.spec.columns().iter().zip(&mut self.columns) {
            if let Placement::Written { row_len } = spec.placement() {
                let len = rows * row_len;
                each_values!(&mut column.values, buffer => buffer.set_len(len), _strings => ());
            }
        }

        let bytes = self.columns.iter().map(ColumnData::capacity_bytes).sum();
        let mut first_row = 0;
        let runs = run_rows.iter().map(|&rows| {
            let slots = RowSlots::new((first_row, rows), bytes, counted);
            first_row += rows;
            slots
        });
        let mut slots: Vec<_> = runs.collect();
        let first_run = run_rows.iter().position(|&rows| rows > 0);
        let columns = self.columns.iter_mut().zip(&mut self.segments);
        for (spec, (column, segments)) in self.spec.columns().iter().zip(columns) {
            let Placement::Written { row_len } = spec.placement() else {
                while segments.len() < slots.len() {
                    segments.push(Segment::new(spec));
                }
                if let (Placement::Joined, Some(first)) = (spec.placement(), first_run) {
                    segments[first].swap_with(column);
                    segments[first].is_column = true;
                }
                for (slots, segment) in slots.iter_mut().zip(segments) {
                    segment.start(slots.remaining());
                    slots.push(Slot::Segment(segment));
                }
                continue;
            };
            let lens = run_rows.iter().map(|rows| rows * row_len);
            Slot::split(&mut column.values, lens, |run, slot| slots[run].push(slot));
        }
        slots
    }

    /// Size of the padded columns in bytes, at most `u64::MAX`, once all slots are filled. One long
    /// list makes every row long, so the size can be far beyond the size of the values. Check it
    /// against a limit before [`gather`](Self::gather) allocates the memory.
    pub fn padded_bytes(&self) -> u64 {
        let columns = self.spec.columns().iter().enumerate();
        let padded = columns.filter_map(|(i, spec)| match spec.placement() {
            Placement::Padded { shape, fill } => {
                let padding = Padding::new(shape, fill, self.runs_of(i));
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
                if agrees(shape, self.runs_of(i)) {
                    return None;
                }
                first_disagreement(i, shape, self.runs_of(i))
            }
            _ => None,
        })
    }

    /// Independent tasks that copy the segments into the columns, once all slots are filled. There
    /// are no tasks if no column is padded and one run wrote all rows.
    ///
    /// # Panics
    /// If the padded columns are too large to address; see
    /// [`padded_bytes`](Self::padded_bytes).
    pub fn gather(&mut self) -> Vec<GatherTask<'_>> {
        let mut tasks = Vec::new();
        let runs = self.run_rows.len();
        let memory = self.segments.iter_mut().zip(&mut self.levels);
        let columns = self.columns.iter_mut().zip(memory);
        for (spec, (column, (segments, levels))) in self.spec.columns().iter().zip(columns) {
            match spec.placement() {
                Placement::Written { .. } => {}
                Placement::Joined => {
                    let mut task = GatherTask::default();
                    join(column, &mut segments[..runs], &mut task);
                    tasks.push(task);
                }
                Placement::Padded { shape, fill } => {
                    let runs = segments[..runs].iter().filter(|run| run.rows > 0);
                    let new = tasks.len();
                    tasks.extend(runs.clone().map(|_| GatherTask::default()));
                    let padding = Padding::new(shape, fill, runs);
                    padding.levels(levels);
                    padding.spread(levels, &mut column.values, &mut tasks[new..]);
                }
            }
        }
        tasks.retain(|task| !task.is_empty());
        tasks
    }

    /// Finishes the batch, once the gather tasks have run.
    pub fn finish(&mut self) -> Batch {
        let mut columns = std::mem::take(&mut self.columns);
        let rows = self.rows();
        self.recycler.note_sizes(rows, &columns);
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
                    let runs = self.runs_of(i);
                    let extent = |d: usize| runs.clone().map(|run| run.extents[d]).max();
                    column
                        .shape
                        .extend(shape.iter().enumerate().map(|(d, &dim)| match dim {
                            UNKNOWN => extent(d).unwrap_or(0),
                            dim => dim,
                        }));
                }
                ColumnKind::Padded { shape, fill, .. } => {
                    let padding = Padding::new(shape, fill, self.runs_of(i));
                    column.shape.extend(padding.dims().map(|dim| dim as i64));
                }
                ColumnKind::Flat => {}
            }
        }
        Batch::new(rows, self.spec.clone(), columns, self.recycler.clone())
    }

    fn rows(&self) -> usize {
        self.run_rows.iter().sum()
    }

    /// The segments of column `i`, one for each run.
    fn runs_of(&self, i: usize) -> impl Iterator<Item = &Segment> + Clone {
        self.segments[i][..self.run_rows.len()].iter()
    }

    /// Returns memory to the columns if the last batch was not finished.
    fn take_back(&mut self) {
        for (i, segments) in self.segments.iter_mut().enumerate() {
            for run in segments {
                let is_column = std::mem::take(&mut run.is_column);
                if let (true, Some(column)) = (is_column, self.columns.get_mut(i)) {
                    run.swap_with(column);
                }
            }
        }
    }
}
