//! Making a batch: slots for workers, then segments brought to their place.

use std::sync::Arc;

use crate::batch::ColumnData;
use crate::gather::{GatherTask, join};
use crate::pad::{Level, Padding};
use crate::reuse::Emptied;
use crate::sizes::Sizes;
use crate::spec::Placement;
use crate::values::each_values;
use crate::{Batch, BatchSpec, ColumnKind, Recycler, RowSlots, Segment, Slot, UNKNOWN};

/// Makes batches, one after another, out of recycled memory.
///
/// For each batch: [`slots`](Self::slots), which workers fill;
/// [`gather`](Self::gather), whose tasks workers run; [`finish`](Self::finish).
#[derive(Debug)]
pub struct BatchBuilder {
    spec: BatchSpec,
    recycler: Arc<Recycler>,
    /// Rows of each run of the batch being made.
    run_rows: Vec<usize>,
    /// The columns of the batch being made.
    columns: Vec<ColumnData>,
    /// The sizes of the last batch's columns.
    sizes: Vec<Sizes>,
    /// Per column, a segment for each run of rows; none for columns that are
    /// written in place.
    segments: Vec<Vec<Segment>>,
    /// Per column, the levels of lists of a padded one.
    levels: Vec<Vec<Level>>,
    emptied: Arc<Emptied>,
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
            segments: (0..columns).map(|_| Vec::new()).collect(),
            levels: vec![Vec::new(); columns],
            emptied: Arc::default(),
        }
    }

    /// The columns.
    pub fn spec(&self) -> &BatchSpec {
        &self.spec
    }

    /// Bytes of memory held by the builder itself: the segments and the batch
    /// being made.
    pub fn capacity_bytes(&self) -> usize {
        let segments = self.segments.iter().flatten();
        segments.map(Segment::capacity_bytes).sum::<usize>()
            + self
                .columns
                .iter()
                .map(ColumnData::capacity_bytes)
                .sum::<usize>()
    }

    /// Starts a batch whose rows are written by runs of `run_rows` rows each
    /// and gives each run its slots.
    pub fn slots(&mut self, run_rows: &[usize]) -> Vec<RowSlots<'_>> {
        let mut slots = Vec::new();
        self.slots_into(run_rows, &mut slots);
        slots
    }

    /// The same, behind what `slots` holds; allocates nothing, once there has
    /// been a batch like this one and its memory has come back.
    pub fn slots_into<'a>(&'a mut self, run_rows: &[usize], slots: &mut Vec<RowSlots<'a>>) {
        for segments in self.segments.iter_mut().filter(|all| !all.is_empty()) {
            turn_back(&mut segments[..self.run_rows.len()]);
        }
        self.run_rows.clear();
        self.run_rows.extend_from_slice(run_rows);
        let rows = self.rows();
        if self.columns.is_empty() {
            self.columns = self
                .recycler
                .take(|i| self.new_column(i))
                .unwrap_or_else(|| self.new_columns());
        }

        let first = slots.len();
        let mut first_row = 0;
        slots.extend(run_rows.iter().map(|&rows| {
            let slots = RowSlots::new(first_row, rows, self.emptied.clone());
            first_row += rows;
            slots
        }));
        let slots = &mut slots[first..];
        let columns = self.columns.iter_mut().zip(&mut self.segments);
        for (spec, (column, segments)) in self.spec.columns().iter().zip(columns) {
            let Placement::Written { row_len } = spec.placement() else {
                while segments.len() < slots.len() {
                    segments.push(Segment::new(spec));
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

    /// Bytes that the padded columns will take in the batch whose slots are
    /// filled; `u64::MAX` if they are more. One long list makes every row long,
    /// so this can be out of all proportion to what was written: to be held
    /// against a limit before [`gather`](Self::gather) asks for the memory.
    pub fn padded_bytes(&self) -> u64 {
        let columns = self.spec.columns().iter().enumerate();
        let padded = columns.filter_map(|(i, spec)| match spec.placement() {
            Placement::Padded { shape, fill } => {
                let padding = Padding::new(shape, fill, self.segments_of(i));
                Some(padding.bytes(self.rows()))
            }
            _ => None,
        });
        padded.fold(0, u64::saturating_add)
    }

    /// The copying that is left once all slots are filled, in tasks that are
    /// independent. None where one run wrote everything, or each run
    /// [followed](RowSlots::follow) the one before, and nothing is padded.
    ///
    /// # Panics
    /// If the padded columns are too large to address; see
    /// [`padded_bytes`](Self::padded_bytes).
    pub fn gather(&mut self) -> Vec<GatherTask<'_>> {
        let mut tasks = Vec::new();
        self.gather_into(&mut tasks);
        tasks
    }

    /// The same, behind what `tasks` holds; allocates nothing, once there has
    /// been a batch like this one and its memory has come back.
    pub fn gather_into<'a>(&'a mut self, tasks: &mut Vec<GatherTask<'a>>) {
        let first = tasks.len();
        let runs = self.run_rows.len();
        let memory = self.segments.iter_mut().zip(&mut self.levels);
        let columns = self.columns.iter_mut().zip(memory);
        for (spec, (column, (segments, levels))) in self.spec.columns().iter().zip(columns) {
            match spec.placement() {
                Placement::Written { .. } => {}
                Placement::Joined => {
                    let mut task = GatherTask::new(self.emptied.clone());
                    join(column, &mut segments[..runs], &mut task);
                    tasks.push(task);
                }
                Placement::Padded { shape, fill } => {
                    let segments = segments[..runs].iter().filter(|s| s.rows > 0);
                    let new = tasks.len();
                    let each = segments.clone();
                    tasks.extend(each.map(|_| GatherTask::new(self.emptied.clone())));
                    let padding = Padding::new(shape, fill, segments);
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

    /// Ends the batch, once the gather tasks have run.
    pub fn finish(&mut self) -> Batch {
        let mut columns = std::mem::take(&mut self.columns);
        let rows = self.rows();
        for (column, sizes) in columns.iter().zip(&mut self.sizes) {
            sizes.take(column);
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
                    let extent = |d: usize| self.segments_of(i).map(|s| s.extents[d]).max();
                    column
                        .shape
                        .extend(shape.iter().enumerate().map(|(d, &dim)| match dim {
                            UNKNOWN => extent(d).unwrap_or(0),
                            dim => dim,
                        }));
                }
                ColumnKind::Padded { shape, fill } => {
                    let padding = Padding::new(shape, fill, self.segments_of(i));
                    column.shape.extend(padding.dims().map(|dim| dim as i64));
                }
                ColumnKind::Flat => {}
            }
        }
        Batch::new(rows, self.spec.clone(), columns, self.recycler.clone())
    }

    /// Columns with memory for a batch like the last.
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

    /// The segments of column `i`, a run after the other.
    fn segments_of(&self, i: usize) -> impl Iterator<Item = &Segment> + Clone {
        self.segments[i][..self.run_rows.len()].iter()
    }
}

/// Puts the segments of a finished batch back where they began: one that was
/// handed on from run to run is the first of them again. Otherwise each would
/// begin once, and grow to the size of all.
fn turn_back(segments: &mut [Segment]) {
    let mut first = 0;
    for last in 0..segments.len() {
        if !segments[last].was_handed_on {
            segments[first..=last].rotate_right(1);
            first = last + 1;
        }
    }
}
