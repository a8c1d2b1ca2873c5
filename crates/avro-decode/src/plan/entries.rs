//! Sparse features with keys, whose indices and values may be anywhere in an entry or in the
//! record.
//!
//! Values are written to their column at once. The column interleaves the indices of the keys, so
//! these are collected per key until the row ends.

use tensor_batch::{Layout, RowSlots, Segment, Values};

use super::cursor::{Cursor, Fault};
use super::output::{Entries, Output, OutputLayout};
use super::program::{EndEntry, IndexRead};
use super::run::Run;
use super::sparse::{different_lengths, end_of, index_out_of_bounds};
use super::values::columns;
use super::{OutOfBounds, Plan, SLOTS};

/// The collected entries of the current row.
#[derive(Debug)]
pub(super) struct EntryLists {
    /// The indices of each index key.
    index: Vec<Vec<i64>>,
    /// The indices of the lists around each entry, `[entries, lists]` flat.
    around: Vec<i64>,
    /// Number of entries that have ended.
    ended: usize,
    /// Index of the row's first entry in the column's values.
    first_value: usize,
}

impl EntryLists {
    /// The entry lists of a plan's features.
    pub(super) fn of_plan(plan: &Plan) -> Vec<EntryLists> {
        let of_output = |output: &Output| match &output.layout {
            OutputLayout::Entries(entries) => Some(EntryLists {
                index: vec![Vec::new(); entries.shape.len()],
                around: Vec::new(),
                ended: 0,
                first_value: 0,
            }),
            _ => None,
        };
        plan.outputs.iter().filter_map(of_output).collect()
    }

    /// Size in bytes of the indices, which are written to the column when the row ends.
    pub(super) fn index_bytes(&self) -> usize {
        let index: usize = self.index.iter().map(Vec::len).sum();
        (index + self.around.len()) * size_of::<i64>()
    }

    /// Prepares the entry lists for rows from the slots' next row on.
    pub(super) fn start(all: &mut [EntryLists], plan: &Plan, slots: &mut RowSlots<'_>) {
        let is_entries = |output: &&Output| matches!(output.layout, OutputLayout::Entries(_));
        let outputs = plan.outputs.iter().filter(is_entries);
        for (lists, output) in all.iter_mut().zip(outputs) {
            let values = slots.columns()[output.column].segment().expect(SLOTS);
            lists.index.iter_mut().for_each(Vec::clear);
            lists.around.clear();
            lists.ended = 0;
            lists.first_value = values.values.len();
        }
    }
}

impl<'x> Run<'x, '_, '_> {
    /// Reads an index.
    pub(super) fn index(&mut self, read: &IndexRead, cursor: &mut Cursor<'x>) -> Result<(), Fault> {
        let entries = self.entries(read.output);
        let start = *cursor;
        let index = if read.is_int {
            cursor.int()?.into()
        } else {
            cursor.long()?
        };
        let index = match read.rescale {
            None => index,
            Some(rescale) => rescale.apply(index).inspect_err(|_| *cursor = start)?,
        };
        let size = entries.shape[read.key];
        if index as u64 >= end_of(size) && entries.out_of_bounds == OutOfBounds::Error {
            *cursor = start;
            return Err(index_out_of_bounds(index, read.key, size));
        }
        self.state.entries[entries.state].index[read.key].push(index);
        Ok(())
    }

