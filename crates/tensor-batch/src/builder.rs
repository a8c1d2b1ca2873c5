//! Making a batch: slots for workers, then segments brought to their place.

use std::sync::Arc;

use crate::batch::ColumnData;
use crate::gather::{GatherTask, join};
use crate::pad::Padding;
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
    /// Per run of rows, a segment per column; those of columns that are
    /// written in place stay empty.
    segments: Vec<Vec<Segment>>,
}

impl BatchBuilder {
    /// A builder of batches of `spec`.
    pub fn new(spec: BatchSpec) -> Self {
        BatchBuilder {
            recycler: Recycler::new(),
            spec,
            run_rows: Vec::new(),
            columns: Vec::new(),
            segments: Vec::new(),
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
        self.run_rows.clear();
        self.run_rows.extend_from_slice(run_rows);
        let (rows, runs) = (self.rows(), run_rows.len());
        if self.columns.is_empty() {
            self.columns = self
                .recycler
                .take()
                .unwrap_or_else(|| self.spec.columns().iter().map(ColumnData::new).collect());
        }
        while self.segments.len() < runs {
            let segments = self.spec.columns().iter().map(Segment::new).collect();
            self.segments.push(segments);
        }
        for segment in self.segments[..runs].iter_mut().flatten() {
            segment.clear();
        }

        let mut slots: Vec<Vec<Slot<'_>>> = run_rows
            .iter()
            .map(|_| Vec::with_capacity(self.spec.columns().len()))
            .collect();
        let mut segments: Vec<_> = self.segments[..runs]
            .iter_mut()
            .map(|run| run.iter_mut())
            .collect();
        for (spec, column) in self.spec.columns().iter().zip(&mut self.columns) {
            let segments = segments.iter_mut().filter_map(Iterator::next);
            let Placement::Written { row_len } = spec.placement() else {
                for (slots, segment) in slots.iter_mut().zip(segments) {
                    slots.push(Slot::Segment(segment));
                }
                continue;
            };
            segments.for_each(drop);
            let len = rows * row_len;
            each_values!(&mut column.values, buffer => buffer.set_len(len), _strings => ());
            let lens = run_rows.iter().map(|rows| rows * row_len);
            for (slots, slot) in slots.iter_mut().zip(Slot::split(&mut column.values, lens)) {
                slots.push(slot);
            }
        }
        let mut first_row = 0;
        slots
            .into_iter()
            .zip(run_rows)
            .map(|(columns, &rows)| {
                let slots = RowSlots::new(first_row, rows, columns);
                first_row += rows;
                slots
            })
            .collect()
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
                Some(padding.bytes(self.rows(), self.segments_of(i)))
            }
            _ => None,
        });
        padded.fold(0, u64::saturating_add)
    }

    /// The copying that is left once all slots are filled, a task per run; the
    /// tasks are independent. None where one run wrote everything and nothing
    /// is padded: its segments become the columns.
    ///
    /// # Panics
    /// If the padded columns are too large to address; see
    /// [`padded_bytes`](Self::padded_bytes).
    pub fn gather(&mut self) -> Vec<GatherTask<'_>> {
        let specs = self.spec.columns();
        let runs = &mut self.segments[..self.run_rows.len()];
        let one_run = runs.len() == 1;
        let mut tasks: Vec<_> = runs.iter().map(|_| GatherTask::default()).collect();
        if let [only] = runs {
            for ((spec, column), segment) in specs.iter().zip(&mut self.columns).zip(only) {
                if let Placement::Joined = spec.placement() {
                    std::mem::swap(&mut column.values, &mut segment.values);
                    std::mem::swap(&mut column.indices, &mut segment.indices);
                    std::mem::swap(&mut column.splits, &mut segment.splits);
                }
            }
        }
        let runs = &*runs;
        for (i, (spec, column)) in specs.iter().zip(&mut self.columns).enumerate() {
            let segments = runs.iter().map(|run| &run[i]);
            match spec.placement() {
                Placement::Written { .. } => {}
                Placement::Joined if one_run => {}
                Placement::Joined => join(column, segments, &mut tasks),
                Placement::Padded { shape, fill } => {
                    let padding = Padding::new(shape, fill, segments.clone());
                    padding.spread(&mut column.values, &self.run_rows, segments, &mut tasks);
                }
            }
        }
        if one_run {
            tasks.retain(|task| !task.is_empty());
        }
        tasks
    }

    /// Ends the batch, once the gather tasks have run.
    pub fn finish(&mut self) -> Batch {
        let mut columns = std::mem::take(&mut self.columns);
        let rows = self.rows();
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

    fn rows(&self) -> usize {
        self.run_rows.iter().sum()
    }

    /// The segments of column `i`, a run after the other.
    fn segments_of(&self, i: usize) -> impl Iterator<Item = &Segment> + Clone {
        self.segments[..self.run_rows.len()]
            .iter()
            .map(move |run| &run[i])
    }
}
