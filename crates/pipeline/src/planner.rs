//! The planner: which records of which blocks are the rows of which batch.
//!
//! It sees record counts and no record, so it runs ahead of the workers. What it plans depends on
//! counts, seed, epoch and sizes alone.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use atds_shuffle::{Sampler, window_target};

use crate::block::Block;

/// How records become batches.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Batching {
    pub(crate) batch_size: u64,
    /// Number of records that a batch is drawn from; 0 for no shuffling.
    pub(crate) shuffle_buffer_size: u64,
    pub(crate) drop_remainder: bool,
    pub(crate) seed: u64,
}

/// The records that a block gives to one batch.
#[derive(Clone, Debug)]
pub(crate) struct BlockRead {
    pub(crate) block: Arc<Block>,
    /// The first record, counted in the block.
    pub(crate) first: u64,
    /// Number of records.
    pub(crate) records: u64,
    /// Whether no other batch reads the block, and no other block has its payload.
    pub(crate) is_only: bool,
    /// Whether no earlier batch reads the block.
    pub(crate) is_first: bool,
    /// Whether no later batch reads the block.
    pub(crate) is_last: bool,
}

/// The rows of a batch, in order.
#[derive(Clone, Debug)]
pub(crate) struct BatchPlan {
    pub(crate) rows: u64,
    pub(crate) reads: Vec<BlockRead>,
}

/// The window of blocks that have unread records.
#[derive(Debug)]
pub(crate) struct Planner {
    batching: Batching,
    /// Number of records in the window that a batch is drawn from, unless there are no more.
    target: u64,
    /// Number of unread records in the window.
    records: u64,
    /// Number of batches that were drawn in the epoch.
    drawn: u64,
    order: Order,
}

#[derive(Debug)]
enum Order {
    /// One block after another.
    InOrder(VecDeque<Slot>),
    Shuffled(Box<Shuffled>),
}

/// A window that batches are drawn from at random.
#[derive(Debug)]
struct Shuffled {
    sampler: Sampler,
    slots: Vec<Option<Slot>>,
    /// Number of unread records of each slot.
    unread: Vec<u64>,
    /// The empty slots, perhaps with some beyond the last slot. New blocks take the first.
    empty: BinaryHeap<Reverse<usize>>,
    /// Number of records that each slot gives to the batch that is drawn.
    counts: Vec<u64>,
}

/// A block of the window.
#[derive(Debug)]
struct Slot {
    block: Arc<Block>,
    /// The records that are unread.
    unread: Range<u64>,
    is_read: bool,
}

impl Slot {
    /// Takes the next `records` records.
    fn read(&mut self, records: u64) -> BlockRead {
        let first = self.unread.start;
        self.unread.start += records;
        let is_first = !std::mem::replace(&mut self.is_read, true);
        BlockRead {
            block: self.block.clone(),
            first,
            records,
            is_only: is_first && self.unread.is_empty() && !self.block.payload.is_shared,
            is_first,
            is_last: self.unread.is_empty(),
        }
    }
}

impl Planner {
    /// A planner at the start of epoch 0.
    pub(crate) fn new(batching: Batching) -> Self {
        Planner {
            target: window_target(batching.batch_size, batching.shuffle_buffer_size),
            batching,
            records: 0,
            drawn: 0,
            order: match batching.shuffle_buffer_size {
                0 => Order::InOrder(VecDeque::new()),
                _ => Order::Shuffled(Box::new(Shuffled {
                    sampler: Sampler::new(batching.seed, 0),
                    slots: Vec::new(),
                    unread: Vec::new(),
                    empty: BinaryHeap::new(),
                    counts: Vec::new(),
                })),
            },
        }
    }

    /// Begins an epoch with an empty window.
    pub(crate) fn begin_epoch(&mut self, epoch: u64) {
        self.records = 0;
        self.drawn = 0;
        match &mut self.order {
            Order::InOrder(slots) => slots.clear(),
            Order::Shuffled(shuffled) => {
                shuffled.sampler = Sampler::new(self.batching.seed, epoch);
                shuffled.slots.clear();
                shuffled.unread.clear();
                shuffled.empty.clear();
            }
        }
    }

    /// Adds a block of which `unread` are read.
    pub(crate) fn push(&mut self, block: Arc<Block>, unread: Range<u64>) {
        self.records += unread.end - unread.start;
        let slot = Slot {
            block,
            unread,
            is_read: false,
        };
        match &mut self.order {
            Order::InOrder(slots) => slots.push_back(slot),
            Order::Shuffled(shuffled) => shuffled.push(slot),
        }
    }

    /// Whether the window has the records that a batch is drawn from.
    pub(crate) fn is_full(&self) -> bool {
        self.records >= self.target
    }

    /// Whether the window has another batch, if no more blocks come.
    pub(crate) fn has_batch(&self) -> bool {
        let least = match self.batching.drop_remainder {
            true => self.batching.batch_size,
            false => 1,
        };
        self.records >= least
    }

    /// Number of records in the window: at the end of an epoch, those of no batch.
    pub(crate) fn remainder(&self) -> u64 {
        self.records
    }

    /// Number of batches that were drawn in the epoch.
    pub(crate) fn drawn(&self) -> u64 {
        self.drawn
    }

    /// Draws a batch.
    pub(crate) fn draw(&mut self) -> BatchPlan {
        let rows = self.records.min(self.batching.batch_size);
        self.records -= rows;
        self.drawn += 1;
        let reads = match &mut self.order {
            Order::InOrder(slots) => take_in_order(slots, rows),
            Order::Shuffled(shuffled) => shuffled.draw(rows),
        };
        BatchPlan { rows, reads }
    }
}

/// Takes the next `rows` records of the window.
fn take_in_order(slots: &mut VecDeque<Slot>, rows: u64) -> Vec<BlockRead> {
    let (mut reads, mut left) = (Vec::new(), rows);
    while left > 0
        && let Some(slot) = slots.front_mut()
    {
        let records = left.min(slot.unread.end - slot.unread.start);
        reads.push(slot.read(records));
        left -= records;
        if slot.unread.is_empty() {
            slots.pop_front();
        }
    }
    reads
}

impl Shuffled {
    /// Puts a block into the first empty slot.
    fn push(&mut self, slot: Slot) {
        let unread = slot.unread.end - slot.unread.start;
        if let Some(Reverse(at)) = self.empty.pop() {
            if let Some(empty) = self.slots.get_mut(at) {
                *empty = Some(slot);
                self.unread[at] = unread;
                return;
            }
            // The others are beyond the last slot, too.
            self.empty.clear();
        }
        self.slots.push(Some(slot));
        self.unread.push(unread);
    }

    fn draw(&mut self, rows: u64) -> Vec<BlockRead> {
        self.counts.resize(self.slots.len(), 0);
        self.sampler.draw(&self.unread, rows, &mut self.counts);
        let mut reads = Vec::with_capacity(self.slots.len().min(rows as usize));
        for (at, &records) in self.counts.iter().enumerate() {
            if records == 0 {
                continue;
            }
            let Some(slot) = &mut self.slots[at] else {
                continue;
            };
            reads.push(slot.read(records));
            self.unread[at] -= records;
            if self.unread[at] == 0 {
                self.slots[at] = None;
                self.empty.push(Reverse(at));
            }
        }
        let empty = self.unread.iter().rev().take_while(|unread| **unread == 0);
        let left = self.unread.len() - empty.count();
        self.unread.truncate(left);
        self.slots.truncate(left);
        reads
    }
}
