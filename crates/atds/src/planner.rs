//! The planner: which blocks of the window give how many records to which batch.
//!
//! It sees counts and no records, so it need not wait for who reads them: the
//! reader asks it, and the workers find each batch planned.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::mem;

use atds_shuffle::{Sampler, take_in_order, window_target};

use crate::limits::TOGETHER_BATCHES;

/// How records become batches.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Batching {
    pub(crate) batch_size: usize,
    pub(crate) shuffle_buffer_size: usize,
    pub(crate) drop_remainder: bool,
    pub(crate) seed: u64,
}

/// A block of the window that gives records to the batches that are made next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Visit {
    /// Its place in the window.
    pub(crate) place: usize,
    /// Its records that are unread before.
    pub(crate) unread: u64,
    /// Its records that are decompressed then: none if an earlier batch has had them
    /// decompressed.
    pub(crate) to_decompress: u64,
    /// Records that it gives to each of the batches.
    pub(crate) takes: [u64; TOGETHER_BATCHES],
}

impl Visit {
    /// Records that the block gives to all batches.
    pub(crate) fn take(&self) -> u64 {
        self.takes.iter().sum()
    }

    /// Whether no record is unread afterwards.
    pub(crate) fn drains(&self) -> bool {
        self.take() == self.unread
    }
}

/// A batch that was drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Drawn {
    pub(crate) rows: u64,
    /// The blocks that give them.
    pub(crate) visits: usize,
    /// The first place of the window that is of use once the batch is made.
    pub(crate) first: usize,
}

/// What the window will be when all batches drawn before have been made.
#[derive(Debug)]
pub(crate) struct Planner {
    batch_size: u64,
    /// Records that a batch is drawn from, unless there are no more.
    target: u64,
    drop_remainder: bool,
    seed: u64,
    order: Order,
    /// The first place: that of the first of these.
    first: usize,
    /// Records of each block that are unread.
    unread: Vec<u64>,
    /// Records of each block that are to be decompressed.
    to_decompress: Vec<u64>,
    /// Records of all blocks that are unread.
    records: u64,
    /// What each block gives to the batch that is drawn, and which give any.
    takes: Vec<u64>,
    giving: Vec<usize>,
}

/// In which order records are read, and where blocks that come in are put.
#[derive(Debug)]
enum Order {
    /// One block after the other, each behind those before it.
    Kept,
    /// Drawn from all, which take the places of drained blocks. So those that are
    /// still to be decompressed are among those that are not, and memory is read while
    /// there is other work.
    Shuffled {
        sampler: Sampler,
        /// The places of drained blocks, and maybe some behind the last.
        drained: BinaryHeap<Reverse<usize>>,
    },
}

impl Planner {
    /// A planner in epoch 0.
    pub(crate) fn new(batching: Batching) -> Self {
        let batch_size = batching.batch_size as u64;
        let shuffle_buffer_size = batching.shuffle_buffer_size as u64;
        Planner {
            batch_size,
            target: window_target(batch_size, shuffle_buffer_size),
            drop_remainder: batching.drop_remainder,
            seed: batching.seed,
            order: match shuffle_buffer_size {
                0 => Order::Kept,
                _ => Order::Shuffled {
                    sampler: Sampler::new(batching.seed, 0),
                    drained: BinaryHeap::new(),
                },
            },
            first: 0,
            unread: Vec::new(),
            to_decompress: Vec::new(),
            records: 0,
            takes: Vec::new(),
            giving: Vec::new(),
        }
    }

    /// Begins an epoch, with an empty window.
    pub(crate) fn begin_epoch(&mut self, epoch: u64) {
        self.first = 0;
        self.unread.clear();
        self.to_decompress.clear();
        self.records = 0;
        if let Order::Shuffled { sampler, drained } = &mut self.order {
            *sampler = Sampler::new(self.seed, epoch);
            drained.clear();
        }
    }

    /// Takes a block in of which so many records are read, and so many decompressed
    /// when it is read first; returns its place.
    pub(crate) fn push(&mut self, unread: u64, to_decompress: u64) -> usize {
        self.records += unread;
        if let Order::Shuffled { drained, .. } = &mut self.order
            && let Some(Reverse(place)) = drained.pop()
        {
            if let Some(drained) = self.unread.get_mut(place) {
                (*drained, self.to_decompress[place]) = (unread, to_decompress);
                return place;
            }
            // Those that are left are behind the last too.
            drained.clear();
        }
        self.unread.push(unread);
        self.to_decompress.push(to_decompress);
        self.first + self.unread.len() - 1
    }

    /// Whether the window has the records that a batch is drawn from.
    pub(crate) fn is_full(&self) -> bool {
        self.records >= self.target
    }

    /// Whether there is another batch in the window, if no more blocks come.
    pub(crate) fn has_batch(&self) -> bool {
        self.records
            >= if self.drop_remainder {
                self.batch_size
            } else {
                1
            }
    }

    /// Records of no batch: those of an epoch that are left when it has no other
    /// batch.
    pub(crate) fn remainder(&self) -> u64 {
        self.records
    }

    /// Draws a batch. Adds to `visits` what blocks give it, in the order of their
    /// places.
    pub(crate) fn draw(&mut self, visits: &mut Vec<Visit>) -> Drawn {
        let rows = self.records.min(self.batch_size);
        let blocks = self.unread.len();
        // All of them are written.
        self.takes.resize(blocks, 0);
        match &mut self.order {
            Order::Kept => take_in_order(&self.unread, rows, &mut self.takes),
            Order::Shuffled { sampler, .. } => {
                sampler.draw(&self.unread, rows, &mut self.takes);
            }
        }
        // Which blocks give any is chance: a branch for each would be mispredicted.
        self.giving.resize(blocks, 0);
        let mut giving = 0;
        for (block, take) in self.takes.iter().enumerate() {
            self.giving[giving] = block;
            giving += usize::from(*take > 0);
        }
        visits.reserve(giving);
        for &block in &self.giving[..giving] {
            let (unread, take) = (self.unread[block], self.takes[block]);
            let mut visit = Visit {
                place: self.first + block,
                unread,
                to_decompress: mem::take(&mut self.to_decompress[block]),
                ..Visit::default()
            };
            visit.takes[0] = take;
            visits.push(visit);
            self.unread[block] = unread - take;
            if let Order::Shuffled { drained, .. } = &mut self.order
                && unread == take
            {
                drained.push(Reverse(block));
            }
        }
        self.records -= rows;
        self.forget_drained();
        Drawn {
            rows,
            visits: giving,
            first: self.first,
        }
    }

    /// Forgets drained blocks whose places nothing is put in.
    fn forget_drained(&mut self) {
        let is_drained = |unread: &&u64| **unread == 0;
        match self.order {
            Order::Kept => {
                let drained = self.unread.iter().take_while(is_drained).count();
                self.unread.drain(..drained);
                self.to_decompress.drain(..drained);
                self.first += drained;
            }
            // Behind the last that is not.
            Order::Shuffled { .. } => {
                let drained = self.unread.iter().rev().take_while(is_drained).count();
                let left = self.unread.len() - drained;
                self.unread.truncate(left);
                self.to_decompress.truncate(left);
            }
        }
    }
}

#[cfg(test)]
mod tests;
