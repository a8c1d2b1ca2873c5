//! What a worker does: inflate a block once, decode some of its records.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use avro_block::{InflateBuffer, Inflater};
use tensor_batch::RowSlots;

use crate::budget::Budget;
use crate::window::{BlockData, WindowBlock};
use crate::{Error, ErrorKind};

/// A contiguous part of the window, and what it gives to the batch.
pub(crate) struct Task<'a> {
    pub(crate) blocks: &'a mut [WindowBlock],
    /// Records that each block gives.
    pub(crate) takes: &'a [u64],
    /// The rows they go to.
    pub(crate) slots: RowSlots<'a>,
}

/// What a task did, and how long it took.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Done {
    pub(crate) records_decoded: u64,
    pub(crate) records_inflated: u64,
    /// Inflated bytes of the blocks first read by this task.
    pub(crate) inflated_bytes: u64,
    pub(crate) inflate_ns: u64,
    pub(crate) decode_ns: u64,
    pub(crate) dropped_entries: u64,
}

impl Done {
    pub(crate) fn add(&mut self, other: &Done) {
        self.records_decoded += other.records_decoded;
        self.records_inflated += other.records_inflated;
        self.inflated_bytes += other.inflated_bytes;
        self.inflate_ns += other.inflate_ns;
        self.decode_ns += other.decode_ns;
        self.dropped_entries += other.dropped_entries;
    }
}

/// What the workers of a pipeline share.
#[derive(Debug)]
pub(crate) struct Workshop {
    /// A worker's own inflater.
    inflaters: Vec<Mutex<Inflater>>,
    /// Buffers of drained blocks.
    buffers: Mutex<Vec<InflateBuffer>>,
    /// The most a block may inflate to.
    max_inflated: usize,
}

impl Workshop {
    pub(crate) fn new(workers: usize, max_inflated: usize) -> Self {
        Workshop {
            inflaters: (0..workers).map(|_| Mutex::default()).collect(),
            buffers: Mutex::default(),
            max_inflated,
        }
    }

    /// Takes the buffer of a drained block back.
    pub(crate) fn recycle(&self, block: WindowBlock) {
        if let BlockData::Inflated(buffer) = block.data {
            self.buffers().push(buffer);
        }
    }

    /// Runs a task as `worker`. `room` is how far blocks may inflate together
    /// before the memory limit is reached.
    pub(crate) fn run(
        &self,
        worker: usize,
        mut task: Task<'_>,
        room: &Room<'_>,
    ) -> Result<Done, Error> {
        // A worker runs one task at a time: nobody else holds its inflater.
        let mut inflater = self.inflaters[worker]
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let start = Instant::now();
        let mut done = Done::default();
        for (block, &take) in task.blocks.iter_mut().zip(task.takes) {
            if take == 0 {
                continue;
            }
            if room.budget.stopped() {
                // Nobody will see this batch.
                break;
            }
            self.inflate(block, &mut inflater, room, &mut done)?;
            decode(block, take, &mut task.slots, &mut done)?;
        }
        let total = start.elapsed().as_nanos() as u64;
        done.decode_ns = total.saturating_sub(done.inflate_ns);
        Ok(done)
    }

    /// Inflates a block if that is still to be done.
    pub(crate) fn inflate(
        &self,
        block: &mut WindowBlock,
        inflater: &mut Inflater,
        room: &Room<'_>,
        done: &mut Done,
    ) -> Result<(), Error> {
        let payload = match &block.data {
            BlockData::Compressed(payload) => payload,
            BlockData::Plain(bytes) => {
                if block.taken == 0 {
                    done.inflated_bytes += bytes.len() as u64;
                }
                return Ok(());
            }
            BlockData::Inflated(_) => return Ok(()),
        };
        let start = Instant::now();
        let mut buffer = self.buffers().pop().unwrap_or_default();
        // The payload is let go once it is inflated: only the difference counts.
        let limit = self.max_inflated.min(room.left() + payload.len());
        let codec = block.file.codec;
        if let Err(error) = inflater.inflate(codec, payload, &mut buffer, limit) {
            let too_large = matches!(error, avro_block::InflateError::TooLarge { .. });
            let kind = if too_large && limit < self.max_inflated {
                let grown = (limit - payload.len()) as u64 + 1;
                room.budget.exceeded(room.used() + grown)
            } else {
                ErrorKind::Container(error.into())
            };
            return Err(block.locate(Error::new(kind)));
        }
        let bytes = buffer.len();
        if let Err(kind) = room.take(bytes.saturating_sub(payload.len())) {
            return Err(block.locate(Error::new(kind)));
        }
        block.data = BlockData::Inflated(buffer);
        done.records_inflated += block.count;
        done.inflated_bytes += bytes as u64;
        done.inflate_ns += start.elapsed().as_nanos() as u64;
        Ok(())
    }

    fn buffers(&self) -> MutexGuard<'_, Vec<InflateBuffer>> {
        self.buffers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Decodes the next `take` records of an inflated block.
fn decode(
    block: &mut WindowBlock,
    take: u64,
    slots: &mut RowSlots<'_>,
    done: &mut Done,
) -> Result<(), Error> {
    let data: &[u8] = match &block.data {
        BlockData::Plain(bytes) => bytes,
        BlockData::Inflated(buffer) => buffer,
        BlockData::Compressed(_) => unreachable!("inflated before"),
    };
    let plan = &block.file.plan;
    match plan.execute(data, block.position, take as usize, slots) {
        Ok(executed) => {
            block.position = executed.position;
            block.taken += take;
            done.records_decoded += take;
            done.dropped_entries += executed.dropped;
        }
        Err(error) => return Err(block.locate(Error::decode(error, block.taken))),
    }
    if block.unread() == 0 {
        block.check_end()?;
    }
    Ok(())
}

/// How many bytes blocks may still inflate to, all workers together.
#[derive(Debug)]
pub(crate) struct Room<'a> {
    budget: &'a Budget,
    used: AtomicU64,
}

impl<'a> Room<'a> {
    /// The room of `budget`, where the window and the batch have `used` bytes.
    pub(crate) fn new(budget: &'a Budget, used: u64) -> Self {
        let used = used.into();
        Room { budget, used }
    }

    fn left(&self) -> usize {
        let left = self.budget.for_batch().saturating_sub(self.used());
        usize::try_from(left).unwrap_or(usize::MAX / 2)
    }

    fn used(&self) -> u64 {
        self.used.load(Relaxed)
    }

    /// Takes `bytes`, which waits for the consumer if ready batches are in the
    /// way.
    fn take(&self, bytes: usize) -> Result<(), ErrorKind> {
        let bytes = bytes as u64;
        let needed = self.used.fetch_add(bytes, Relaxed) + bytes;
        if needed > self.budget.for_batch() {
            return Err(self.budget.exceeded(needed));
        }
        self.budget.grow(bytes);
        Ok(())
    }
}
