//! The window: blocks that take part in the next batches, each in its place.

use std::collections::VecDeque;

use avro_decode::prefetch_value;

use crate::block::WindowBlock;
use crate::limits::LOOKED_AT_AHEAD;

/// Blocks, and what drawing from them needs to know: there may be thousands, of
/// which a batch reads some, and only those are looked at for each batch.
#[derive(Debug)]
pub(crate) struct Window {
    blocks: Vec<WindowBlock>,
    /// Records of each block that are unread.
    unread: Vec<u64>,
    /// Records of all blocks that are unread.
    records: u64,
    /// Bytes of all blocks that have such.
    held: u64,
    order: Order,
    /// The places of the blocks that are being read, ascending.
    visits: Vec<usize>,
    /// What each of them was before.
    before: Vec<Before>,
}

/// Where blocks that come in are put.
#[derive(Debug)]
enum Order {
    /// Behind the others, which are drained from the first on.
    Kept,
    /// In the places of drained blocks. So those that are still to be inflated are
    /// among those that are not, and memory is read while there is other work.
    Any {
        /// The places, of which the one that was drained first is taken first.
        drained: VecDeque<usize>,
    },
}

/// What a block was before it was read.
#[derive(Debug)]
struct Before {
    cursor: (u64, usize),
    bytes: u64,
}

impl Window {
    /// An empty window, whose blocks are read in their order unless they are shuffled.
    pub(crate) fn new(is_shuffled: bool) -> Self {
        Window {
            blocks: Vec::new(),
            unread: Vec::new(),
            records: 0,
            held: 0,
            order: match is_shuffled {
                true => Order::Any {
                    drained: VecDeque::new(),
                },
                false => Order::Kept,
            },
            visits: Vec::new(),
            before: Vec::new(),
        }
    }

    /// The blocks. Those that have no unread records have no bytes either.
    pub(crate) fn blocks(&self) -> &[WindowBlock] {
        &self.blocks
    }

    /// The blocks, and the places of those that are to be read.
    pub(crate) fn reading(&mut self) -> (&mut [WindowBlock], &[usize]) {
        (&mut self.blocks, &self.visits)
    }

    /// Records of each block that are unread.
    pub(crate) fn unread(&self) -> &[u64] {
        &self.unread
    }

    /// Records of all blocks that are unread.
    pub(crate) fn records(&self) -> u64 {
        self.records
    }

    /// Bytes of all blocks that have such.
    pub(crate) fn held(&self) -> u64 {
        self.held
    }

    /// Takes a block in.
    pub(crate) fn push(&mut self, block: WindowBlock) {
        let unread = block.unread();
        self.records += unread;
        self.held += block.bytes();
        let place = match &mut self.order {
            Order::Kept => None,
            Order::Any { drained } => drained.pop_front(),
        };
        match place {
            Some(place) => (self.blocks[place], self.unread[place]) = (block, unread),
            None => {
                self.blocks.push(block);
                self.unread.push(unread);
            }
        }
    }

    /// Notes how far blocks have been read which are read now: those of which one of
    /// `batches` takes any records, by their places.
    pub(crate) fn begin(&mut self, batches: &[Vec<u64>]) {
        self.visits.clear();
        self.before.clear();
        let [first, others @ ..] = batches else {
            return;
        };
        // Which these are is chance: a branch for each would be mispredicted.
        self.visits.resize(first.len(), 0);
        let mut visits = 0;
        for (place, take) in first.iter().enumerate() {
            let all = others.iter().fold(*take, |all, takes| all + takes[place]);
            self.visits[visits] = place;
            visits += usize::from(all > 0);
        }
        self.visits.truncate(visits);
        for (nth, &place) in self.visits.iter().enumerate() {
            if let Some(&later) = self.visits.get(nth + LOOKED_AT_AHEAD) {
                prefetch_value(&self.blocks[later]);
            }
            let block = &self.blocks[place];
            self.before.push(Before {
                cursor: block.cursor(),
                bytes: block.bytes(),
            });
        }
    }

    /// Puts the cursors of the blocks that were read back to where they stood.
    pub(crate) fn undo(&mut self) {
        for (place, before) in self.visits.drain(..).zip(self.before.drain(..)) {
            self.blocks[place].set_cursor(before.cursor);
        }
        (_, self.held) = self.counted_anew();
    }

    /// Counts the bytes of the blocks that were read anew, since they may have been
    /// inflated.
    pub(crate) fn count(&mut self) {
        for (&place, before) in self.visits.iter().zip(&mut self.before) {
            let bytes = self.blocks[place].bytes();
            self.held = self.held - before.bytes + bytes;
            before.bytes = bytes;
        }
    }

    /// Lets the blocks go that have been read to their end.
    pub(crate) fn finish(&mut self) {
        for (place, Before { bytes, .. }) in self.visits.drain(..).zip(self.before.drain(..)) {
            let block = &mut self.blocks[place];
            let unread = block.unread();
            self.records -= self.unread[place] - unread;
            self.unread[place] = unread;
            if unread == 0 {
                self.held -= bytes;
                block.drain();
                if let Order::Any { drained } = &mut self.order {
                    drained.push_back(place);
                }
            }
        }
        match &mut self.order {
            Order::Kept => {
                let is_drained = |unread: &&u64| **unread == 0;
                let drained = self.unread.iter().take_while(is_drained).count();
                self.blocks.drain(..drained);
                self.unread.drain(..drained);
            }
            // Most places are empty: few blocks came in for those that were read.
            Order::Any { drained } if drained.len() > self.blocks.len() / 2 => {
                drained.clear();
                self.blocks.retain(|block| block.unread() > 0);
                self.unread.retain(|unread| *unread > 0);
            }
            Order::Any { .. } => {}
        }
        debug_assert_eq!((self.records, self.held), self.counted_anew());
    }

    /// Unread records and bytes of all blocks.
    fn counted_anew(&self) -> (u64, u64) {
        let unread = self.blocks.iter().filter(|block| block.unread() > 0);
        unread.fold((0, 0), |(records, held), block| {
            (records + block.unread(), held + block.bytes())
        })
    }

    /// Lets all blocks go.
    pub(crate) fn clear(&mut self) {
        *self = Window::new(matches!(self.order, Order::Any { .. }));
    }
}
