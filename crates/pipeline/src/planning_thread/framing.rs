//! How far the blocks of a file are framed, and which of their records are read.

use crate::replay::BlockPlace;
use crate::slice::{BlockRecords, FilePart, overlap};

/// How far the blocks of a file are framed, in the order of the epoch.
pub(super) struct Framing<'a> {
    /// The place of the file in the epoch's order.
    pub(super) place: usize,
    pub(super) part: &'a FilePart,
    /// The first range of the part that blocks to come may have records of.
    range: usize,
    /// Number of blocks, and of their records.
    pub(super) blocks: usize,
    pub(super) records: u64,
}

/// The blocks of a file or a run, in the order of an epoch.
pub(super) struct OrderedBlocks {
    /// Number of records of each.
    pub(super) records: Vec<u64>,
    /// Number of records of the blocks before each.
    starts: Vec<u64>,
}

impl OrderedBlocks {
    pub(super) fn new(records: impl Iterator<Item = u64>) -> Self {
        let records: Vec<u64> = records.collect();
        let before = records.iter().scan(0_u64, |before, records| {
            let start = *before;
            *before = before.saturating_add(*records);
            Some(start)
        });
        OrderedBlocks {
            starts: before.collect(),
            records,
        }
    }
}

/// Where a block is, and what of it is read.
pub(super) struct FramedPart {
    pub(super) at: BlockPlace,
    /// The number of its first record in the epoch, if records were counted.
    pub(super) start: u64,
    /// Those of its records that are read.
    pub(super) records: BlockRecords,
}

impl<'a> Framing<'a> {
    pub(super) fn new(place: usize, part: &'a FilePart) -> Self {
        Framing {
            place,
            part,
            range: 0,
            blocks: 0,
            records: 0,
        }
    }

    /// Passes over the blocks before the first that is read of. Those after them.
    pub(super) fn pass<'b>(&mut self, blocks: &'b OrderedBlocks) -> &'b [u64] {
        let from = self.part.records.first().map_or(0, |first| first.start);
        let before = blocks.starts.partition_point(|&start| start <= from);
        let before = before.saturating_sub(1);
        self.blocks = before;
        self.records = blocks.starts.get(before).copied().unwrap_or(0);
        &blocks.records[before..]
    }

    pub(super) fn goes_on(&self) -> bool {
        self.part.goes_on(self.records)
    }

    /// Whether records of blocks to come are read.
    pub(super) fn has_more(&self) -> bool {
        self.range < self.part.records.len()
    }

    /// Goes on to the next block, of `records` records.
    pub(super) fn add(&mut self, records: u64) -> FramedPart {
        let mut found = FramedPart {
            at: (self.place, self.blocks),
            start: self.part.start.saturating_add(self.records),
            records: BlockRecords::default(),
        };
        let end = self.records.saturating_add(records);
        for range in &self.part.records[self.range..] {
            if range.start >= end {
                break;
            }
            found.records.push(overlap(range, self.records, records));
            if range.end > end {
                break;
            }
            self.range += 1;
        }
        self.blocks += 1;
        self.records = end;
        found
    }
}
