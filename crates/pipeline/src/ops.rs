//! Ops: what workers do, in one sequence in the order of batches.

use std::ops::Range;
use std::sync::Arc;

use atds_format::{ByteSource, Completion, ReadBuffer};

use crate::block::Block;
use crate::memory::Lease;
use crate::pieces::{Join, Piece};
use crate::watch::{READ, What};

/// An op in the queue, or one that has started.
#[derive(Debug)]
pub(crate) struct Queued {
    /// The number of the op in the sequence. One that gave back what it made keeps it.
    pub(crate) seq: u64,
    pub(crate) op: Op,
    /// Number of rows that the op makes.
    pub(crate) rows: u64,
    /// Whether the op runs while no other does: it gave back what it made, since memory was missing.
    pub(crate) is_alone: bool,
}

/// Work for one worker.
#[derive(Debug)]
pub(crate) enum Op {
    /// Prepares blocks that later ops read.
    Prepare(Vec<EarlyBlock>),
    /// Makes consecutive batches, or one piece of a large batch.
    Make(Vec<Piece>),
}

/// A block that is prepared before the ops that read it.
#[derive(Debug)]
pub(crate) struct EarlyBlock {
    pub(crate) block: Arc<Block>,
    /// The interval of the positions to find, in records; `None` if none pay.
    pub(crate) interval: Option<u64>,
}

/// A read. Those of local files are mostly done by workers, before any op. The planning thread waits for it.
#[derive(Debug)]
pub(crate) struct FileRead {
    pub(crate) source: Arc<dyn ByteSource>,
    pub(crate) range: Range<u64>,
    pub(crate) buffer: ReadBuffer,
    pub(crate) done: Completion,
}

impl FileRead {
    pub(crate) fn what(&self) -> What {
        let bytes = self.range.end.saturating_sub(self.range.start);
        READ.with(&[("offset", self.range.start), ("bytes", bytes)])
            .in_file(self.source.location())
    }

    pub(crate) fn run(self) {
        self.source.read(self.range, self.buffer, self.done);
    }
}

/// What a worker does next.
#[derive(Debug)]
pub(crate) enum Work {
    Read(FileRead),
    Join(Join),
    /// An op, with a lease of what it is estimated to need, or of nothing.
    Op(Queued, Lease),
}

impl Op {
    /// What it makes.
    pub(crate) fn pieces(&self) -> &[Piece] {
        match self {
            Op::Prepare(_) => &[],
            Op::Make(pieces) => pieces,
        }
    }
}

impl Queued {
    pub(crate) fn new(seq: u64, op: Op, is_alone: bool) -> Self {
        Queued {
            seq,
            rows: op.pieces().iter().map(|piece| piece.plan().rows).sum(),
            op,
            is_alone,
        }
    }

    pub(crate) fn is_prepare(&self) -> bool {
        matches!(self.op, Op::Prepare(_))
    }
}
