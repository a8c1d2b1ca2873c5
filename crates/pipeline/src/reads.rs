//! A worker's way through the reads of a batch.

use std::collections::VecDeque;

use atds_format::{Decoder, Pos, Prepared, Upcoming};

use crate::planner::BlockRead;
use crate::prepare::PreparedBlock;
use crate::tuning::FOUND_TOGETHER;

/// The reads of a batch, of which some blocks are prepared for this batch alone.
pub(crate) struct PlanCursor<'a> {
    reads: &'a [BlockRead],
    next: usize,
    /// The blocks among the next reads that are prepared, in their order.
    pub(crate) prepared: VecDeque<PreparedBlock>,
    /// Where the reads of this group and the next are, by their number in the groups.
    found: [Option<Found<'a>>; 2 * FOUND_TOGETHER],
}

/// Where a read begins.
#[derive(Clone, Copy)]
pub(crate) struct Found<'a> {
    pub(crate) decoder: &'a dyn Decoder,
    pub(crate) prepared: &'a Prepared,
    /// The last known position at or before the first record.
    pub(crate) pos: Pos,
}

impl<'a> PlanCursor<'a> {
    pub(crate) fn new(reads: &'a [BlockRead]) -> Self {
        let mut all = PlanCursor {
            reads,
            next: 0,
            prepared: VecDeque::new(),
            found: Default::default(),
        };
        all.find(0);
        all
    }

    pub(crate) fn next(&mut self) -> Option<&'a BlockRead> {
        let read = self.reads.get(self.next)?;
        if self.next.is_multiple_of(FOUND_TOGETHER) {
            self.find(self.next + FOUND_TOGETHER);
        }
        self.next += 1;
        Some(read)
    }

    /// Finds where a group of reads are. A shuffled batch reads blocks that have left the caches: the
    /// processor waits for several at once no longer than for one.
    fn find(&mut self, first: usize) {
        let group = self.reads.get(first..).unwrap_or_default();
        for (at, read) in (first..first + FOUND_TOGETHER).zip(group) {
            self.found[at % (2 * FOUND_TOGETHER)] = find(read);
        }
    }

    /// Where the last read that [`next`](Self::next) gave is, if its block is prepared for all.
    pub(crate) fn found(&self) -> Option<Found<'a>> {
        self.found[(self.next - 1) % (2 * FOUND_TOGETHER)]
    }

    pub(crate) fn later(&self) -> &'a [BlockRead] {
        &self.reads[self.next..]
    }

    /// What is decoded next, if it is prepared and its position is known.
    pub(crate) fn upcoming(&self) -> Option<Upcoming<'_>> {
        let read = self.reads.get(self.next)?;
        let (block, at) = match self.found[self.next % (2 * FOUND_TOGETHER)] {
            Some(found) => (found.prepared, found.pos),
            None if read.is_only() => {
                let (prepared, _) = self.prepared.front()?.result.as_ref().ok()?;
                (prepared, read.block.nearest(read.first))
            }
            None => return None,
        };
        let records = read.records;
        (at.record == read.first).then_some(Upcoming { block, at, records })
    }
}

fn find(read: &BlockRead) -> Option<Found<'_>> {
    let block = &*read.block;
    Some(Found {
        decoder: &*block.file.decoder,
        prepared: block.payload.prepared()?.ok()?,
        pos: block.nearest(read.first),
    })
}
