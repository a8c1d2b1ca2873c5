//! The planner: which records of which blocks are the rows of which batch.
//!
//! It sees record counts and no record, so it runs ahead of the workers. What it plans depends on the
//! counts, the orders of files and blocks, the slice, the sizes of batch and buffer, `drop_remainder`,
//! seed, epoch and stream; not on threads, time or memory. An error ends it early.

use std::collections::VecDeque;
use std::mem;
use std::ops::Range;
use std::sync::Arc;

use atds_shuffle::{Stream, Window, window_target};

use crate::Options;
use crate::block::{Block, PreparedSize};
use crate::damage::Skipped;
use crate::replay::{Resumed, Wanted};

/// The records that a block gives to one batch.
#[derive(Clone, Debug)]
pub(crate) struct BlockRead {
    pub(crate) block: Arc<Block>,
    /// The first record, counted among those of the block that are in the split.
    pub(crate) first: u64,
    /// Number of records.
    pub(crate) records: u64,
    /// Number of records after these that damage has cost.
    pub(crate) lost: u64,
    /// Bytes that the payload counts for in the window.
    pub(crate) window_bytes: u64,
    /// Whether no earlier read of the window is of the payload.
    pub(crate) begins: bool,
    /// Whether the payload leaves the window with this read.
    pub(crate) ends: bool,
    /// Whether the block is prepared before it is decoded.
    pub(crate) prepares: bool,
    /// Whether the payload has memory of its own, and not a part of a read buffer.
    pub(crate) is_copied: bool,
}

impl BlockRead {
    /// Whether no other read is of the payload.
    pub(crate) fn is_only(&self) -> bool {
        self.begins && self.ends && !self.block.payload.is_shared
    }
}

/// The rows of a batch, or of a piece of one, in order.
#[derive(Clone, Debug)]
pub(crate) struct BatchPlan {
    pub(crate) rows: u64,
    pub(crate) reads: Vec<BlockRead>,
    /// What the window held before; nothing for later pieces of a batch.
    pub(crate) window: WindowSize,
}

/// What the window held when a batch was drawn.
#[derive(Clone, Debug, Default)]
pub(crate) struct WindowSize {
    /// Bytes of the payloads that no batch before reads.
    pub(crate) bytes: u64,
    /// Those of payloads with memory of their own.
    pub(crate) copied: u64,
    /// Bytes of all payloads up to then.
    pub(crate) total: u64,
    /// Payloads that have left the window since the batch before.
    pub(crate) departed: Vec<Arc<PreparedSize>>,
    /// What framing has left out since the batch before.
    pub(crate) skipped: Vec<Skipped>,
}

/// The window of blocks that have unread records.
#[derive(Debug)]
pub(crate) struct Planner {
    batch_size: u64,
    drop_remainder: bool,
    /// Number of records in the window that a batch is drawn from, unless there are no more.
    target: u64,
    /// Number of unread records in the window.
    records: u64,
    /// Number of batches that were drawn in the epoch.
    drawn: u64,
    /// Number of slots whose blocks are still to be added, where an iteration goes on.
    missing: usize,
    window: WindowSize,
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
    window: Window,
    /// The blocks, by their slots of the window.
    slots: Vec<Option<Slot>>,
}

/// A block of the window. It has all that a draw looks at: the block itself has left the caches.
#[derive(Debug)]
struct Slot {
    /// The unread records up to the first gap, as if the next batch read them.
    unread: BlockRead,
    /// The unread records after it.
    later: VecDeque<Range<u64>>,
    is_shared: bool,
}

impl Slot {
    /// Takes the next `records` records, or those up to the first gap. Returns the slot, too, if it has
    /// more.
    fn read(self, records: u64) -> (BlockRead, Option<Slot>) {
        let Slot {
            unread,
            mut later,
            is_shared,
        } = self;
        let records = records.min(unread.records);
        let rest = match unread.records - records {
            0 => later.pop_front(),
            _ => Some(unread.first + records..unread.first + unread.records),
        };
        let slot = rest.map(|rest| Slot {
            unread: BlockRead {
                block: unread.block.clone(),
                first: rest.start,
                records: rest.end - rest.start,
                begins: false,
                ..unread
            },
            later,
            is_shared,
        });
        let payload = &unread.block.payload;
        let read = BlockRead {
            records,
            begins: unread.begins && (!is_shared || payload.begin()),
            ends: slot.is_none() && (!is_shared || payload.leave()),
            ..unread
        };
        (read, slot)
    }
}

