//! Blocks inflated together, before it is their turn to be decoded: several at
//! once are inflated faster than one after another.

use std::collections::VecDeque;
use std::time::Instant;

use avro_block::{Codec, InflateBuffer, InflateJob, Inflater};
use tensor_batch::reuse;

use crate::limits::{MAX_BLOCK_BYTES, TOGETHER, TOGETHER_BYTES};
use crate::room::Room;
use crate::task::{Done, Parts};
use crate::window::{BlockData, WindowBlock};

/// The blocks of a task that have been inflated and are not decoded yet. The
/// buffers are used again and again, and stay in the cache.
#[derive(Debug, Default)]
pub(crate) struct Ahead {
    blocks: VecDeque<Inflated>,
    buffers: Vec<InflateBuffer>,
    jobs: Vec<InflateJob<'static>>,
}

/// A block of the task.
#[derive(Clone, Copy, Debug)]
struct Inflated {
    /// Which.
    block: usize,
    /// Where it was inflated to.
    buffer: usize,
    /// Whether it was. If not, there was no room for all at once, or it is at
    /// fault.
    is_good: bool,
}

impl Ahead {
    /// Forgets what an earlier task has left.
    pub(crate) fn clear(&mut self) {
        self.blocks.clear();
    }

    /// The buffer for block `number` of a task, which is compressed, and whether
    /// the block is in it: inflated with those behind it that `parts` takes records
    /// of, if not with one before it.
    pub(crate) fn take(
        &mut self,
        number: usize,
        (blocks, parts): (&[WindowBlock], &Parts<'_>),
        inflater: &mut Inflater,
        room: &Room<'_>,
        done: &mut Done,
    ) -> (&mut InflateBuffer, bool) {
        if self.blocks.front().is_none_or(|next| next.block != number) {
            self.choose(number, blocks, parts);
            self.inflate(blocks, inflater, room, done);
        }
        match self.blocks.pop_front() {
            Some(inflated) => (&mut self.buffers[inflated.buffer], inflated.is_good),
            None => unreachable!("the first is always chosen"),
        }
    }

    /// Chooses block `first` and some behind it.
    fn choose(&mut self, first: usize, blocks: &[WindowBlock], parts: &Parts<'_>) {
        self.blocks.clear();
        let codec = blocks[first].file.codec;
        let most = if codec == Codec::Deflate { TOGETHER } else { 1 };
        let mut bytes = 0;
        for (block, one) in blocks.iter().enumerate().skip(first) {
            let BlockData::Compressed(payload) = &one.data else {
                continue;
            };
            if parts.take(block) == 0 || one.file.codec != codec {
                continue;
            }
            bytes += payload.len();
            let buffer = self.blocks.len();
            if buffer == most || (buffer > 0 && bytes > TOGETHER_BYTES) {
                break;
            }
            let is_good = false;
            self.blocks.push_back(Inflated {
                block,
                buffer,
                is_good,
            });
        }
        if self.buffers.len() < self.blocks.len() {
            self.buffers
                .resize_with(self.blocks.len(), Default::default);
        }
    }

    fn inflate(
        &mut self,
        blocks: &[WindowBlock],
        inflater: &mut Inflater,
        room: &Room<'_>,
        done: &mut Done,
    ) {
        let start = Instant::now();
        // Whatever they inflate to, there is room for all of them.
        let share = room.left() / self.blocks.len();
        let mut jobs = reuse(std::mem::take(&mut self.jobs));
        let chosen = self.blocks.iter().zip(&mut self.buffers);
        jobs.extend(chosen.filter_map(|(chosen, buffer)| {
            let BlockData::Compressed(payload) = &blocks[chosen.block].data else {
                return None;
            };
            let limit = MAX_BLOCK_BYTES.min(share + payload.len());
            Some(InflateJob::new(payload, buffer, limit))
        }));
        let codec = blocks[self.blocks[0].block].file.codec;
        inflater.inflate_many(codec, &mut jobs);
        for (inflated, job) in self.blocks.iter_mut().zip(&jobs) {
            inflated.is_good = job.result.is_ok();
        }
        self.jobs = reuse(jobs);
        done.inflate_ns += start.elapsed().as_nanos() as u64;
    }
}
