//! Blocks decompressed together, before it is their turn to be decoded: several at
//! once are decompressed faster than one after another.

use std::collections::VecDeque;
use std::mem;
use std::time::Instant;

use avro_block::{DecompressBuffer, DecompressJob, Decompressor};
use tensor_batch::reuse;

use crate::block::BlockData;
use crate::limits::{MAX_PART_BYTES, SMALL_DECOMPRESSED, TOGETHER_BYTES};
use crate::planner::Visit;
use crate::room::Room;
use crate::spare::{Spare, fits};
use crate::task::Done;
use crate::window::Section;

/// The blocks of a task that have been decompressed and are not decoded yet. The
/// buffers of those that do not wait are used again and again, and stay in the
/// cache.
#[derive(Debug, Default)]
pub(crate) struct Ahead {
    blocks: VecDeque<Decompressed>,
    buffers: Vec<DecompressBuffer>,
    jobs: Vec<DecompressJob<'static>>,
    /// Bytes that blocks decompress to at most, but for a few.
    most: usize,
}

/// A block of the task.
#[derive(Clone, Copy, Debug)]
struct Decompressed {
    /// Its place.
    block: usize,
    /// Where it was decompressed to.
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

    /// The buffer for the block of the first of `visits`, those that a task is still to
    /// make, which is compressed, and whether the block is in it: decompressed with some
    /// behind it, if not with one before it. Its memory may be taken away.
    pub(crate) fn take(
        &mut self,
        visits: &[Visit],
        blocks: &Section<'_>,
        decompressor: &mut Decompressor,
        spare: &Spare,
        room: &Room<'_>,
        done: &mut Done,
    ) -> (&mut DecompressBuffer, bool) {
        let next = self.blocks.front().map(|next| next.block);
        if next != visits.first().map(|visit| visit.place) {
            self.choose(visits, blocks);
            self.fit_buffers(spare);
            self.decompress(blocks, decompressor, spare, room, done);
        }
        let Some(decompressed) = self.blocks.pop_front() else {
            unreachable!("the first is always chosen");
        };
        let buffer = &mut self.buffers[decompressed.buffer];
        if !decompressed.is_good {
            // Something larger may be needed.
            spare.give_misfit(mem::take(buffer));
        }
        (buffer, decompressed.is_good)
    }

    /// Notes that a block has decompressed to `len` bytes. Slowly forgotten, as one that does
    /// not fit is decompressed with a detour.
    pub(crate) fn note(&mut self, len: usize) {
        self.most = len.max(self.most - self.most / 2048);
    }

    /// Gives all memory back.
    pub(crate) fn give_back(&mut self, spare: &Spare) {
        let buffers = self.buffers.drain(..);
        buffers.for_each(|buffer| spare.give_misfit(buffer));
    }

    /// Chooses the block of the first of `visits` and some behind it.
    fn choose(&mut self, visits: &[Visit], blocks: &Section<'_>) {
        self.blocks.clear();
        let codec = blocks[visits[0].place].file.codec;
        let most = Decompressor::preferred_group(codec);
        let mut bytes = 0;
        // Blocks that have been decompressed before are not looked at.
        let (first, later) = visits.split_at(1);
        let later = later.iter().filter(|visit| visit.to_decompress > 0);
        for &Visit { place: block, .. } in first.iter().chain(later) {
            let BlockData::Compressed(payload) = &blocks[block].data else {
                continue;
            };
            if blocks[block].file.codec != codec {
                // Decompressed by itself, it would cost those behind it theirs.
                break;
            }
            bytes += payload.len();
            let buffer = self.blocks.len();
            if buffer == most || (buffer > 0 && bytes > most * TOGETHER_BYTES) {
                break;
            }
            let is_good = false;
            self.blocks.push_back(Decompressed {
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

    /// Finds buffers that blocks can wait in, in place of those that were taken away
    /// and of those that are too small or too large.
    fn fit_buffers(&mut self, spare: &Spare) {
        // Beyond the size of a part there is nothing better than what a block finds for
        // itself, so a large one does not cost all others their buffers.
        let least = if self.most <= MAX_PART_BYTES {
            self.most
        } else {
            0
        };
        let most = *fits(self.most).end();
        let fits = least.max(1)..=most.max(SMALL_DECOMPRESSED);
        let buffers = self.buffers.iter_mut().take(self.blocks.len());
        for buffer in buffers.filter(|buffer| !fits.contains(&buffer.capacity())) {
            spare.give_misfit(mem::replace(buffer, spare.take(self.most)));
        }
    }

    fn decompress(
        &mut self,
        blocks: &Section<'_>,
        decompressor: &mut Decompressor,
        spare: &Spare,
        room: &Room<'_>,
        done: &mut Done,
    ) {
        let start = Instant::now();
        // Whatever they decompress to, there is room for all of them.
        let share = room.left() / self.blocks.len();
        let mut jobs = reuse(mem::take(&mut self.jobs));
        let chosen = self.blocks.iter().zip(&mut self.buffers);
        jobs.extend(chosen.filter_map(|(chosen, buffer)| {
            let BlockData::Compressed(payload) = &blocks[chosen.block].data else {
                return None;
            };
            let max_block_bytes = blocks[chosen.block].file.lenience.max_block_bytes;
            let limit = max_block_bytes.min(share + payload.len());
            let limit = limit.min(spare.limit(buffer));
            Some(DecompressJob::new(payload, buffer, limit))
        }));
        let first = &blocks[self.blocks[0].block];
        decompressor.set_tolerates_checksums(first.file.lenience.tolerate.checksum);
        let bad_checksums = decompressor.bad_checksums();
        decompressor.decompress_many(first.file.codec, &mut jobs);
        let bad_checksums = decompressor.bad_checksums() - bad_checksums;
        first.note_checksums(bad_checksums, &mut done.tolerated);
        for (decompressed, job) in self.blocks.iter_mut().zip(&jobs) {
            decompressed.is_good = job.result.is_ok();
        }
        self.jobs = reuse(jobs);
        done.decompress_ns += start.elapsed().as_nanos() as u64;
    }
}
