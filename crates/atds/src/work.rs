//! What a worker does: inflate a block once, decode some of its records.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use avro_block::{InflateBuffer, Inflater};
use avro_decode::Scratch;
use tensor_batch::RowSlots;

use crate::ahead::Ahead;
use crate::budget::Budget;
use crate::limits::{COUNTED_TOGETHER, MAX_BLOCK_BYTES, TOGETHER_BATCHES};
use crate::spare::Spare;
use crate::window::{BlockData, WindowBlock};
use crate::{Error, ErrorKind};

/// A contiguous part of the window, and what it gives to each of the batches
/// that are being made.
#[derive(Debug)]
pub(crate) struct Task<'a> {
    pub(crate) blocks: &'a mut [WindowBlock],
    pub(crate) parts: Parts<'a>,
    /// Who has done it.
    pub(crate) worker: Option<usize>,
    /// What became of it.
    pub(crate) result: Result<Done, Failed>,
}

/// What a task gives to the batches, in their order; `None` for one that it gives
/// nothing to.
#[derive(Debug, Default)]
pub(crate) struct Parts<'a>(pub(crate) [Option<Part<'a>>; TOGETHER_BATCHES]);

/// What a task gives to a batch.
#[derive(Debug)]
pub(crate) struct Part<'a> {
    /// Records that each of the task's blocks gives.
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
    /// A worker's own.
    tools: Vec<Mutex<Tools>>,
    spare: Arc<Spare>,
}

/// What a worker uses again and again.
#[derive(Debug, Default)]
struct Tools {
    inflater: Inflater,
    ahead: Ahead,
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

    /// Runs task `number` as `worker`. `room` is how far blocks may inflate
    /// together before the memory limit is reached.
    pub(crate) fn run(
        &self,
        worker: usize,
        number: usize,
        tasks: &[Mutex<Task<'_>>],
        room: &Room<'_>,
    ) {
        // A worker runs one task at a time: nobody else holds its tools.
        let mut tools = own(&self.tools[worker]);
        let mut task = own(&tasks[number]);
        let start = Instant::now();
        if let Some(before) = number.checked_sub(1) {
            task.follow(worker, &tasks[before]);
        }
        task.parts.begin(worker);
        let mut done = Done::default();
        let result = self.read_blocks(&mut task, &mut tools, room, &mut done);
        task.parts.end();
        let total = start.elapsed().as_nanos() as u64;
        done.decode_ns = total.saturating_sub(done.inflate_ns);
        task.worker = Some(worker);
        task.result = result.map(|()| done);
    }

    fn read_blocks(
        &self,
        task: &mut Task<'_>,
        tools: &mut Tools,
        room: &Room<'_>,
        done: &mut Done,
    ) -> Result<(), Failed> {
        let Task { blocks, parts, .. } = task;
        // Bytes of the rows that count for the limit, and bytes they have been
        // read from since.
        let (mut counted, mut read) = (parts.written(), 0);
        tools.ahead.clear();
        let mut next = parts.next(0);
        while let Some(number) = next {
            next = parts.next(number + 1);
            if let Some(next) = next
                && !blocks[number].leads_to(&blocks[next])
            {
                blocks[next].prefetch();
            }
            if room.budget.stopped() {
                // Nobody will see these batches.
                break;
            }
            let position = blocks[number].position;
            self.read_block(number, blocks, parts, tools, room, done)?;
            read += blocks[number].position - position;
            if read >= COUNTED_TOGETHER {
                let written = parts.written();
                room.take(written - counted)
                    .map_err(|error| parts.failed(number, error))?;
                (counted, read) = (written, 0);
            }
        }
        Ok(())
    }

    /// Decodes the records that the batches get of one of a task's blocks,
    /// inflated before if that is still to be done.
    fn read_block(
        &self,
        number: usize,
        blocks: &mut [WindowBlock],
        parts: &mut Parts<'_>,
        tools: &mut Tools,
        room: &Room<'_>,
        done: &mut Done,
    ) -> Result<(), Failed> {
        let Tools {
            inflater,
            ahead,
            scratch,
        } = tools;
        let BlockData::Compressed(payload) = &blocks[number].data else {
            return parts.decode(number, &mut blocks[number], None, scratch, done);
        };
        let payload_len = payload.len();
        let (buffer, is_good) = ahead.take(number, (blocks, parts), inflater, room, done);
        let block = &mut blocks[number];
        let inflated = if is_good {
            done.records_inflated += block.count;
            room.take(buffer.len().saturating_sub(payload_len))
        } else {
            inflate(block, inflater, buffer, room, done)
        };
        inflated.map_err(|error| parts.failed(number, error))?;
        // Now that it is in a cache.
        parts.decode(number, block, Some(buffer), scratch, done)?;
        if block.unread() > 0 {
            // It waits in memory of its size; the buffer, which has room for any
            // block so far, stays here and in the cache.
            block.data = BlockData::Inflated(self.spare.copy(buffer));
        }
        Ok(())
    }

    /// A block of no records must have no bytes either.
    pub(crate) fn check_empty(&self, block: &WindowBlock, room: &Room<'_>) -> Result<(), Error> {
        if block.is_empty() {
            return Ok(());
        }
        let len = match block.inflated() {
            Some(bytes) => bytes.len(),
            None => {
                let (mut inflater, mut buffer, mut done) = Default::default();
                inflate(block, &mut inflater, &mut buffer, room, &mut done)?;
                buffer.len()
            }
        };
        block.check_end(len)
    }
}

impl Task<'_> {
    /// Goes on in the segments of the task before if `worker` has done that.
    fn follow(&mut self, worker: usize, before: &Mutex<Self>) {
        // If it is locked, another worker is at it.
        let Ok(mut before) = before.try_lock() else {
            return;
        };
        if before.worker == Some(worker) && before.result.is_ok() {
            for parts in self.parts.0.iter_mut().zip(&mut before.parts.0) {
                if let (Some(own), Some(before)) = parts {
                    own.slots.follow(&mut before.slots);
                }
            }
        }
    }
}

