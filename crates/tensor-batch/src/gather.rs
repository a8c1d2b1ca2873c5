//! Segments laid end to end, those of each column by a task of its own.

use std::sync::Arc;

use crate::batch::ColumnData;
use crate::pad::Pad;
use crate::reuse::Emptied;
use crate::{Segment, Values};

/// Copying segments to their place in the batch: those of a column, or of a run
/// in a padded one.
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
    /// Offsets that count from the start of the segment, and what comes before.
    Offsets(&'a mut [i64], &'a [i64], i64),
    /// Lists that are filled up.
    Pad(Pad<'a>),
}

impl<'a> GatherTask<'a> {
    /// Copies.
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

    /// Bytes that it writes.
    pub fn bytes(&self) -> usize {
        let copies = self.copies.iter().map(|copy| match copy {
            Copy::Bytes(to, _) => to.len(),
            Copy::Offsets(to, ..) => size_of_val(*to),
            Copy::Pad(pad) => pad.bytes(),
        });
        copies.sum()
    }

    /// A task of no copies yet.
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

    /// Puts `from` next in `rest`.
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

/// Lays the segments of a column end to end in it. What is in the first of them
/// that has rows stays where it is, and becomes the column.
pub(crate) fn join<'a>(
    column: &'a mut ColumnData,
    segments: &'a mut [Segment],
    task: &mut GatherTask<'a>,
) {
    column.clear();
    let Some(first) = segments.iter().position(|segment| segment.rows > 0) else {
        return;
    };
    let (front, behind) = segments.split_at_mut(first + 1);
    let first = &mut front[first];
    std::mem::swap(&mut column.values, &mut first.values);
    std::mem::swap(&mut column.indices, &mut first.indices);
    std::mem::swap(&mut column.splits, &mut first.splits);

    let segments = behind.iter().filter(|segment| segment.rows > 0);
    append_values(
        &mut column.values,
        segments.clone().map(|s| &s.values),
        task,
    );
    let total = segments.clone().map(|s| s.indices.len()).sum();
    let mut rest = column.indices.append(total);
    for segment in segments.clone() {
        task.copy(&mut rest, segment.indices.as_slice());
    }
    for (level, splits) in column.splits.iter_mut().enumerate() {
        let lists = segments.clone().map(|s| s.splits[level].as_slice());
        let before = splits.as_slice().last().copied().unwrap_or(0);
        let total = lists.clone().map(|ends| ends.len() - 1).sum();
        let mut rest = splits.append(total);
        offset_lists(&mut rest, before, lists, task);
    }
}

/// Takes the first `len` of `rest`.
pub(crate) fn carve<'a, T>(rest: &mut &'a mut [T], len: usize) -> &'a mut [T] {
    let (head, tail) = std::mem::take(rest).split_at_mut(len);
    *rest = tail;
    head
}

/// Lays lists of ends (each with a leading 0) end to end in `rest`, behind lists
/// of `before` items.
fn offset_lists<'a>(
    rest: &mut &'a mut [i64],
    mut before: i64,
    lists: impl Iterator<Item = &'a [i64]>,
    task: &mut GatherTask<'a>,
) {
    for list in lists {
        let ends = &list[1..];
        if let Some(&last) = ends.last() {
            let to = carve(rest, ends.len());
            task.copies.push(Copy::Offsets(to, ends, before));
            before += last;
        }
    }
}

fn append_values<'a>(
    column: &'a mut Values,
    segments: impl Iterator<Item = &'a Values> + Clone,
    task: &mut GatherTask<'a>,
) {
    macro_rules! fixed_width {
        ($buffer:ident, $variant:ident) => {{
            let mut rest = $buffer.append(segments.clone().map(Values::len).sum());
            for segment in segments {
                if let Values::$variant(from) = segment {
                    task.copy(&mut rest, from.as_slice());
                }
            }
        }};
    }
    match column {
        Values::Int32(buffer) => fixed_width!(buffer, Int32),
        Values::Int64(buffer) => fixed_width!(buffer, Int64),
        Values::Float16(buffer) => fixed_width!(buffer, Float16),
        Values::BFloat16(buffer) => fixed_width!(buffer, BFloat16),
        Values::Float32(buffer) => fixed_width!(buffer, Float32),
        Values::Float64(buffer) => fixed_width!(buffer, Float64),
        Values::Bool(buffer) => fixed_width!(buffer, Bool),
        Values::String(strings) => {
            let segments = segments.filter_map(Values::as_strings);
            let count = segments.clone().map(|s| s.len()).sum();
            let bytes = segments.clone().map(|s| s.data().len()).sum();
            let before = strings.data().len() as i64;
            let (mut offsets, mut data) = strings.append(count, bytes);
            let lists = segments.clone().map(|s| s.offsets());
            offset_lists(&mut offsets, before, lists, task);
            for segment in segments {
                task.copy(&mut data, segment.data());
            }
        }
    }
}
