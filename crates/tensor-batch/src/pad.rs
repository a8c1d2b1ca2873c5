//! Padded columns: each list is filled up to the shape of the batch.

use std::ops::Range;

use crate::dtype::fixed_width_dtypes;
use crate::gather::{GatherTask, carve};
use crate::values::each_values;
use crate::{Buffer, Scalar, Segment, Slot, Strings, UNKNOWN, Values};

/// The lists of one level of a padded column.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Level {
    /// The length to which each list is filled up.
    len: usize,
    /// Number of cells in an item.
    cells: usize,
}

/// The shape, fill and rows of a padded column in one batch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Padding<'a, S> {
    shape: &'a [i64],
    fill: &'a Scalar,
    runs: S,
}

impl<'a, S: Iterator<Item = &'a Segment> + Clone> Padding<'a, S> {
    /// The padding of a column of `shape` whose rows are in `runs`.
    pub(crate) fn new(shape: &'a [i64], fill: &'a Scalar, runs: S) -> Self {
        Padding { shape, fill, runs }
    }

    /// The dimensions of a row.
    pub(crate) fn dims(&self) -> impl DoubleEndedIterator<Item = usize> + '_ {
        let dims = self.shape.iter().enumerate();
        dims.map(|(d, &dim)| {
            let extents = self.runs.clone().map(|run| run.extents[d]);
            let extent = extents.max().unwrap_or(0);
            debug_assert!(dim == UNKNOWN || extent <= dim, "a list is too long");
            // If a list is too long after all, no item is lost.
            extent.max(dim).max(0) as usize
        })
    }

    /// Number of cells in a row, at most `usize::MAX`.
    fn row_len(&self) -> usize {
        self.dims().fold(1, usize::saturating_mul)
    }

    /// Fills `levels` with the levels of lists, outermost first.
    pub(crate) fn levels(&self, levels: &mut Vec<Level>) {
        levels.clear();
        let mut cells: usize = 1;
        for len in self.dims().rev() {
            levels.push(Level { len, cells });
            cells = cells.saturating_mul(len);
        }
        levels.reverse();
    }

    /// Bytes of the column's values, at most `u64::MAX`.
    pub(crate) fn bytes(&self, rows: usize) -> u64 {
        let cells = (rows as u64).saturating_mul(self.row_len() as u64);
        let Scalar::String(fill) = self.fill else {
            let size = self.fill.dtype().size().unwrap_or(1);
            return cells.saturating_mul(size as u64);
        };
        let (mut filled, mut data) = (0, 0);
        for run in self.runs.clone() {
            filled += run.values.len() as u64;
            data += run.bytes().len() as u64;
        }
        let gaps = cells.saturating_sub(filled);
        let offsets = cells
            .saturating_add(1)
            .saturating_mul(size_of::<i64>() as u64);
        gaps.saturating_mul(fill.len() as u64)
            .saturating_add(data)
            .saturating_add(offsets)
    }

    /// Resizes `column` and gives each run's task its slice of the column. `levels` are this
    /// column's.
    ///
    /// # Panics
    /// If the column is too large to address.
    pub(crate) fn spread(
        self,
        levels: &'a [Level],
        column: &'a mut Values,
        tasks: &mut [GatherTask<'a>],
    ) {
        let rows = self.runs.clone().map(|run| run.rows);
        let bytes = self.bytes(rows.clone().sum());
        assert!(
            bytes <= isize::MAX as u64,
            "a padded column is too large to address"
        );
        let row_len = self.row_len();
        let cells = rows.map(|rows| rows * row_len);
        let total = cells.clone().sum();
        let mut runs = tasks.iter_mut().zip(self.runs.clone());
        let pad = |to, run: &'a Segment| Pad {
            rows: run.rows,
            to,
            levels,
            splits: &run.splits,
            values: &run.values,
            fill: self.fill,
        };
        match (column, self.fill) {
            (Values::String(strings), Scalar::String(fill)) => {
                let bytes = bytes as usize - (total + 1) * size_of::<i64>();
                strings.clear();
                let (mut offsets, mut data) = strings.append(total, bytes);
                let mut before = 0;
                for ((task, run), cells) in runs.zip(cells) {
                    let gaps = cells - run.values.len();
                    let bytes = run.bytes().len() + gaps * fill.len();
                    let to = PadTarget::Strings {
                        before,
                        offsets: carve(&mut offsets, cells),
                        data: carve(&mut data, bytes),
                    };
                    before += bytes as i64;
                    task.pad(pad(to, run));
                }
            }
            (fixed_width, _) => {
                each_values!(&mut *fixed_width, buffer => buffer.set_len(total), _strings => ());
                Slot::split(fixed_width, cells, |_, slot| {
                    if let Some((task, run)) = runs.next() {
                        task.pad(pad(PadTarget::FixedWidth(slot), run));
                    }
                });
            }
        }
    }
}

/// Rows of a segment, and the slice of a padded column to which they are written.
#[derive(Debug)]
pub(crate) struct Pad<'a> {
    rows: usize,
    to: PadTarget<'a>,
    levels: &'a [Level],
    /// For each level a 0, then the end of each list, counted in items of the next level.
    splits: &'a [Buffer<i64>],
    values: &'a Values,
    fill: &'a Scalar,
}

