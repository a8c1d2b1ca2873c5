//! Where an iteration goes on: batches that were given out before are drawn again, without a payload.

use std::cmp::Ordering;
use std::collections::HashMap;

use atds_shuffle::{Stream, Window, window_target};

use crate::slice::{BlockRecords, FilePart, Records};
use crate::{Error, ErrorKind, Options};

/// Where an iteration is: all before it was given out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Position {
    /// The epoch.
    pub epoch: u64,
    /// Number of batches of the epoch that were given out.
    pub batches: u64,
}

/// A block of an epoch: the file's place in the epoch's order, and the block's in the file's.
pub(crate) type BlockPlace = (usize, usize);

/// Draws the batches of an epoch again that were given out. It sees what the planner saw.
#[derive(Debug)]
pub(crate) struct Replay {
    given: u64,
    /// Number of batches that are still to be drawn.
    left: u64,
    batch_size: u64,
    target: u64,
    /// The first block that no drawn batch has waited for, and the number of its first record in the epoch.
    next: BlockPlace,
    next_record: u64,
    order: Order,
}

#[derive(Debug)]
enum Order {
    /// The number of records that the drawn batches read of the blocks to come, and what is left of the
    /// last block.
    InOrder(u64, Option<(BlockPlace, Unread)>),
    Shuffled {
        window: Window,
        /// The block of each slot, with the records that it had when it was added.
        slots: Vec<(BlockPlace, Unread)>,
    },
}

/// What is left of a block.
#[derive(Debug)]
struct Unread {
    /// The records, counted in the block.
    records: BlockRecords,
    /// Number of all records of the block.
    of: u64,
    /// The number of the block's first record in the epoch, if records were counted.
    start: u64,
}

/// What is read of a block.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    /// The records, counted in the block.
    pub(crate) records: BlockRecords,
    /// The block's slot, if the window has it already, where an iteration goes on.
    pub(crate) slot: Option<usize>,
}

impl Wanted {
    /// All of the `records` records of a block.
    pub(crate) fn all(records: u64) -> Self {
        Wanted {
            records: (0..records).into(),
            slot: None,
        }
    }
}

/// The blocks that drawn batches have left unread, in part or all.
#[derive(Debug, Default)]
pub(crate) struct Resumed {
    /// Number of batches that were drawn.
    pub(crate) given: u64,
    /// The first block that is read as if nothing had been drawn.
    next: BlockPlace,
    /// The number of its first record in the epoch, if records were counted.
    next_record: u64,
    /// What is left of the blocks before.
    unread: HashMap<BlockPlace, (Unread, Option<usize>)>,
    /// The window that the next batch is drawn from.
    window: Option<Window>,
}

impl Replay {
    /// Of `given` batches of an epoch, of `batch_size` records.
    pub(crate) fn new(
        options: &Options,
        batch_size: u64,
        (epoch, stream): (u64, Stream),
        given: u64,
    ) -> Self {
        Replay {
            given,
            left: given,
            batch_size,
            target: window_target(batch_size, options.shuffle_buffer_size as u64),
            next: (0, 0),
            next_record: 0,
            order: match options.is_shuffled() {
                true => Order::Shuffled {
                    window: Window::new(options.seed, epoch, stream),
                    slots: Vec::new(),
                },
                false => Order::InOrder(given.saturating_mul(batch_size), None),
            },
        }
    }

    /// Number of batches to draw.
    pub(crate) fn given(&self) -> u64 {
        self.given
    }

    /// Number of batches that are drawn.
    pub(crate) fn drawn(&self) -> u64 {
        let left = match &self.order {
            Order::InOrder(to_read, _) => to_read.div_ceil(self.batch_size),
            Order::Shuffled { .. } => self.left,
        };
        self.given.saturating_sub(left)
    }

    /// Whether all batches are drawn.
    pub(crate) fn is_done(&self) -> bool {
        self.left == 0
    }

    /// Passes over a file, the part at place `file`. False if its blocks must be seen.
    pub(crate) fn pass_file(&mut self, file: usize, part: &FilePart) -> bool {
        let records = part.count();
        let Order::InOrder(to_read, _) = &mut self.order else {
            return false;
        };
        if *to_read < records {
            return false;
        }
        *to_read -= records;
        self.next = (file + 1, 0);
        self.end_in_order();
        true
    }

    /// Adds a block with `of` records, of which `records` are read. The number of its first record in the
    /// epoch is `start`.
    pub(crate) fn push(&mut self, block: BlockPlace, start: u64, of: u64, records: BlockRecords) {
        self.next = (block.0, block.1 + 1);
        self.next_record = start.saturating_add(of);
        if records.is_empty() {
            return;
        }
        let count = records.count();
        let mut unread = Unread { records, of, start };
        match &mut self.order {
            Order::InOrder(to_read, rest) => {
                let read = count.min(*to_read);
                *to_read -= read;
                unread.records.pass(read);
                *rest = (read < count).then_some((block, unread));
                self.end_in_order();
            }
            Order::Shuffled { window, slots } => {
                let slot = window.push(count);
                match slots.get_mut(slot) {
                    Some(free) => *free = (block, unread),
                    None => slots.push((block, unread)),
                }
                while self.left > 0 && window.records() >= self.target {
                    draw(window, slots, self.batch_size);
                    self.left -= 1;
                }
            }
        }
    }

