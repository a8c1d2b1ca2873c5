//! Rows of zeros, put into a finished batch.

use bytemuck::Pod;

use crate::batch::ColumnData;
use crate::values::each_values;
use crate::{Batch, Buffer, ColumnKind, ColumnSpec, Layout, Strings};

/// Rows that are put before a row of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZeroRows {
    /// The row of the batch before which they come; the number of its rows for the end.
    pub before: usize,
    /// Number of rows of zeros.
    pub rows: usize,
}

impl Batch {
    /// The batch with rows of zeros in the places of `gaps`, which are in the order of the rows: numbers are
    /// 0, bools false, strings empty, and rows of sparse, varlen and flat columns have no values. This copies
    /// the batch.
    ///
    /// # Panics
    /// If a gap is beyond the rows of the batch, or before the gap before it.
    #[must_use]
    pub fn with_zero_rows(mut self, gaps: &[ZeroRows]) -> Batch {
        let places = Places {
            rows: self.rows(),
            gaps,
        };
        for (spec, column) in self.spec.columns().iter().zip(&mut self.columns) {
            places.spread(spec, column);
        }
        self.set_rows(places.total());
        self
    }
}

struct Places<'a> {
    rows: usize,
    gaps: &'a [ZeroRows],
}

impl Places<'_> {
    fn total(&self) -> usize {
        self.rows + self.gaps.iter().map(|gap| gap.rows).sum::<usize>()
    }

    /// Calls `rows` with each run of rows of the batch and the number of rows of zeros after it.
    fn each(&self, mut run: impl FnMut(std::ops::Range<usize>, usize)) {
        let mut next = 0;
        for gap in self.gaps {
            run(next..gap.before, gap.rows);
            next = gap.before;
        }
        run(next..self.rows, 0);
    }

    fn spread(&self, spec: &ColumnSpec, column: &mut ColumnData) {
        let is_ragged = |layout: &Layout| *layout == Layout::Ragged;
        match &spec.kind {
            ColumnKind::Dense { .. } | ColumnKind::Padded { .. } => {
                let dims = column.shape[1..].iter();
                let row_len = dims.map(|&dim| dim as usize).product();
                each_values!(
                    &mut column.values,
                    buffer => *buffer = self.buffer(buffer, row_len),
                    strings => *strings = self.strings(strings, row_len)
                );
            }
            ColumnKind::Varlen { layout, .. } | ColumnKind::Sparse { layout, .. }
                if is_ragged(layout) =>
            {
                column.splits[0] = self.splits(&column.splits[0]);
            }
            ColumnKind::Varlen { .. } | ColumnKind::Sparse { .. } => {
                self.move_rows(&mut column.indices, column.shape.len());
            }
            ColumnKind::Flat => return,
        }
        if let Some(rows) = column.shape.first_mut() {
            *rows = self.total() as i64;
        }
    }

    fn buffer<T: Pod>(&self, from: &Buffer<T>, row_len: usize) -> Buffer<T> {
        let mut to = Buffer::new();
        to.reserve(self.total() * row_len);
        self.each(|rows, zeros| {
            to.extend_from_slice(&from.as_slice()[rows.start * row_len..rows.end * row_len]);
            to.append(zeros * row_len).fill(T::zeroed());
        });
        to
    }

    fn strings(&self, from: &Strings, row_len: usize) -> Strings {
        let mut to = Strings::new();
        self.each(|rows, zeros| {
            for string in rows.start * row_len..rows.end * row_len {
                to.push(from.get(string).unwrap_or_default());
            }
            (0..zeros * row_len).for_each(|_| to.push(b""));
        });
        to
    }

    /// Row splits, of which each row of zeros repeats the last.
    fn splits(&self, from: &Buffer<i64>) -> Buffer<i64> {
        let mut to = Buffer::new();
        to.push(0);
        self.each(|rows, zeros| {
            to.extend_from_slice(&from.as_slice()[rows.start + 1..rows.end + 1]);
            let last = from.as_slice()[rows.end];
            to.append(zeros).fill(last);
        });
        to
    }

    /// Changes the row of each entry of `indices`, the first of `width` numbers.
    fn move_rows(&self, indices: &mut Buffer<i64>, width: usize) {
        let mut moved = Vec::with_capacity(self.rows);
        let mut next = 0;
        self.each(|rows, zeros| {
            moved.extend(next..next + rows.len());
            next += rows.len() + zeros;
        });
        for entry in indices.as_mut_slice().chunks_exact_mut(width) {
            entry[0] = moved[entry[0] as usize] as i64;
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a panic is a failure")]
mod tests {
    use super::*;
    use crate::{BatchBuilder, BatchSpec, DType, Scalar};

    /// A batch of `rows` rows with a column of each kind. Row `i` has the number `i + 1`, and that many
    /// values; where `zeros` says so, it is empty.
    fn batch(zeros: &[bool]) -> Batch {
        let specs = vec![
            ColumnSpec::dense("dense", &[2], DType::Int64),
            ColumnSpec::dense("text", &[], DType::String),
            ColumnSpec::flat("flat", DType::Int64),
            ColumnSpec::varlen("coo", &[crate::UNKNOWN], DType::Int64),
            ColumnSpec::varlen("ragged", &[crate::UNKNOWN], DType::Int64)
                .with_layout(Layout::Ragged),
        ];
        let mut builder = BatchBuilder::new(BatchSpec::new(specs).unwrap());
        let names: Vec<_> = builder
            .spec()
            .columns()
            .iter()
            .map(|c| c.name.clone())
            .collect();
        let mut slots = builder.slots(&[zeros.len()]);
        let mut number = 0;
        for (row, &is_zero) in zeros.iter().enumerate() {
            number += i64::from(!is_zero);
            let n = if is_zero { 0 } else { number };
            for (name, slot) in names.iter().zip(slots[0].columns()) {
                if name == "dense" {
                    slot.dense::<i64>().unwrap()[2 * row..2 * row + 2].fill(n);
                    continue;
                }
                let segment = slot.segment().unwrap();
                if name == "text" {
                    let text = "x".repeat(n as usize);
                    segment.values.push(&Scalar::String(text.into_bytes()));
                    continue;
                }
                for value in 0..n {
                    segment.values.push(&Scalar::Int64(10 * n + value));
                    if name == "coo" {
                        segment.indices.extend_from_slice(&[row as i64, value]);
                        segment.extents[0] = segment.extents[0].max(value + 1);
                    }
                }
                if name == "ragged" {
                    let end = segment.values.len() as i64;
                    segment.splits[0].push(end);
                }
            }
            slots[0].advance();
        }
        drop(slots);
        let tasks = builder.gather();
        tasks.into_iter().for_each(crate::GatherTask::run);
        builder.finish()
    }

    #[test]
    fn rows_of_zeros_are_as_if_they_were_written() {
        for (zeros, gaps) in [
            (
                &[false, true, true, false, false, true][..],
                &[(1, 2), (3, 1)][..],
            ),
            (&[true, false], &[(0, 1)]),
            (&[true, true, true], &[(0, 3)]),
            (&[true, false, true, false], &[(0, 1), (1, 1)]),
            (&[false, false], &[]),
        ] {
            let healthy = zeros.iter().filter(|is_zero| !**is_zero).count();
            let gaps: Vec<_> = gaps
                .iter()
                .map(|&(before, rows)| ZeroRows { before, rows })
                .collect();
            let found = batch(&vec![false; healthy]).with_zero_rows(&gaps);
            let expected = batch(zeros);
            assert_eq!(found.rows(), expected.rows());
            let columns = found.columns().zip(expected.columns());
            for ((spec, found), (_, expected)) in columns {
                assert_eq!(
                    format!("{found:?}"),
                    format!("{expected:?}"),
                    "{}",
                    spec.name
                );
            }
        }
    }
}