    fn entries(&self, output: usize) -> &'x Entries {
        match &self.plan.outputs[output].layout {
            OutputLayout::Entries(entries) => entries,
            _ => panic!("{SLOTS}"),
        }
    }

    /// Ends an entry, and checks that each key relative to the entry has the same number of values.
    pub(super) fn end_entry(&mut self, end: &EndEntry) -> Result<(), Fault> {
        let entries = self.entries(end.output);
        let (values, _) = columns(self.slots.columns(), &self.plan.outputs[end.output]);
        let values = values.segment().expect(SLOTS).values.len();
        let lists = &mut self.state.entries[entries.state];
        let index = lists.index.iter().map(Vec::len);
        let counts = index.chain([values - lists.first_value]);
        let relative = counts.zip(&entries.relative).filter(|(_, is)| **is);
        let new = same_count(relative.map(|(count, _)| count - lists.ended))?;
        for _ in 0..new {
            let around = end.registers.iter();
            lists
                .around
                .extend(around.map(|&register| self.state.registers[register]));
        }
        lists.ended += new;
        Ok(())
    }

    /// Ends a row, and writes the indices of its entries.
    pub(super) fn end_row(&mut self, output: usize) -> Result<(), Fault> {
        let entries = self.entries(output);
        let (values, mask) = columns(self.slots.columns(), &self.plan.outputs[output]);
        let segment = values.segment().expect(SLOTS);
        let mut mask = mask.map(|slot| slot.segment().expect(SLOTS));
        let lists = &mut self.state.entries[entries.state];
        let index = lists.index.iter().map(Vec::len);
        let count = same_count(index.chain([segment.values.len() - lists.first_value]))?;

        let mut kept: Vec<usize> = (0..count).collect();
        if entries.out_of_bounds == OutOfBounds::Drop {
            let is_inside = |entry: usize| {
                let mut sizes = lists.index.iter().zip(&entries.shape);
                sizes.all(|(index, &size)| (index[entry] as u64) < end_of(size))
            };
            kept.retain(|&entry| is_inside(entry));
            if kept.len() < count {
                let keep: Vec<bool> = (0..count).map(is_inside).collect();
                each(segment, mask.as_deref_mut(), count, |values, first| {
                    values.retain_from(first, &keep);
                });
                self.state.dropped += (count - kept.len()) as u64;
            }
        }
        if entries.sort {
            let around = |entry: usize| &lists.around[entry * entries.lists..][..entries.lists];
            let index = |entry: usize| lists.index.iter().map(move |index| index[entry]);
            let key = |entry| around(entry).iter().copied().chain(index(entry));
            let mut order: Vec<usize> = (0..kept.len()).collect();
            order.sort_by(|&a, &b| key(kept[a]).cmp(key(kept[b])));
            if !order.is_sorted() {
                each(segment, mask, kept.len(), |values, first| {
                    values.permute_from(first, &order);
                });
                kept = order.iter().map(|&entry| kept[entry]).collect();
            }
        }

        let is_coo = entries.layout == Layout::Coo;
        let width = usize::from(is_coo) + entries.lists + lists.index.len();
        // One growth: the old memory and the new are there at a time.
        let mut new = segment.indices.append(kept.len() * width).iter_mut();
        let mut push = |index| {
            if let Some(new) = new.next() {
                *new = index;
            }
        };
        for &entry in &kept {
            if is_coo {
                push(self.batch_row);
            }
            let around = &lists.around[entry * entries.lists..][..entries.lists];
            around.iter().for_each(|&index| push(index));
            for (key, index) in lists.index.iter().enumerate() {
                push(index[entry]);
                let extent = &mut segment.extents[entries.lists + key];
                *extent = (*extent).max(index[entry] + 1);
            }
        }
        lists.first_value = segment.values.len();
        if entries.layout == Layout::Ragged {
            segment.splits[0].push(lists.first_value as i64);
        }
        lists.ended = 0;
        lists.around.clear();
        lists.index.iter_mut().for_each(Vec::clear);
        Ok(())
    }
}

/// The common value of all counts, or an error if they differ.
fn same_count(mut counts: impl Iterator<Item = usize>) -> Result<usize, Fault> {
    let Some(expected) = counts.next() else {
        return Ok(0);
    };
    match counts.find(|&count| count != expected) {
        Some(actual) => Err(different_lengths(expected, actual)),
        None => Ok(expected),
    }
}

/// Changes the last `count` values and their mask.
fn each(
    segment: &mut Segment,
    mask: Option<&mut Segment>,
    count: usize,
    change: impl Fn(&mut Values, usize),
) {
    for segment in [segment].into_iter().chain(mask) {
        let first = segment.values.len() - count;
        change(&mut segment.values, first);
    }
}