/// The slice of a column for the rows of a segment.
#[derive(Debug)]
enum PadTarget<'a> {
    FixedWidth(Slot<'a>),
    Strings {
        /// Bytes of the strings of earlier segments.
        before: i64,
        offsets: &'a mut [i64],
        data: &'a mut [u8],
    },
}

impl Pad<'_> {
    /// Size of the cells in bytes.
    pub(crate) fn bytes(&self) -> usize {
        match &self.to {
            PadTarget::FixedWidth(slot) => slot.bytes(),
            PadTarget::Strings { offsets, data, .. } => size_of_val(*offsets) + data.len(),
        }
    }

    /// Writes all cells.
    pub(crate) fn run(self) {
        let (rows, lists) = (self.rows, Lists::new(self.levels, self.splits));
        macro_rules! write {
            ($($variant:ident: $element:ty, $raw:ty, $class:ident, $name:literal, $about:literal;)*) => {
                match (self.to, self.values, self.fill) {
                    $((
                        PadTarget::FixedWidth(Slot::$variant(rest)),
                        Values::$variant(values),
                        Scalar::$variant(fill),
                    ) => {
                        let (values, fill) = (values.as_slice(), (*fill).into());
                        write_rows(rows, lists, Cells { rest, values, fill });
                    })*
                    (
                        PadTarget::Strings { before, offsets, data },
                        Values::String(values),
                        Scalar::String(fill),
                    ) => {
                        write_rows(rows, lists, StringCells { end: before, offsets, data, values, fill });
                    }
                    _ => unreachable!("column, segment and fill are of one dtype"),
                }
            };
        }
        fixed_width_dtypes!(write);
    }
}

/// The cells of some rows in row-major order, written from first to last.
trait Sink {
    /// Number of cells that are not written yet.
    fn remaining(&self) -> usize;
    /// Writes values of the segment.
    fn values(&mut self, range: Range<usize>);
    /// Writes the fill `n` times.
    fn fill(&mut self, n: usize);
}

/// Nested lists: the levels, outermost first, and the ends of the lists of each level.
#[derive(Clone, Copy)]
struct Lists<'a> {
    levels: &'a [Level],
    splits: &'a [Buffer<i64>],
}

impl<'a> Lists<'a> {
    fn new(levels: &'a [Level], splits: &'a [Buffer<i64>]) -> Self {
        Lists { levels, splits }
    }

    /// The outermost level, the ends of its lists, and the inner levels.
    fn split(self) -> Option<(Level, &'a [i64], Self)> {
        let (level, levels) = self.levels.split_first()?;
        let (ends, splits) = self.splits.split_first()?;
        Some((*level, ends.as_slice(), Lists::new(levels, splits)))
    }
}

fn write_rows(rows: usize, lists: Lists<'_>, mut sink: impl Sink) {
    // A batch of many lists can have no cells.
    if sink.remaining() > 0 {
        (0..rows).for_each(|row| list(lists, row, &mut sink));
        // Lists that the segment lacks.
        sink.fill(sink.remaining());
    }
}

/// Writes list `i` of the outermost level of `lists`.
fn list(lists: Lists<'_>, i: usize, sink: &mut impl Sink) {
    let Some((level, ends, inner)) = lists.split() else {
        return;
    };
    let items = match ends.get(i..i + 2) {
        Some(&[start, end]) => start as usize..end as usize,
        _ => 0..0,
    };
    let missing = level.len - items.len();
    if inner.levels.is_empty() {
        sink.values(items);
    } else {
        items.for_each(|item| list(inner, item, sink));
    }
    sink.fill(missing * level.cells);
}

/// Cells of fixed width.
struct Cells<'a, T> {
    rest: &'a mut [T],
    values: &'a [T],
    fill: T,
}

impl<T: Copy> Sink for Cells<'_, T> {
    fn remaining(&self) -> usize {
        self.rest.len()
    }

    fn values(&mut self, range: Range<usize>) {
        carve(&mut self.rest, range.len()).copy_from_slice(&self.values[range]);
    }

    fn fill(&mut self, n: usize) {
        carve(&mut self.rest, n).fill(self.fill);
    }
}

/// Cells of strings.
struct StringCells<'a> {
    /// The end of the last string in the column's data.
    end: i64,
    offsets: &'a mut [i64],
    data: &'a mut [u8],
    values: &'a Strings,
    fill: &'a [u8],
}

impl Sink for StringCells<'_> {
    fn remaining(&self) -> usize {
        self.offsets.len()
    }

    fn values(&mut self, range: Range<usize>) {
        let ends = &self.values.offsets()[range.start..=range.end];
        let (start, end) = (ends[0], ends[range.len()]);
        let data = &self.values.data()[start as usize..end as usize];
        carve(&mut self.data, data.len()).copy_from_slice(data);
        for (to, from) in carve(&mut self.offsets, range.len())
            .iter_mut()
            .zip(&ends[1..])
        {
            *to = self.end + (from - start);
        }
        self.end += end - start;
    }

    fn fill(&mut self, n: usize) {
        for to in carve(&mut self.offsets, n) {
            carve(&mut self.data, self.fill.len()).copy_from_slice(self.fill);
            self.end += self.fill.len() as i64;
            *to = self.end;
        }
    }
}
