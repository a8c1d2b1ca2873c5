//! Making a batch: slots for workers, then segments laid end to end.

use std::sync::Arc;

use crate::batch::ColumnData;
use crate::values::each_values;
use crate::{Batch, BatchSpec, ColumnKind, Recycler, RowSlots, Segment, Slot, UNKNOWN, Values};

/// Makes batches, one after another, out of recycled memory.
///
/// For each batch: [`slots`](Self::slots), which workers fill;
/// [`gather`](Self::gather), whose tasks workers run; [`finish`](Self::finish).
#[derive(Debug)]
pub struct BatchBuilder {
    spec: BatchSpec,
    recycler: Arc<Recycler>,
    rows: usize,
    runs: usize,
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
            rows: 0,
            runs: 0,
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
        self.rows = run_rows.iter().sum();
        self.runs = run_rows.len();
        if self.columns.is_empty() {
            self.columns = self
                .recycler
                .take()
                .unwrap_or_else(|| self.spec.columns().iter().map(ColumnData::new).collect());
        }
        while self.segments.len() < self.runs {
            let segments = self.spec.columns().iter().map(Segment::new).collect();
            self.segments.push(segments);
        }
        for segment in self.segments[..self.runs].iter_mut().flatten() {
            segment.clear();
        }

        let mut slots: Vec<Vec<Slot<'_>>> = run_rows
            .iter()
            .map(|_| Vec::with_capacity(self.spec.columns().len()))
            .collect();
        let mut segments: Vec<_> = self.segments[..self.runs]
            .iter_mut()
            .map(|run| run.iter_mut())
            .collect();
        for (spec, column) in self.spec.columns().iter().zip(&mut self.columns) {
            let segments = segments.iter_mut().filter_map(Iterator::next);
            if !spec.in_place() {
                for (slots, segment) in slots.iter_mut().zip(segments) {
                    slots.push(Slot::Segment(segment));
                }
                continue;
            }
            segments.for_each(drop);
            let row_len = spec.row_len().unwrap_or(1);
            let len = self.rows * row_len;
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

    /// The copying that is left once all slots are filled, a task per run; the
    /// tasks are independent. None where one run wrote everything: its
    /// segments become the columns.
    pub fn gather(&mut self) -> Vec<GatherTask<'_>> {
        let specs = self.spec.columns();
        let gathered = specs.iter().map(|spec| !spec.in_place());
        let segments = &mut self.segments[..self.runs];
        let columns = self.columns.iter_mut().zip(gathered).enumerate();
        let columns = columns.filter(|(_, (_, gathered))| *gathered);

        if let [only] = segments {
            for (i, (column, _)) in columns {
                std::mem::swap(&mut column.values, &mut only[i].values);
                std::mem::swap(&mut column.indices, &mut only[i].indices);
                std::mem::swap(&mut column.splits, &mut only[i].splits);
            }
            return Vec::new();
        }
        let segments = &*segments;
        let mut tasks: Vec<_> = segments.iter().map(|_| GatherTask::default()).collect();
        for (i, (column, _)) in columns {
            let of_column = || segments.iter().map(|run| &run[i]);
            gather_values(
                &mut column.values,
                of_column().map(|s| &s.values),
                &mut tasks,
            );
            let total = of_column().map(|s| s.indices.len()).sum();
            column.indices.set_len(total);
            let mut rest = column.indices.as_mut_slice();
            for (task, segment) in tasks.iter_mut().zip(of_column()) {
                task.copy(&mut rest, segment.indices.as_slice());
            }
            for (level, splits) in column.splits.iter_mut().enumerate() {
                let lists = of_column().map(|s| s.splits[level].as_slice());
                splits.clear();
                splits.push(0);
                let total = lists.clone().map(|ends| ends.len() - 1).sum();
                let mut rest = splits.append(total);
                offset_lists(&mut rest, lists, &mut tasks);
            }
        }
        tasks
    }

