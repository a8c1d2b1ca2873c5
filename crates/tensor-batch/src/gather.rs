//! Gathers segments into columns, with one task for each column.

use std::sync::Arc;

use crate::batch::ColumnData;
use crate::dtype::fixed_width_dtypes;
use crate::pad::Pad;
use crate::parts::{Memory, SegmentRows};
use crate::reuse::Emptied;
use crate::{Segment, Values};

/// A task that copies segments to their place in the batch: all segments of a column, or one run of
/// a padded column.
#[derive(Debug)]
pub struct GatherTask<'a> {
    copies: Vec<Copy<'a>>,
    emptied: Arc<Emptied>,
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
    pub fn run(mut self) {
        for copy in self.copies.drain(..) {
            match copy {
                Copy::Bytes(to, from) => to.copy_from_slice(from),
                Copy::Offsets(to, from, base) => {
                    for (to, from) in to.iter_mut().zip(from) {
                        *to = base + from;
                    }
                }
                Copy::Pad(pad) => pad.run(),
            }
        }
    }

    /// Number of bytes that the task writes.
    pub fn bytes(&self) -> usize {
        let copies = self.copies.iter().map(|copy| match copy {
            Copy::Bytes(to, _) => to.len(),
            Copy::Offsets(to, ..) => size_of_val(*to),
            Copy::Pad(pad) => pad.bytes(),
        });
        copies.sum()
    }

    /// A task without copies.
    pub(crate) fn new(emptied: Arc<Emptied>) -> Self {
        GatherTask {
            copies: emptied.copies(),
            emptied,
        }
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

impl Drop for GatherTask<'_> {
    fn drop(&mut self) {
        self.emptied.give_copies(std::mem::take(&mut self.copies));
    }
}

/// Copies the segments of a column end to end. The first segment with rows was written in the
/// column's memory and needs no copy.
pub(crate) fn join<'a>(
    (number, column): (usize, &'a mut ColumnData),
    segments: &'a mut [Segment],
    workers: &'a [Vec<Option<Segment>>],
    task: &mut GatherTask<'a>,
) {
    let Some(first) = segments.iter().position(|segment| segment.rows > 0) else {
        column.clear();
        return;
    };
    let (front, behind) = segments.split_at_mut(first + 1);
    let first = &mut front[first];
    first.swap_with(column);
    first.memory = Memory::Run;

    let runs = behind.iter().filter(|run| run.rows > 0);
    let parts = runs.map(move |run| SegmentRows::of(run, number, workers));
    append_values(&mut column.values, parts.clone(), task);
    let total = parts.clone().map(|part| part.indices().len()).sum();
    let mut rest = column.indices.append(total);
    for part in parts.clone() {
        task.copy(&mut rest, part.indices());
    }
    for (level, splits) in column.splits.iter_mut().enumerate() {
        let lists = parts.clone().map(move |part| part.splits(level));
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
    parts: impl Iterator<Item = SegmentRows<'a>> + Clone,
    task: &mut GatherTask<'a>,
) {
    macro_rules! append {
        ($($variant:ident: $element:ty, $raw:ty, $class:ident, $name:literal, $about:literal;)*) => {
            match column {
                $(Values::$variant(buffer) => {
                    let total = parts.clone().map(|part| part.values().len()).sum();
                    let mut rest = buffer.append(total);
                    for part in parts {
                        if let Values::$variant(from) = &part.segment.values {
                            task.copy(&mut rest, &from.as_slice()[part.values()]);
                        }
                    }
                })*
                Values::String(strings) => {
                    let count = parts.clone().map(|part| part.values().len()).sum();
                    let bytes = parts.clone().map(|part| part.bytes().len()).sum();
                    let before = strings.data().len() as i64;
                    let (mut offsets, mut data) = strings.append(count, bytes);
                    offset_lists(&mut offsets, before, parts.clone().map(SegmentRows::offsets), task);
                    for part in parts {
                        task.copy(&mut data, part.bytes());
                    }
                }
            }
        };
    }
    fixed_width_dtypes!(append);
}
