//! The window of blocks from which batches are drawn.

use std::fmt;

use rand_xoshiro::Xoshiro256PlusPlus;

use crate::hypergeometric::hypergeometric;
use crate::limits::{MAX_PICKED, MAX_WINDOW_RECORDS};
use crate::rng::{Purpose, Stream, below, words};

/// A window of blocks, from which batches are drawn uniformly without replacement.
///
/// It knows the number of unread records of each block, and no record. A block has a *slot*: a number
/// that is given to another block once all records of the block are drawn. Seed, epoch, stream and
/// the calls of [`push`](Self::push) and [`draw`](Self::draw) fix what is drawn, on every platform.
///
/// ```
/// use atds_shuffle::{Stream, Window};
///
/// let mut window = Window::new(42, 0, Stream::default());
/// for records in [10, 3, 12, 8] {
///     window.push(records);
/// }
/// let mut reads = Vec::new();
/// window.draw(6, |slot, records| reads.push((slot, records)));
/// assert_eq!(reads, [(0, 3), (2, 1), (3, 2)]);
/// assert_eq!(window.records(), 27);
/// ```
#[derive(Clone)]
pub struct Window {
    rng: Xoshiro256PlusPlus,
    /// Number of unread records.
    records: u64,
    /// A tree of sums. `levels[0]` has the number of unread records of each slot. Each number of a
    /// later level is the sum of a group of the level before. The last level is one group.
    levels: Vec<Vec<Group>>,
    /// Number of slots that were ever used.
    slots: usize,
    /// The free slots among them. The last one is used next.
    free: Vec<usize>,
}

/// The numbers of neighbouring slots, or of neighbouring groups: a cache line. What is drawn depends on
/// its length.
type Group = [u64; GROUP];

const GROUP: usize = 8;

impl Window {
    /// An empty window at the start of an epoch. `stream` is whose batches are drawn from it.
    pub fn new(seed: u64, epoch: u64, stream: Stream) -> Self {
        Window {
            rng: words(seed, epoch, Purpose::Window(stream)),
            records: 0,
            levels: Vec::new(),
            slots: 0,
            free: Vec::new(),
        }
    }

    /// Number of unread records.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Adds a block of `records` unread records and returns its slot: the one that became free last,
    /// or else a new one after all others.
    ///
    /// Records beyond [`MAX_WINDOW_RECORDS`] are left out. A block without records keeps its slot.
    pub fn push(&mut self, records: u64) -> usize {
        let records = records.min(MAX_WINDOW_RECORDS - self.records);
        let slot = self.free.pop().unwrap_or_else(|| self.new_slot());
        self.records += records;
        let mut number = slot;
        for level in &mut self.levels {
            level[number / GROUP][number % GROUP] += records;
            number /= GROUP;
        }
        slot
    }

    /// A slot after all others.
    fn new_slot(&mut self) -> usize {
        let slot = self.slots;
        self.slots += 1;
        let mut number = slot;
        for level in &mut self.levels {
            number /= GROUP;
            if number < level.len() {
                return slot;
            }
            level.push([0; GROUP]);
        }
        if slot == 0 || number > 0 {
            // The level before has a second group, or there is none.
            let mut root = [0; GROUP];
            root[0] = self.records;
            self.levels.push(vec![root]);
        }
        slot
    }

    /// Draws `rows` of the unread records, or all if there are fewer. Calls `read` with each slot that
    /// gives records, and with their number, in the order of the slots.
    ///
    /// The numbers have exactly the multivariate hypergeometric distribution, as if records were
    /// drawn one by one, each time uniformly from the records that are left. The time grows with
    /// the number of slots that give records, and with the logarithm of the number of all slots.
    pub fn draw(&mut self, rows: u64, mut read: impl FnMut(usize, u64)) {
        let (records, rows) = (self.records, rows.min(self.records));
        self.records -= rows;
        if rows > 0 {
            self.draw_from(self.levels.len() - 1, 0, records, rows, &mut read);
        }
    }

    /// Draws `rows` of the `records` records of a group.
    fn draw_from(
        &mut self,
        level: usize,
        group: usize,
        mut records: u64,
        mut rows: u64,
        read: &mut impl FnMut(usize, u64),
    ) {
        let sums = &mut self.levels[level][group];
        let mut counts = [0; GROUP];
        // The numbers of `counts` that are not 0, as bits: branches would be mispredicted.
        let mut given = 0_u32;
        if rows <= MAX_PICKED {
            for left in (records - rows + 1..=records).rev() {
                let at = find(sums, below(left, &mut self.rng));
                sums[at] -= 1;
                counts[at] += 1;
                given |= 1 << at;
            }
        } else {
            for (at, sum) in sums.iter_mut().enumerate() {
                let count = hypergeometric(records, *sum, rows, &mut self.rng);
                records -= *sum;
                rows -= count;
                *sum -= count;
                counts[at] = count;
                given |= u32::from(count > 0) << at;
            }
        }
        let sums = *sums;
        while given > 0 {
            let at = given.trailing_zeros() as usize;
            given &= given - 1;
            let (sum, count) = (sums[at], counts[at]);
            let number = GROUP * group + at;
            if level > 0 {
                self.draw_from(level - 1, number, sum + count, count, read);
                continue;
            }
            read(number, count);
            if sum == 0 {
                self.free.push(number);
            }
        }
    }
}

/// The number of a group that has record `record` of the group.
fn find(sums: &Group, record: u64) -> usize {
    let (mut at, mut end) = (0, 0);
    for sum in &sums[..GROUP - 1] {
        end += sum;
        at += usize::from(end <= record);
    }
    at
}

impl fmt::Debug for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Window")
            .field("records", &self.records)
            .field("slots", &(self.slots - self.free.len()))
            .finish_non_exhaustive()
    }
}

/// Number of unread records that the window must hold before a batch is drawn, unless
/// no more are left: `batch_size + shuffle_buffer_size`, saturating.
pub fn window_target(batch_size: u64, shuffle_buffer_size: u64) -> u64 {
    batch_size.saturating_add(shuffle_buffer_size)
}

#[cfg(test)]
mod tests;
