//! Padded columns: the lists of each row, filled up to the shape of the batch.

use std::ops::Range;

use crate::gather::{GatherTask, carve};
use crate::values::each_values;
use crate::{Scalar, Segment, Slot, Strings, UNKNOWN, Values};

/// How a padded column is filled up in one batch.
#[derive(Clone, Debug)]
pub(crate) struct Padding<'a> {
    /// The length of the lists of each level, and how many cells each item has.
    levels: Vec<(usize, usize)>,
    fill: &'a Scalar,
}

impl<'a> Padding<'a> {
    /// Of a column of `shape`, whose rows are in `segments`.
    pub(crate) fn new<'s>(
        shape: &[i64],
        fill: &'a Scalar,
        segments: impl Iterator<Item = &'s Segment> + Clone,
    ) -> Self {
        let mut cells = 1;
        let mut levels: Vec<_> = (shape.iter().enumerate().rev())
            .map(|(d, &dim)| {
                let extent = segments.clone().map(|s| s.extents[d]).max().unwrap_or(0);
                debug_assert!(dim == UNKNOWN || extent <= dim, "a list is too long");
                // Where a list is too long after all, nothing of it is lost.
                let len = extent.max(dim).max(0) as usize;
                let level = (len, cells);
                cells = len.saturating_mul(cells);
                level
            })
            .collect();
        levels.reverse();
        Padding { levels, fill }
    }

    /// The dimensions of a row.
    pub(crate) fn dims(&self) -> impl Iterator<Item = usize> + '_ {
        self.levels.iter().map(|&(len, _)| len)
    }

    /// Cells of a row, `usize::MAX` if they are more.
    fn row_len(&self) -> usize {
        self.levels
            .first()
            .map_or(1, |(len, cells)| len.saturating_mul(*cells))
    }

    /// Bytes of the column's values, `u64::MAX` if they are more.
    pub(crate) fn bytes<'s>(
        &self,
        rows: usize,
        segments: impl Iterator<Item = &'s Segment>,
    ) -> u64 {
        let cells = (rows as u64).saturating_mul(self.row_len() as u64);
        let Scalar::String(fill) = self.fill else {
            let size = self.fill.dtype().size().unwrap_or(1);
            return cells.saturating_mul(size as u64);
        };
        let (mut filled, mut data) = (0, 0);
        for segment in segments {
            if let Values::String(strings) = &segment.values {
                filled += strings.len() as u64;
                data += strings.data().len() as u64;
            }
        }
        let gaps = cells.saturating_sub(filled);
        let offsets = cells
            .saturating_add(1)
            .saturating_mul(size_of::<i64>() as u64);
        gaps.saturating_mul(fill.len() as u64)
            .saturating_add(data)
            .saturating_add(offsets)
    }

    /// Makes room in `column` and gives each run's task its part.
    ///
    /// # Panics
    /// If the column is too large to address.
    pub(crate) fn spread(
        self,
        column: &'a mut Values,
        run_rows: &[usize],
        segments: impl Iterator<Item = &'a Segment> + Clone,
        tasks: &mut [GatherTask<'a>],
    ) {
        let bytes = self.bytes(run_rows.iter().sum(), segments.clone());
        assert!(
            bytes <= isize::MAX as u64,
            "a padded column is too large to address"
        );
        let row_len = self.row_len();
        let cells = run_rows.iter().map(|rows| rows * row_len);
        let total = cells.clone().sum();
        let runs = tasks.iter_mut().zip(segments).zip(run_rows);
        match (column, self.fill) {
            (Values::String(strings), Scalar::String(fill)) => {
                let bytes = bytes as usize - (total + 1) * size_of::<i64>();
                let (mut offsets, mut data) = strings.allocate(total, bytes);
                let mut before = 0;
                for (((task, segment), &rows), cells) in runs.zip(cells) {
                    let Values::String(from) = &segment.values else {
                        continue;
                    };
                    let bytes = from.data().len() + (cells - from.len()) * fill.len();
                    let to = Room::Strings {
                        before,
                        offsets: carve(&mut offsets, cells),
                        data: carve(&mut data, bytes),
                    };
                    before += bytes as i64;
                    task.pad(self.task(rows, to, segment));
                }
            }
            (fixed_width, _) => {
                each_values!(&mut *fixed_width, buffer => buffer.set_len(total), _strings => ());
                let rooms = Slot::split(fixed_width, cells);
                for (((task, segment), &rows), room) in runs.zip(rooms) {
                    task.pad(self.task(rows, Room::FixedWidth(room), segment));
                }
            }
        }
    }

    fn task(&self, rows: usize, to: Room<'a>, segment: &'a Segment) -> Pad<'a> {
        let levels = self.levels.iter().zip(&segment.splits);
        Pad {
            rows,
            to,
            levels: levels
                .map(|(&(len, cells), ends)| Level {
                    len,
                    cells,
                    ends: ends.as_slice(),
                })
                .collect(),
            values: &segment.values,
            fill: self.fill,
        }
    }
}

