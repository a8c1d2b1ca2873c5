//! What a worker does: decompress a block once, decode some of its records.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use avro_block::{DecompressBuffer, Decompressor};
use avro_decode::{Scratch, prefetch_value};

use crate::ahead::Ahead;
use crate::block::{BlockData, WindowBlock};
use crate::limits::{COUNTED_TOGETHER, FOUND_TOGETHER};
use crate::planner::Visit;
use crate::room::Room;
use crate::spare::Spare;
use crate::task::{Done, Failed, Parts, Task};
use crate::window::Section;
use crate::{Error, avro};

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
    decompressor: Decompressor,
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

    /// Runs task `number` as `worker`. `room` is how far blocks may decompress
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
        done.decode_ns = total.saturating_sub(done.decompress_ns);
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
        let Task {
            blocks,
            visits,
            parts,
            ..
        } = task;
        // Bytes of the rows that count for the limit, and bytes they have been
        // read from since.
        let (mut counted, mut read) = (parts.written(), 0);
        tools.ahead.clear();
        for (nth, visit) in visits.iter().enumerate() {
            let later = &visits[nth..];
            if nth % FOUND_TOGETHER == 0 {
                find(blocks, later, nth == 0);
            }
            if let [_, next, ..] = later {
                let (block, behind) = (&blocks[visit.place], &blocks[next.place]);
                if !block.leads_to(behind) {
                    let bytes = behind.next_bytes(next.take());
                    tools.scratch.prefetch_next(bytes);
                }
            }
            if room.budget.stopped() {
                // Nobody will see these batches.
                break;
            }
            let block = &mut blocks[visit.place];
            block.begin_visit();
            let position = block.position;
            read += match &block.data {
                BlockData::Compressed(_) => {
                    self.decompress_and_read(later, blocks, parts, tools, room, done)?;
                    blocks[visit.place].position
                }
                BlockData::Plain(_) | BlockData::Decompressed(_) => {
                    parts.decode(visit, block, None, &mut tools.scratch, done)?;
                    block.position - position
                }
            };
            if read >= COUNTED_TOGETHER {
                let written = parts.written();
                room.take(written - counted)
                    .map_err(|error| parts.failed(visit, error))?;
                (counted, read) = (written, 0);
            }
        }
        Ok(())
    }

    /// Decodes the records that the batches get at the first of some of a task's
    /// visits, of a block that is still to be decompressed.
    fn decompress_and_read(
        &self,
        visits: &[Visit],
        blocks: &mut Section<'_>,
        parts: &mut Parts<'_>,
        tools: &mut Tools,
        room: &Room<'_>,
        done: &mut Done,
    ) -> Result<(), Failed> {
        let Tools {
            decompressor,
            ahead,
            scratch,
            ..
        } = tools;
        let visit = &visits[0];
        let block = &blocks[visit.place];
        let payload_len = block.data.len();
        let (buffer, is_good) = ahead.take(visits, blocks, decompressor, &self.spare, room, done);
        let block = &mut blocks[visit.place];
        let decompressed = if is_good {
            done.records_decompressed += block.count;
            room.take(buffer.len().saturating_sub(payload_len))
        } else {
            decompress(block, decompressor, buffer, room, done)
        };
        decompressed.map_err(|error| parts.failed(visit, error))?;
        let len = buffer.len();
        // Now that it is in a cache.
        parts.decode(visit, block, Some(buffer), scratch, done)?;
        if block.unread() > 0 {
            let decompressed = self.spare.keep(buffer);
            let decompressed =
                decompressed.map_err(|error| parts.failed(visit, block.no_memory(error)))?;
            done.grown += len as i64 - payload_len as i64;
            block.wait_in(decompressed);
        }
        ahead.note(len);
        Ok(())
    }
}

impl Drop for Workshop {
    fn drop(&mut self) {
        for tools in &mut self.tools {
            let tools = tools.get_mut().unwrap_or_else(PoisonError::into_inner);
            tools.ahead.give_back(&self.spare);
        }
    }
}

/// Has the processor find the next records of blocks that are read soon, several at
/// once: looking up where a page is it waits, but not longer for some than for one.
/// Of the visits those up to the second group have been found before, but for the
/// first time.
fn find(blocks: &Section<'_>, visits: &[Visit], is_first: bool) {
    let [from, to] = [1, 2].map(|group| group * FOUND_TOGETHER);
    let from = if is_first { 0 } else { from };
    let group = |from: usize, to: usize| {
        let to = to.min(visits.len());
        visits[from.min(to)..to]
            .iter()
            .map(|visit| &blocks[visit.place])
    };
    group(to, to + FOUND_TOGETHER).for_each(prefetch_value);
    group(from, to).for_each(WindowBlock::find);
}

/// Decompresses a compressed block into `buffer`.
fn decompress(
    block: &WindowBlock,
    decompressor: &mut Decompressor,
    buffer: &mut DecompressBuffer,
    room: &Room<'_>,
    done: &mut Done,
) -> Result<(), Error> {
    let BlockData::Compressed(payload) = &block.data else {
        return Ok(());
    };
    let start = Instant::now();
    // The payload is let go once it is decompressed: only the difference counts.
    let most = block.file.lenience.max_block_bytes;
    let limit = most.min(room.left() + payload.len());
    if let Err(error) = block.decompress(decompressor, payload, buffer, limit, &mut done.tolerated)
    {
        let too_large = matches!(error, avro_block::DecompressError::TooLarge { .. });
        if too_large && limit < most {
            // No fault of the block. How large it is shows when it is decompressed: twice what there
            // was is asked for, so that a few tries find a limit that will do.
            let grown = (2 * limit.min(most / 2)).saturating_sub(payload.len()) as u64 + 1;
            let kind = room.budget.exceeded(room.used() + grown);
            return Err(block.locate(Error::new(kind)));
        }
        let kind = avro::ErrorKind::Container(error.into());
        return Err(block.locate(Error::new(kind)));
    }
    done.decompress_ns += start.elapsed().as_nanos() as u64;
    done.records_decompressed += block.count;
    room.take(buffer.len().saturating_sub(payload.len()))
}

/// What only one worker ever has the number of.
pub(crate) fn own<T>(thing: &Mutex<T>) -> MutexGuard<'_, T> {
    thing.lock().unwrap_or_else(PoisonError::into_inner)
}