    /// Ends the batch, once the gather tasks have run.
    pub fn finish(&mut self) -> Batch {
        let mut columns = std::mem::take(&mut self.columns);
        for (i, (spec, column)) in self.spec.columns().iter().zip(&mut columns).enumerate() {
            column.shape.clear();
            column.shape.push(self.rows as i64);
            match &spec.kind {
                ColumnKind::Dense { shape } => {
                    column.shape.extend(shape.iter().map(|&dim| dim as i64));
                }
                ColumnKind::Sparse { shape, .. } | ColumnKind::Varlen { shape, .. } => {
                    let runs = &self.segments[..self.runs];
                    let extent = |d: usize| runs.iter().map(|run| run[i].extents[d]).max();
                    column
                        .shape
                        .extend(shape.iter().enumerate().map(|(d, &dim)| match dim {
                            UNKNOWN => extent(d).unwrap_or(0),
                            dim => dim,
                        }));
                }
            }
        }
        Batch::new(self.rows, self.spec.clone(), columns, self.recycler.clone())
    }
}

/// The copying of one run's segments to their place in the batch.
#[derive(Debug, Default)]
pub struct GatherTask<'a> {
    copies: Vec<Copy<'a>>,
}

#[derive(Debug)]
enum Copy<'a> {
    /// Bytes as they are.
    Bytes(&'a mut [u8], &'a [u8]),
    /// Offsets that count from the start of the segment, and what comes before.
    Offsets(&'a mut [i64], &'a [i64], i64),
}

impl<'a> GatherTask<'a> {
    /// Copies.
    pub fn run(self) {
        for copy in self.copies {
            match copy {
                Copy::Bytes(to, from) => to.copy_from_slice(from),
                Copy::Offsets(to, from, base) => {
                    for (to, from) in to.iter_mut().zip(from) {
                        *to = base + from;
                    }
                }
            }
        }
    }

    /// Puts `from` next in `rest`.
    fn copy<T: bytemuck::Pod>(&mut self, rest: &mut &'a mut [T], from: &'a [T]) {
        if !from.is_empty() {
            let to = carve(rest, from.len());
            let (to, from) = (bytemuck::cast_slice_mut(to), bytemuck::cast_slice(from));
            self.copies.push(Copy::Bytes(to, from));
        }
    }
}

fn carve<'a, T>(rest: &mut &'a mut [T], len: usize) -> &'a mut [T] {
    let (head, tail) = std::mem::take(rest).split_at_mut(len);
    *rest = tail;
    head
}

/// Lays lists of ends (each with a leading 0) end to end in `rest`.
fn offset_lists<'a>(
    rest: &mut &'a mut [i64],
    lists: impl Iterator<Item = &'a [i64]>,
    tasks: &mut [GatherTask<'a>],
) {
    let mut base = 0;
    for (task, list) in tasks.iter_mut().zip(lists) {
        let ends = &list[1..];
        if let Some(&last) = ends.last() {
            let to = carve(rest, ends.len());
            task.copies.push(Copy::Offsets(to, ends, base));
            base += last;
        }
    }
}

fn gather_values<'a>(
    column: &'a mut Values,
    segments: impl Iterator<Item = &'a Values> + Clone,
    tasks: &mut [GatherTask<'a>],
) {
    macro_rules! fixed_width {
        ($buffer:ident, $variant:ident) => {{
            $buffer.set_len(segments.clone().map(Values::len).sum());
            let mut rest = $buffer.as_mut_slice();
            for (task, segment) in tasks.iter_mut().zip(segments) {
                if let Values::$variant(from) = segment {
                    task.copy(&mut rest, from.as_slice());
                }
            }
        }};
    }
    match column {
        Values::Int32(buffer) => fixed_width!(buffer, Int32),
        Values::Int64(buffer) => fixed_width!(buffer, Int64),
        Values::Float32(buffer) => fixed_width!(buffer, Float32),
        Values::Float64(buffer) => fixed_width!(buffer, Float64),
        Values::Bool(buffer) => fixed_width!(buffer, Bool),
        Values::String(strings) => {
            let segments = segments.filter_map(Values::as_strings);
            let count = segments.clone().map(|s| s.len()).sum();
            let bytes = segments.clone().map(|s| s.data().len()).sum();
            let (mut offsets, mut data) = strings.allocate(count, bytes);
            offset_lists(&mut offsets, segments.clone().map(|s| s.offsets()), tasks);
            for (task, segment) in tasks.iter_mut().zip(segments) {
                task.copy(&mut data, segment.data());
            }
        }
    }
}
