//! What a worker does: inflate a block once, decode some of its records.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use avro_block::{InflateBuffer, Inflater};
use avro_decode::{Scratch, prefetch_value};

use crate::ahead::Ahead;
use crate::limits::{COUNTED_TOGETHER, MAX_BLOCK_BYTES};
use crate::room::Room;
use crate::spare::Spare;
use crate::task::{Done, Failed, Parts, Task};
use crate::window::{BlockData, WindowBlock};
use crate::{Error, ErrorKind};

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
        let mut behind = next.and_then(|next| parts.next(next + 1));
        while let Some(number) = next {
            next = behind;
            behind = behind.and_then(|behind| parts.next(behind + 1));
            if let Some(behind) = behind {
                prefetch_value(&blocks[behind]);
            }
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
        let task = (&*blocks, &*parts);
        let (buffer, is_good) = ahead.take(number, task, inflater, &self.spare, room, done);
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
            let inflated = self.spare.keep(buffer);
            let inflated =
                inflated.map_err(|error| parts.failed(number, block.no_memory(error)))?;
            block.data = BlockData::Inflated(inflated);
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

/// What only one worker ever has the number of.
pub(crate) fn own<T>(thing: &Mutex<T>) -> MutexGuard<'_, T> {
    thing.lock().unwrap_or_else(PoisonError::into_inner)
}