impl Parts<'_> {
    /// Has `worker` write the rows.
    fn begin(&mut self, worker: usize) {
        for part in self.0.iter_mut().flatten() {
            part.slots.begin(worker);
        }
    }

    fn end(&mut self) {
        for part in self.0.iter_mut().flatten() {
            part.slots.end();
        }
    }

    /// Records that block `number` of the task gives to all batches.
    pub(crate) fn take(&self, number: usize) -> u64 {
        let parts = self.0.iter().flatten();
        parts.map(|part| part.takes[number]).sum()
    }

    /// The first block from `first` on that gives any.
    fn next(&self, first: usize) -> Option<usize> {
        let parts = self.0.iter().flatten();
        let next = parts.filter_map(|part| {
            let takes = part.takes.get(first..)?;
            takes.iter().position(|&take| take > 0)
        });
        next.min().map(|behind| first + behind)
    }

    /// Bytes written to columns whose size is not known beforehand.
    fn written(&self) -> usize {
        let parts = self.0.iter().flatten();
        parts.map(|part| part.slots.segment_bytes()).sum()
    }

    /// Decodes what block `number`, which is `block`, gives, the batches one
    /// after the other.
    fn decode(
        &mut self,
        number: usize,
        block: &mut WindowBlock,
        inflated: Option<&[u8]>,
        scratch: &mut Scratch,
        done: &mut Done,
    ) -> Result<(), Failed> {
        for part in self.0.iter_mut().flatten() {
            let (take, slots) = (part.takes[number], &mut part.slots);
            if take > 0 {
                decode(block, inflated, take, scratch, slots, done)
                    .map_err(|error| part.failed(error))?;
            }
        }
        Ok(())
    }

    /// An error before the first record of block `number` is decoded.
    #[cold]
    fn failed(&self, number: usize, error: Error) -> Failed {
        let mut parts = self.0.iter().flatten();
        match parts.find(|part| part.takes[number] > 0) {
            Some(part) => part.failed(error),
            None => Failed { error, row: 0 },
        }
    }
}

impl Part<'_> {
    #[cold]
    fn failed(&self, error: Error) -> Failed {
        let mut row = self.slots.batch_row() as u64;
        if let ErrorKind::TrailingBytes { .. } = error.kind {
            // The record that the block should end with: without it the rows
            // before can be read again and given out.
            row -= 1;
        }
        Failed { error, row }
    }
}

/// Inflates a compressed block into `buffer`.
fn inflate(
    block: &WindowBlock,
    inflater: &mut Inflater,
    buffer: &mut InflateBuffer,
    room: &Room<'_>,
    done: &mut Done,
) -> Result<(), Error> {
    let BlockData::Compressed(payload) = &block.data else {
        return Ok(());
    };
    let start = Instant::now();
    // The payload is let go once it is inflated: only the difference counts.
    let limit = MAX_BLOCK_BYTES.min(room.left() + payload.len());
    if let Err(error) = inflater.inflate(block.file.codec, payload, buffer, limit) {
        let too_large = matches!(error, avro_block::InflateError::TooLarge { .. });
        if too_large && limit < MAX_BLOCK_BYTES {
            // No fault of the block.
            let grown = (limit - payload.len()) as u64 + 1;
            return Err(Error::new(room.budget.exceeded(room.used() + grown)));
        }
        let kind = ErrorKind::Container(error.into());
        return Err(block.locate(Error::new(kind)));
    }
    done.inflate_ns += start.elapsed().as_nanos() as u64;
    done.records_inflated += block.count;
    room.take(buffer.len().saturating_sub(payload.len()))
}

/// Decodes the next `take` records of a block from its inflated bytes: those it
/// has, or those that were inflated for this alone.
fn decode(
    block: &mut WindowBlock,
    inflated: Option<&[u8]>,
    take: u64,
    scratch: &mut Scratch,
    slots: &mut RowSlots<'_>,
    done: &mut Done,
) -> Result<(), Error> {
    let data = inflated.or_else(|| block.inflated());
    let data = data.expect("inflated before");
    let len = data.len();
    if block.taken == 0 {
        done.inflated_bytes += len as u64;
    }
    let (first, position) = block.next_record(data)?;
    let plan = &block.file.plan;
    match plan.execute_with(scratch, data, position, take as usize, slots) {
        Ok(executed) => {
            block.position = executed.position;
            block.taken = first + take;
            done.records_decoded += take;
            done.dropped_entries += executed.dropped;
        }
        Err(error) => return Err(block.locate(Error::decode(error, first))),
    }
    if block.is_at_end() {
        block.check_end(len)?;
    }
    Ok(())
}

/// What only one worker ever has the number of.
pub(crate) fn own<T>(thing: &Mutex<T>) -> MutexGuard<'_, T> {
    thing.lock().unwrap_or_else(PoisonError::into_inner)
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

    pub(crate) fn left(&self) -> usize {
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