/// The rows of one run and their place in a padded column.
#[derive(Debug)]
pub(crate) struct Pad<'a> {
    rows: usize,
    to: Room<'a>,
    levels: Vec<Level<'a>>,
    values: &'a Values,
    fill: &'a Scalar,
}

/// The part of a column that the rows of one run take.
#[derive(Debug)]
enum Room<'a> {
    FixedWidth(Slot<'a>),
    Strings {
        /// Bytes of the strings of earlier runs.
        before: i64,
        offsets: &'a mut [i64],
        data: &'a mut [u8],
    },
}

/// The lists of one level.
#[derive(Debug)]
struct Level<'a> {
    /// The length to which each is filled up.
    len: usize,
    /// Cells of an item.
    cells: usize,
    /// 0, then the end of each list in items of the next level.
    ends: &'a [i64],
}

impl Pad<'_> {
    /// Writes all cells.
    pub(crate) fn run(self) {
        let (rows, levels) = (self.rows, &self.levels);
        macro_rules! write {
            ($($variant:ident),*) => {
                match (self.to, self.values, self.fill) {
                    $((
                        Room::FixedWidth(Slot::$variant(rest)),
                        Values::$variant(values),
                        Scalar::$variant(fill),
                    ) => {
                        let (values, fill) = (values.as_slice(), (*fill).into());
                        write_rows(rows, levels, Cells { rest, values, fill });
                    })*
                    (
                        Room::Strings { before, offsets, data },
                        Values::String(values),
                        Scalar::String(fill),
                    ) => {
                        write_rows(rows, levels, StringCells { end: before, offsets, data, values, fill });
                    }
                    _ => unreachable!("column, segment and fill are of one dtype"),
                }
            };
        }
        write!(Int32, Int64, Float16, BFloat16, Float32, Float64, Bool);
    }
}

/// The cells of some rows in row-major order, written from first to last.
trait Sink {
    /// Cells that are still to be written.
    fn remaining(&self) -> usize;
    /// Writes values of the segment.
    fn values(&mut self, range: Range<usize>);
    /// Writes `n` times the fill.
    fn fill(&mut self, n: usize);
}

fn write_rows(rows: usize, levels: &[Level<'_>], mut sink: impl Sink) {
    // Without cells there is nothing to write, however many lists.
    if sink.remaining() > 0 {
        (0..rows).for_each(|row| list(levels, row, &mut sink));
    }
}

/// Writes list `i` of the first of `levels`.
fn list(levels: &[Level<'_>], i: usize, sink: &mut impl Sink) {
    let Some((level, inner)) = levels.split_first() else {
        return;
    };
    let items = match level.ends.get(i..i + 2) {
        Some(&[start, end]) => start as usize..end as usize,
        _ => 0..0,
    };
    let missing = level.len - items.len();
    if inner.is_empty() {
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
    /// Where the last string ends in the column's data.
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
