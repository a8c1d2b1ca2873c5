//! What a worker does: inflate a block once, decode some of its records.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use avro_block::{InflateBuffer, Inflater};
use avro_decode::Scratch;
use tensor_batch::RowSlots;

use crate::budget::Budget;
use crate::limits::{COUNTED_TOGETHER, MAX_BLOCK_BYTES};
use crate::spare::{Spare, is_wasteful};
use crate::window::{BlockData, WindowBlock};
use crate::{Error, ErrorKind};

/// A contiguous part of the window, and what it gives to the batch.
#[derive(Debug)]
pub(crate) struct Task<'a> {
    pub(crate) blocks: &'a mut [WindowBlock],
    /// Records that each block gives.
    pub(crate) takes: &'a [u64],
    /// The rows they go to.
    pub(crate) slots: RowSlots<'a>,
    /// What became of it, once it is done.
    pub(crate) result: Result<Done, Failed>,
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
    /// A worker's own.
    tools: Vec<Mutex<Tools>>,
    spare: Arc<Spare>,
}

/// What a worker uses again and again.
#[derive(Debug, Default)]
pub(crate) struct Tools {
    inflater: Inflater,
    /// A buffer that turned out far too large for the last block.
    roomy: Option<InflateBuffer>,
    scratch: Scratch,
}

/// A task that failed.
#[derive(Debug)]
pub(crate) struct Failed {
    pub(crate) error: Error,
    /// The first row of the batch that is not good; those before it in the
    /// same task are.
    pub(crate) row: u64,
}

impl Workshop {
    /// For so many workers, who find buffers in `spare`.
    pub(crate) fn new(workers: usize, spare: Arc<Spare>) -> Self {
        Workshop {
            tools: (0..workers).map(|_| Mutex::default()).collect(),
            spare,
        }
    }

    /// The most workers it is for.
    pub(crate) fn workers(&self) -> usize {
        self.tools.len()
    }

    /// Takes the buffer of a drained block back.
    pub(crate) fn recycle(&self, block: WindowBlock) {
        if let BlockData::Inflated(buffer) = block.data {
            self.spare.give(buffer);
        }
    }

    /// Runs a task as `worker`. `room` is how far blocks may inflate together
    /// before the memory limit is reached.
    pub(crate) fn run(&self, worker: usize, task: &mut Task<'_>, room: &Room<'_>) {
        // A worker runs one task at a time: nobody else holds its tools.
        let mut tools = self.tools[worker]
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let start = Instant::now();
        let mut done = Done::default();
        let result = self.read_blocks(task, &mut tools, room, &mut done);
        let total = start.elapsed().as_nanos() as u64;
        done.decode_ns = total.saturating_sub(done.inflate_ns);
        task.result = result.map(|()| done).map_err(|error| {
            let mut row = task.slots.batch_row() as u64;
            if let ErrorKind::TrailingBytes { .. } = error.kind {
                // The record that the block should end with: without it the
                // rows before can be read again and given out.
                row -= 1;
            }
            Failed { error, row }
        });
    }

    fn read_blocks(
        &self,
        task: &mut Task<'_>,
        tools: &mut Tools,
        room: &Room<'_>,
        done: &mut Done,
    ) -> Result<(), Error> {
        // Bytes of the rows that count for the limit, and bytes they have been
        // read from since.
        let (mut counted, mut read) = (0, 0);
        let blocks = task.blocks.iter_mut().zip(task.takes);
        let mut blocks = blocks.filter(|(_, take)| **take > 0).peekable();
        while let Some((block, &take)) = blocks.next() {
            if let Some((next, _)) = blocks.peek() {
                next.prefetch();
            }
            if room.budget.stopped() {
                // Nobody will see this batch.
                break;
            }
            self.inflate(block, tools, room, done)?;
            let position = block.position;
            decode(block, take, &mut tools.scratch, &mut task.slots, done)?;
            read += block.position - position;
            if read >= COUNTED_TOGETHER {
                let written = task.slots.segment_bytes();
                room.take(written - counted)?;
                (counted, read) = (written, 0);
            }
        }
        Ok(())
    }

    /// Inflates a block if that is still to be done.
    pub(crate) fn inflate(
        &self,
        block: &mut WindowBlock,
        tools: &mut Tools,
        room: &Room<'_>,
        done: &mut Done,
    ) -> Result<(), Error> {
        let payload = match &block.data {
            BlockData::Compressed(payload) => payload,
            BlockData::Plain(_) | BlockData::Inflated(_) => return Ok(()),
        };
        let start = Instant::now();
        let roomy = tools.roomy.take();
        let mut buffer = roomy.unwrap_or_else(|| self.spare.take());
        // The payload is let go once it is inflated: only the difference counts.
        let limit = MAX_BLOCK_BYTES.min(room.left() + payload.len());
        let codec = block.file.codec;
        if let Err(error) = tools.inflater.inflate(codec, payload, &mut buffer, limit) {
            let too_large = matches!(error, avro_block::InflateError::TooLarge { .. });
            if too_large && limit < MAX_BLOCK_BYTES {
                // No fault of the block.
                let grown = (limit - payload.len()) as u64 + 1;
                return Err(Error::new(room.budget.exceeded(room.used() + grown)));
            }
            let kind = ErrorKind::Container(error.into());
            return Err(block.locate(Error::new(kind)));
        }
        if is_wasteful(buffer.capacity(), buffer.len()) {
            let fitting = self.spare.copy(&buffer);
            tools.roomy = Some(std::mem::replace(&mut buffer, fitting));
        }
        done.inflate_ns += start.elapsed().as_nanos() as u64;
        done.records_inflated += block.count;
        room.take(buffer.len().saturating_sub(payload.len()))?;
        block.data = BlockData::Inflated(buffer);
        Ok(())
    }
}

/// Decodes the next `take` records of an inflated block.
fn decode(
    block: &mut WindowBlock,
    take: u64,
    scratch: &mut Scratch,
    slots: &mut RowSlots<'_>,
    done: &mut Done,
) -> Result<(), Error> {
    let data: &[u8] = match &block.data {
        BlockData::Plain(bytes) => bytes,
        BlockData::Inflated(buffer) => buffer,
        BlockData::Compressed(_) => unreachable!("inflated before"),
    };
    if block.taken == 0 {
        done.inflated_bytes += data.len() as u64;
    }
    let plan = &block.file.plan;
    match plan.execute_with(scratch, data, block.position, take as usize, slots) {
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
    fn take(&self, bytes: usize) -> Result<(), Error> {
        let bytes = bytes as u64;
        let needed = self.used.fetch_add(bytes, Relaxed) + bytes;
        self.budget.check(needed)?;
        self.budget.grow(bytes);
        Ok(())
    }
}