impl Planner {
    /// A planner before the first epoch.
    pub(crate) fn new(options: &Options) -> Self {
        let batch_size = options.batch_size as u64;
        Planner {
            batch_size,
            drop_remainder: options.drop_remainder,
            target: window_target(batch_size, options.shuffle_buffer_size as u64),
            records: 0,
            drawn: 0,
            missing: 0,
            window: WindowSize::default(),
            order: Order::InOrder(VecDeque::new()),
        }
    }

    /// Begins an epoch with an empty window, from which `stream` draws.
    pub(crate) fn begin_epoch(&mut self, options: &Options, epoch: u64, stream: Stream) {
        (self.records, self.drawn, self.missing) = (0, 0, 0);
        let order = match options.is_shuffled() {
            true => Order::Shuffled(Box::new(Shuffled {
                window: Window::new(options.seed, epoch, stream),
                slots: Vec::new(),
            })),
            false => Order::InOrder(VecDeque::new()),
        };
        let left: Vec<Slot> = match mem::replace(&mut self.order, order) {
            Order::InOrder(slots) => slots.into(),
            Order::Shuffled(shuffled) => shuffled.slots.into_iter().flatten().collect(),
        };
        for slot in left {
            let Slot {
                unread, is_shared, ..
            } = slot;
            match is_shared {
                true => self.let_go(&unread.block),
                false => self.leave(&unread.block, !unread.begins),
            }
        }
    }

    /// Goes on after batches that were given out before. The blocks that these have left unread in part are
    /// to be added, each to its slot.
    pub(crate) fn resume(&mut self, resumed: &mut Resumed) {
        self.drawn = resumed.given;
        if let (Order::Shuffled(shuffled), Some(window)) = (&mut self.order, resumed.take_window())
        {
            self.records = window.records();
            self.missing = resumed.missing();
            shuffled.window = window;
        }
    }

    /// Bytes of all payloads that were added.
    pub(crate) fn total(&self) -> u64 {
        self.window.total
    }

    /// Bytes of the payloads in the window that no batch has read.
    pub(crate) fn window_bytes(&self) -> u64 {
        self.window.bytes
    }

    /// Those of payloads that are no parts of read buffers.
    pub(crate) fn copied_bytes(&self) -> u64 {
        self.window.copied
    }

    /// Bytes of the payloads in the window once it is full, if those to come are like the others.
    pub(crate) fn expected_bytes(&self) -> u64 {
        let bytes = u128::from(self.window.bytes) * u128::from(self.target.max(self.records));
        let bytes = bytes / u128::from(self.records.max(1));
        u64::try_from(bytes).unwrap_or(u64::MAX)
    }

    /// Counts `bytes` in the window until [`free`](Self::free), like those of a payload.
    pub(crate) fn reserve(&mut self, bytes: u64) {
        self.window.bytes += bytes;
        self.window.total += bytes;
    }

    /// Ends [`reserve`](Self::reserve).
    pub(crate) fn free(&mut self, bytes: u64) {
        self.window.bytes -= bytes;
    }

    /// Keeps a payload in the window, for blocks of it that come later.
    pub(crate) fn keep(&mut self, block: &Block) {
        let payload = &block.payload;
        if !payload.is_shared || payload.enter() {
            self.reserve(payload.window_bytes());
            self.window.copied += payload.copied_bytes();
        }
    }

    /// Ends [`keep`](Self::keep) for the payload of `block`, which other blocks may share.
    pub(crate) fn let_go(&mut self, block: &Block) {
        let is_begun = block.payload.is_begun();
        if block.payload.leave() {
            self.leave(block, is_begun);
        }
    }

    /// Has a payload leave the window that is not read to its end.
    fn leave(&mut self, block: &Block, is_begun: bool) {
        let payload = &block.payload;
        if is_begun && block.file.decoder.prepares() {
            self.window.departed.push(payload.size().clone());
        } else {
            self.free(payload.window_bytes());
            self.window.copied -= payload.copied_bytes();
        }
    }