    fn end_in_order(&mut self) {
        if let Order::InOrder(0, _) = self.order {
            self.left = 0;
        }
    }

    /// All blocks of the epoch were added, or enough. An error if the epoch has fewer batches.
    pub(crate) fn finish(mut self, drop_remainder: bool) -> Result<Resumed, Error> {
        let least = if drop_remainder { self.batch_size } else { 1 };
        if let Order::Shuffled { window, slots } = &mut self.order {
            while self.left > 0 && window.records() >= least {
                draw(window, slots, self.batch_size);
                self.left -= 1;
            }
        }
        let (window, unread) = match self.order {
            Order::InOrder(to_read, rest) => {
                // The last batch of an epoch may have fewer records.
                let missing = if drop_remainder {
                    to_read
                } else {
                    to_read / self.batch_size
                };
                self.left = self.left.min(missing);
                let rest = rest.map(|(block, unread)| (block, (unread, None)));
                (None, rest.into_iter().collect())
            }
            Order::Shuffled { window, slots } => {
                let slots = slots.into_iter().enumerate();
                let slots = slots.filter(|(_, (_, unread))| !unread.records.is_empty());
                let unread = slots.map(|(slot, (block, unread))| (block, (unread, Some(slot))));
                (Some(window), unread.collect())
            }
        };
        if self.left > 0 {
            return Err(Error::new(ErrorKind::BeyondEpoch {
                batches: self.given,
            }));
        }
        Ok(Resumed {
            given: self.given,
            next: self.next,
            next_record: self.next_record,
            unread,
            window,
        })
    }
}

/// Draws a batch.
fn draw(window: &mut Window, slots: &mut [(BlockPlace, Unread)], rows: u64) {
    window.draw(rows, |slot, records| slots[slot].1.records.pass(records));
}

impl Resumed {
    /// What is left of `records`, which were read.
    pub(crate) fn left(&self, records: &Records) -> Records {
        let unread = self.unread.values().flat_map(|(unread, _)| {
            let ranges = unread.records.ranges();
            ranges.map(|range| unread.start + range.start..unread.start + range.end)
        });
        let mut ranges: Vec<_> = unread.collect();
        ranges.sort_unstable_by_key(|range| range.start);
        let mut left = Records::default();
        for range in ranges.into_iter().chain(records.since(self.next_record)) {
            left.push(range);
        }
        left
    }

    /// Whether blocks of the file at `place` in the epoch's order are read.
    pub(crate) fn has_file(&self, place: usize) -> bool {
        place >= self.next.0 || self.unread.keys().any(|&(file, _)| file == place)
    }

    /// The places of the files of which blocks are read, of `count` in the epoch's order.
    pub(crate) fn places(&self, count: usize) -> Vec<usize> {
        let begun = self.unread.keys().map(|&(file, _)| file);
        let mut places: Vec<_> = begun.filter(|&file| file < self.next.0).collect();
        places.sort_unstable();
        places.dedup();
        places.extend(self.next.0..count);
        places
    }

    /// Whether some blocks of the file at `place` are read, and others before them are not.
    pub(crate) fn has_begun(&self, place: usize) -> bool {
        self.has_file(place) && (place, 0) < self.next
    }

    /// Number of blocks of the file at `place` that the drawn batches have waited for.
    pub(crate) fn blocks_passed(&self, place: usize) -> usize {
        match place.cmp(&self.next.0) {
            Ordering::Less => usize::MAX,
            Ordering::Equal => self.next.1,
            Ordering::Greater => 0,
        }
    }

    /// What is left of a block of `of` records, of which `records` are read in the epoch; `None` if nothing
    /// is. An error if the block had another number of records when the batches were drawn again.
    pub(crate) fn unread(
        &mut self,
        block: BlockPlace,
        of: u64,
        records: BlockRecords,
    ) -> Result<Option<Wanted>, Error> {
        if block >= self.next {
            let slot = None;
            return Ok(Some(Wanted { records, slot }));
        }
        let Some((unread, slot)) = self.unread.remove(&block) else {
            return Ok(None);
        };
        if unread.of != of {
            return Err(Error::new(ErrorKind::RecordsChanged {
                counted: unread.of,
                found: of,
            }));
        }
        let records = unread.records;
        Ok(Some(Wanted { records, slot }))
    }

    /// Number of blocks that are to come before any other.
    pub(crate) fn missing(&self) -> usize {
        self.unread.len()
    }

    pub(crate) fn take_window(&mut self) -> Option<Window> {
        self.window.take()
    }
}
