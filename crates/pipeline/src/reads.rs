//! A worker's way through the reads of a batch.

use std::collections::VecDeque;

use atds_format::{Pos, Prepared, Tally, Upcoming};

use crate::Error;
use crate::planner::BlockRead;

/// The reads of a batch, of which some blocks are prepared for this batch alone.
pub(crate) struct Reads<'a> {
    reads: &'a [BlockRead],
    next: usize,
    /// The blocks among the next reads that are prepared, in their order.
    pub(crate) prepared: VecDeque<Result<OwnPrepared, Error>>,
}

/// A payload that was prepared for one batch alone.
#[derive(Debug, Default)]
pub(crate) struct OwnPrepared {
    pub(crate) prepared: Prepared,
    pub(crate) tally: Tally,
    /// Bytes that are held for it.
    pub(crate) held: u64,
}

impl OwnPrepared {
    pub(crate) fn new((prepared, tally): (Prepared, Tally), held: u64) -> Self {
        OwnPrepared {
            prepared,
            tally,
            held,
        }
    }
}

impl<'a> Reads<'a> {
    pub(crate) fn new(reads: &'a [BlockRead]) -> Self {
        Reads {
            reads,
            next: 0,
            prepared: VecDeque::new(),
        }
    }

    pub(crate) fn next(&mut self) -> Option<&'a BlockRead> {
        let read = self.reads.get(self.next)?;
        self.next += 1;
        Some(read)
    }

    pub(crate) fn later(&self) -> &'a [BlockRead] {
        &self.reads[self.next..]
    }

    /// What is decoded next, if it is prepared and its position is known.
    pub(crate) fn upcoming(&self) -> Option<Upcoming<'_>> {
        let read = self.reads.get(self.next)?;
        let block = if read.is_only && read.block.file.decoder.prepares() {
            &self.prepared.front()?.as_ref().ok()?.prepared
        } else {
            read.block.payload.prepared()?.ok()?
        };
        let at: Pos = read.block.nearest(read.first);
        let records = read.records;
        (at.record == read.first).then_some(Upcoming { block, at, records })
    }
}