    /// Notes what framing has left out: it is of the next batch.
    pub(crate) fn note_skipped(&mut self, skipped: &mut Vec<Skipped>) {
        self.window.skipped.append(skipped);
    }

    /// What framing has left out after the last batch.
    pub(crate) fn take_skipped(&mut self) -> Vec<Skipped> {
        mem::take(&mut self.window.skipped)
    }

    /// Adds a block of which some records are read.
    pub(crate) fn push(&mut self, block: Arc<Block>, wanted: Wanted) {
        self.keep(&block);
        let Wanted { records, slot: at } = wanted;
        let (count, first) = (records.count(), records.first);
        let slot = Slot {
            is_shared: block.payload.is_shared,
            unread: BlockRead {
                prepares: block.file.decoder.prepares(),
                is_copied: block.payload.copied_bytes() > 0,
                window_bytes: block.payload.window_bytes(),
                block,
                first: first.start,
                lost: 0,
                records: first.end - first.start,
                begins: true,
                ends: true,
            },
            later: records.later,
        };
        // Only false counts have a sum that does not fit.
        self.records = self.records.saturating_add(count);
        match &mut self.order {
            Order::InOrder(slots) => slots.push_back(slot),
            Order::Shuffled(shuffled) => {
                self.missing -= usize::from(at.is_some());
                shuffled.push(slot, at, count);
                self.records = shuffled.window.records();
            }
        }
    }

    /// Whether the window has the records that a batch is drawn from.
    pub(crate) fn is_full(&self) -> bool {
        self.records >= self.target && self.missing == 0
    }

    /// Whether the window has another batch, if no more blocks come.
    pub(crate) fn has_batch(&self) -> bool {
        let least = match self.drop_remainder {
            true => self.batch_size,
            false => 1,
        };
        self.records >= least && self.missing == 0
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
        let rows = self.records.min(self.batch_size);
        self.records -= rows;
        self.drawn += 1;
        let window = WindowSize {
            departed: mem::take(&mut self.window.departed),
            skipped: mem::take(&mut self.window.skipped),
            ..self.window
        };
        let reads = match &mut self.order {
            Order::InOrder(slots) => take_in_order(slots, rows),
            Order::Shuffled(shuffled) => shuffled.draw(rows),
        };
        // A payload that is decoded as it is stays.
        let read = reads.iter().filter(|read| match read.prepares {
            true => read.begins,
            false => read.ends,
        });
        for read in read {
            self.window.bytes -= read.window_bytes;
            self.window.copied -= if read.is_copied { read.window_bytes } else { 0 };
        }
        BatchPlan {
            rows,
            reads,
            window,
        }
    }
}

/// Takes the next `rows` records of the window.
fn take_in_order(slots: &mut VecDeque<Slot>, rows: u64) -> Vec<BlockRead> {
    // A batch is drawn as soon as its blocks are here.
    let (mut reads, mut left) = (Vec::with_capacity(slots.len().min(rows as usize)), rows);
    while left > 0
        && let Some(slot) = slots.pop_front()
    {
        let (read, slot) = slot.read(left);
        left -= read.records;
        reads.push(read);
        if let Some(slot) = slot {
            slots.push_front(slot);
        }
    }
    reads
}

impl Shuffled {
    /// Adds a block of `records` unread records, unless the window has it already, in slot `at`.
    fn push(&mut self, slot: Slot, at: Option<usize>, records: u64) {
        let at = at.unwrap_or_else(|| self.window.push(records));
        if self.slots.len() <= at {
            self.slots.resize_with(at + 1, || None);
        }
        self.slots[at] = Some(slot);
    }

    fn draw(&mut self, rows: u64) -> Vec<BlockRead> {
        let Shuffled { window, slots, .. } = self;
        let mut reads = Vec::with_capacity(slots.len().min(rows as usize));
        window.draw(rows, |at, mut records| {
            while records > 0
                && let Some(slot) = slots[at].take()
            {
                let (read, slot) = slot.read(records);
                records -= read.records;
                reads.push(read);
                slots[at] = slot;
            }
        });
        reads
    }
}
