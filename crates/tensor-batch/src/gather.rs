//! Gathers segments into columns, with one task for each column.

use crate::batch::ColumnData;
use crate::dtype::fixed_width_dtypes;
use crate::pad::Pad;
use crate::{Segment, Values};

/// A task that copies segments to their place in the batch: all segments of a column, or one run of
/// a padded column.
#[derive(Debug, Default)]
pub struct GatherTask<'a> {
    copies: Vec<Copy<'a>>,
}

/// A part of a [`GatherTask`].
#[derive(Debug)]
pub(crate) enum Copy<'a> {
    /// Bytes as they are.
    Bytes(&'a mut [u8], &'a [u8]),
    /// Offsets from the start of the segment, and a number to add to them.
    Offsets(&'a mut [i64], &'a [i64], i64),
    /// Lists that are filled up.
    Pad(Pad<'a>),
}

impl<'a> GatherTask<'a> {
    /// Runs the task.
    pub fn run(self) {
        self.copies.into_iter().for_each(Copy::run);
    }

    /// Number of bytes that the task writes.
    pub fn bytes(&self) -> usize {
        self.copies.iter().map(Copy::bytes).sum()
    }

    /// The parts of the task, which are independent, too.
    pub(crate) fn into_copies(self) -> impl Iterator<Item = Copy<'a>> {
        self.copies.into_iter()
    }

    pub(crate) fn pad(&mut self, pad: Pad<'a>) {
        self.copies.push(Copy::Pad(pad));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.copies.is_empty()
    }

    /// Adds a copy of `from` to the front of `rest`.
    fn copy<T: bytemuck::Pod>(&mut self, rest: &mut &'a mut [T], from: &'a [T]) {
        if !from.is_empty() {
            let to = carve(rest, from.len());
            let (to, from) = (bytemuck::cast_slice_mut(to), bytemuck::cast_slice(from));
            self.copies.push(Copy::Bytes(to, from));
        }
    }
}

impl Copy<'_> {
    pub(crate) fn run(self) {
        match self {
            Copy::Bytes(to, from) => to.copy_from_slice(from),
            Copy::Offsets(to, from, base) => {
                for (to, from) in to.iter_mut().zip(from) {
                    *to = base + from;
                }
            }
            Copy::Pad(pad) => pad.run(),
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        match self {
            Copy::Bytes(to, _) => to.len(),
            Copy::Offsets(to, ..) => size_of_val(*to),
            Copy::Pad(pad) => pad.bytes(),
        }
    }
}

/// Copies the segments of a column end to end. The first segment with rows was written in the
/// column's memory and needs no copy.
pub(crate) fn join<'a>(
    column: &'a mut ColumnData,
    segments: &'a mut [Segment],
    task: &mut GatherTask<'a>,
) {
    let Some(first) = segments.iter().position(|segment| segment.rows > 0) else {
        column.clear();
        return;
    };
    let (front, after) = segments.split_at_mut(first + 1);
    let first = &mut front[first];
    first.swap_with(column);
    first.is_column = false;

    let runs = after.iter().filter(|run| run.rows > 0);
    append_values(&mut column.values, runs.clone(), task);
    let total = runs.clone().map(|run| run.indices.len()).sum();
    let mut rest = column.indices.append(total);
    for run in runs.clone() {
        task.copy(&mut rest, run.indices.as_slice());
    }
    for (level, splits) in column.splits.iter_mut().enumerate() {
        let lists = runs.clone().map(move |run| run.splits[level].as_slice());
        let before = splits.as_slice().last().copied().unwrap_or(0);
        let total = lists.clone().map(|ends| ends.len() - 1).sum();
        let mut rest = splits.append(total);
        offset_lists(&mut rest, before, lists, task);
    }
}

/// Takes the first `len` elements from `rest`.
pub(crate) fn carve<'a, T>(rest: &mut &'a mut [T], len: usize) -> &'a mut [T] {
    let (head, tail) = std::mem::take(rest).split_at_mut(len);
    *rest = tail;
    head
}

/// Copies lists of ends one after another to `rest`, and adds to each the number of items before
/// it, from `before` on.
fn offset_lists<'a>(
    rest: &mut &'a mut [i64],
    mut before: i64,
    lists: impl Iterator<Item = &'a [i64]>,
    task: &mut GatherTask<'a>,
) {
    for list in lists {
        if let [start, .., last] = list {
            let ends = &list[1..];
            let to = carve(rest, ends.len());
            task.copies.push(Copy::Offsets(to, ends, before - start));
            before += last - start;
        }
    }
}

fn append_values<'a>(
    column: &'a mut Values,
    runs: impl Iterator<Item = &'a Segment> + Clone,
    task: &mut GatherTask<'a>,
) {
    macro_rules! append {
        ($($variant:ident: $element:ty, $raw:ty, $class:ident, $name:literal, $about:literal;)*) => {
            match column {
                $(Values::$variant(buffer) => {
                    let total = runs.clone().map(|run| run.values.len()).sum();
                    let mut rest = buffer.append(total);
                    for run in runs {
                        if let Values::$variant(from) = &run.values {
                            task.copy(&mut rest, from.as_slice());
                        }
                    }
                })*
                Values::String(strings) => {
                    let count = runs.clone().map(|run| run.values.len()).sum();
                    let bytes = runs.clone().map(|run| run.bytes().len()).sum();
                    let before = strings.data().len() as i64;
                    let (mut offsets, mut data) = strings.append(count, bytes);
                    offset_lists(&mut offsets, before, runs.clone().map(Segment::offsets), task);
                    for run in runs {
                        task.copy(&mut data, run.bytes());
                    }
                }
            }
        };
    }
    fixed_width_dtypes!(append);
}
