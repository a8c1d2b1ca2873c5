//! What the suite needs of a format, for the formats of the page.

use std::fmt;
use std::sync::Arc;

use atds_format::Format;
use tensor_batch::{Batch, BatchSpec, RowSlots};

use crate::columns::Columns;
use crate::toy::{self, Toy};
use crate::{InMemory, TestFile, write};

/// A record of test files.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Row {
    /// The column `label`, dense int64.
    pub label: i64,
    /// The column `numbers`, ragged int64.
    pub numbers: Vec<i64>,
}

/// A format, and how to write files of it.
pub trait TestFormat: fmt::Debug + Send + Sync {
    /// The format.
    fn format(&self) -> Arc<dyn Format>;

    /// The columns of a batch.
    fn spec(&self) -> BatchSpec;

    /// A file with these rows, by blocks, which may be empty.
    fn write(&self, blocks: &[Vec<Row>]) -> Vec<u8>;

    /// As [`write`](Self::write), but row `row` of block `block` is damaged so that decoding it
    /// fails, and no row before it.
    fn write_damaged(&self, blocks: &[Vec<Row>], block: usize, row: usize) -> Vec<u8>;

    /// A file of the name `name` with these bytes, in any source whose size is known.
    fn file(&self, name: &str, bytes: Vec<u8>) -> TestFile {
        InMemory::new(name, bytes).into()
    }

    /// The same as an input of unknown size, which is read from its start to its end.
    fn stream(&self, name: &str, bytes: Vec<u8>) -> TestFile {
        InMemory::new(name, bytes).as_stream().into()
    }

    /// The blocks that the framing makes of rows that are written by these blocks. They differ where a format
    /// has no blocks of its own.
    fn framed(&self, blocks: &[Vec<Row>]) -> Vec<Vec<Row>> {
        blocks.to_vec()
    }

    /// The parts of a file after each of which it may end. Those that are whole are read if it ends in
    /// another place.
    fn parts(&self, blocks: &[Vec<Row>]) -> Vec<Vec<Row>> {
        self.framed(blocks)
    }

    /// How many times the memory of a row of dense and ragged columns a row of this format takes.
    fn memory_factor(&self) -> u64 {
        1
    }

    /// Whether a payload can have several ranges of the file.
    fn has_ranges(&self) -> bool {
        false
    }

    /// Whether the framing finds the next block after a damaged one.
    fn resyncs(&self) -> bool {
        false
    }

    /// Whether the framing begins at the end of a file, so that its size must be known.
    fn needs_size(&self) -> bool {
        false
    }

    /// The rows of a batch.
    fn rows(&self, batch: &Batch) -> Vec<Row> {
        let labels = batch.dense::<i64>("label").expect("a dense column");
        let numbers = batch.ragged::<i64>("numbers").expect("a ragged column");
        assert_eq!((labels.len(), numbers.rows()), (batch.rows(), batch.rows()));
        let rows = labels.iter().enumerate().map(|(i, &label)| Row {
            label,
            numbers: numbers.row(i).to_vec(),
        });
        rows.collect()
    }

    /// The rows that are written in the slots of a batch that is not complete: none if a part of a row is.
    fn written(&self, slots: &mut RowSlots<'_>) -> Vec<Row> {
        rows_of_slots(slots)
    }
}

/// The rows in the slots of a batch that is not complete.
pub(crate) fn rows_of_slots(slots: &mut RowSlots<'_>) -> Vec<Row> {
    let rows = slots.row();
    let [label, list] = slots.columns() else {
        return Vec::new();
    };
    let labels = label.dense::<i64>().expect("a dense column")[..rows].to_vec();
    let list = list.segment().expect("a varlen column");
    let values = list.values.as_slice::<i64>().expect("of int64");
    let splits = list.splits[0].as_slice();
    let is_whole = splits.len() == rows + 1 && splits[rows] == values.len() as i64;
    let numbers = splits.windows(2).map(|ends| {
        let [start, end] = [ends[0] as usize, ends[1] as usize];
        values[start..end].to_vec()
    });
    let rows = labels.into_iter().zip(numbers);
    let rows = rows.map(|(label, numbers)| Row { label, numbers });
    // A part of a row is no row.
    rows.filter(|_| is_whole).collect()
}

/// Writes toy files.
#[derive(Clone, Copy, Debug)]
pub struct ToyFiles {
    /// Whether payloads are packed.
    pub is_packed: bool,
}

impl TestFormat for ToyFiles {
    fn format(&self) -> Arc<dyn Format> {
        Arc::new(Toy)
    }

    fn spec(&self) -> BatchSpec {
        toy::spec()
    }

    fn write(&self, blocks: &[Vec<Row>]) -> Vec<u8> {
        write::toy(blocks, self.is_packed, None)
    }

    fn write_damaged(&self, blocks: &[Vec<Row>], block: usize, row: usize) -> Vec<u8> {
        write::toy(blocks, self.is_packed, Some((block, row)))
    }

    fn resyncs(&self) -> bool {
        true
    }
}

/// Writes files of columns.
#[derive(Clone, Copy, Debug)]
pub struct ColumnFiles {
    /// Number of blocks in a group.
    pub group_blocks: usize,
}

impl TestFormat for ColumnFiles {
    fn format(&self) -> Arc<dyn Format> {
        Arc::new(Columns)
    }

    fn spec(&self) -> BatchSpec {
        toy::spec()
    }

    fn write(&self, blocks: &[Vec<Row>]) -> Vec<u8> {
        write::columns(blocks, self.group_blocks, None)
    }

    fn write_damaged(&self, blocks: &[Vec<Row>], block: usize, row: usize) -> Vec<u8> {
        write::columns(blocks, self.group_blocks, Some((block, row)))
    }

    fn has_ranges(&self) -> bool {
        true
    }

    fn needs_size(&self) -> bool {
        true
    }
}
