//! Payloads that are read by their ranges, several under way at once, some of them shared by blocks.

use std::ops::Range;
use std::sync::Arc;

use atds_format::{Access, ByteSource};

use super::PlanningThread;
use super::blocks::{File, Framed};
use super::reads::Turn;
use crate::Error;
use crate::block::{Block, BlockPayload, Payload};
use crate::error::Stop;
use crate::memory::Lease;
use crate::read_pool::FileReads;
use crate::replay::Wanted;
use crate::tuning::{OPEN_FILES, READS_UNDER_WAY};

/// A block whose payload is being read.
pub(super) struct Awaited {
    framed: Framed,
    wanted: Wanted,
    key: Option<u64>,
    ranges: Arc<[Range<u64>]>,
    /// Whether the payload was asked for with this block, and not with an earlier one.
    is_asked: bool,
}

impl File {
    /// The payload with the key that an earlier block has shared, if it is still held.
    fn payload(&self, key: Option<u64>) -> Option<Arc<Payload>> {
        self.shared.get(&key?)?.upgrade()
    }

    /// Whether an awaited block has asked for the payload with the key.
    fn is_asked(&self, key: Option<u64>) -> bool {
        let mut asked = self.awaited.iter().filter(|awaited| awaited.is_asked);
        key.is_some() && asked.any(|awaited| awaited.key == key)
    }
}

impl PlanningThread {
    /// Whether workers may read the payloads that they need, where it is known where these are. In a shuffled window
    /// payloads wait, so they are read ahead. With one worker, the planning thread reads meanwhile.
    pub(super) fn workers_may_read(&self) -> bool {
        let options = &self.flow.options;
        let all_whole = options.split.is_none() && !options.skip_damage;
        let in_order = !options.is_shuffled() && !options.shuffle_runs && !self.are_in_turns();
        options.threads > 1 && all_whole && in_order
    }

    /// What workers read payloads of a file with, if they may; `checks` says whether they check them. A source that answers
    /// at once has nothing to read, one that answers later is asked in time, and a small file is read at once. Files that
    /// workers read stay open, so only some are.
    pub(super) fn worker_reads(
        &self,
        source: &Arc<dyn ByteSource>,
        size: Option<u64>,
        checks: bool,
    ) -> Option<FileReads> {
        let is_read = source.access() != Access::Deferred && size? > self.read_size;
        let may_open = Arc::strong_count(&self.worker_files) <= OPEN_FILES;
        (is_read && may_open).then(|| FileReads {
            source: source.clone(),
            pool: self.pool.clone(),
            checks,
            _open: self.worker_files.clone(),
        })
    }

    /// Whether the workers that need a payload read it, with all bytes of the block. Of a larger block several read a part,
    /// and one without records is checked where it is planned.
    fn is_read_by_workers(&self, file: &File, framed: &Framed) -> bool {
        let desc = &framed.desc;
        let is_in_file = file.size.is_some_and(|end| desc.range().end <= end);
        let is_small = desc.file_bytes <= self.read_size;
        framed.context.reads.is_some()
            && matches!(desc.payload, atds_format::Payload::Whole)
            && (is_in_file && is_small)
            && desc.records > 0
    }

    /// Adds a block of which some records are read, once its payload is here.
    pub(super) fn add(
        &mut self,
        file: &mut File,
        framed: Framed,
        wanted: Wanted,
    ) -> Result<(), Stop> {
        let key = match &framed.desc.payload {
            atds_format::Payload::Here(bytes) => {
                let pushed = self.push_here(file, &framed, bytes, wanted);
                return pushed
                    .map_err(|stop| stop.in_block(framed.desc.index, Some(framed.desc.offset)));
            }
            atds_format::Payload::Whole => None,
            atds_format::Payload::Ranges { key, .. } => *key,
        };
        if self.is_read_by_workers(file, &framed) {
            let bytes = framed
                .context
                .payloads
                .payload_bytes(&(&framed.desc).into());
            self.finish_awaited(file)?;
            let payload = BlockPayload::Own(Payload::unread(bytes));
            let pushed = self.push(file, &framed, payload, wanted);
            return pushed
                .map_err(|stop| stop.in_block(framed.desc.index, Some(framed.desc.offset)));
        }
        let ranges = framed.desc.ranges();
        let most = match file.access {
            Access::Deferred => READS_UNDER_WAY,
            _ => 1,
        };
        let is_asked = loop {
            let is_next = file.awaited.is_empty();
            if is_next {
                // What the framing has left under way is not of a payload.
                file.reads.clear();
            }
            if file.awaited.len() < most {
                if file.is_asked(key) || file.payload(key).is_some() {
                    break false;
                }
                let turn = if is_next { Turn::Now } else { Turn::Ahead };
                let reader = self.payload_reader(file);
                let asked = self.ask_for(file, &ranges, turn, reader);
                if asked
                    .map_err(|stop| stop.in_block(framed.desc.index, Some(framed.desc.offset)))?
                {
                    break true;
                }
            }
            self.take_first(file)?;
        };
        file.awaited.push_back(Awaited {
            framed,
            wanted,
            key,
            ranges,
            is_asked,
        });
        Ok(())
    }

    /// Adds all blocks whose payloads are under way.
    pub(super) fn finish_awaited(&mut self, file: &mut File) -> Result<(), Stop> {
        while !file.awaited.is_empty() {
            self.take_first(file)?;
        }
        Ok(())
    }

    /// Adds the first of the blocks whose payloads are under way.
    fn take_first(&mut self, file: &mut File) -> Result<(), Stop> {
        let Some(first) = file.awaited.pop_front() else {
            return Ok(());
        };
        let known = file.payload(first.key).filter(|_| !first.is_asked);
        let payload = match known {
            Some(payload) => Ok(BlockPayload::Shared(payload)),
            None => self.read_payload(file, &first),
        };
        let Framed { desc, .. } = &first.framed;
        payload
            .and_then(|payload| self.push(file, &first.framed, payload, first.wanted))
            .map_err(|stop| stop.in_block(desc.index, Some(desc.offset)))
    }

    /// The payload of the first awaited block.
    fn read_payload(&mut self, file: &mut File, first: &Awaited) -> Result<BlockPayload, Stop> {
        // What is held for the block before must not be what the memory is missing for.
        self.let_go(file);
        if !first.is_asked {
            // Every block that shared the payload has been read to its end.
            let reader = self.payload_reader(file);
            self.ask_for(file, &first.ranges, Turn::Now, reader)?;
        }
        self.sequence.flush_if_starved()?;
        let (mut parts, mut lease) = (Vec::new(), Lease::none(&self.flow.memory));
        for _ in &*first.ranges {
            let (part, more) = self.take_range(file)?;
            lease.merge(more);
            parts.push(part);
        }
        let Framed { desc, context, .. } = &first.framed;
        let parts = context.payloads.find(&desc.into(), parts);
        let parts = parts.map_err(|error| Error::of_format(error, &file.location))?;
        let is_shared = first.key.is_some() || self.are_in_turns();
        let payload = Payload::new(parts.into(), is_shared, Some(lease));
        let Some(key) = first.key else {
            return Ok(BlockPayload::Own(payload));
        };
        let payload = Arc::new(payload);
        file.shared.insert(key, Arc::downgrade(&payload));
        Ok(BlockPayload::Shared(payload))
    }

    /// Copies the members of a block, so that the buffer of its read is free for the next read while a cache has it.
    /// A block stays whole where memory may be missing for both: what can be read without a split can be read
    /// with one.
    pub(super) fn copy_members(&mut self, file: &File, block: &mut Block) -> Result<(), Stop> {
        let Some((payload, runs)) = block.member_runs() else {
            return Ok(());
        };
        let len = runs.iter().map(|run| run.bytes.len()).sum();
        let window = self.planner.window_bytes() + block.payload.window_bytes();
        if window.saturating_add(len as u64) > self.flow.memory.copy_limit() {
            return Ok(());
        }
        let lease = self.lease(file, len as u64)?;
        let mut copied = Vec::with_capacity(len);
        for run in &runs {
            copied.extend_from_slice(&payload[run.bytes.clone()]);
        }
        block.replace_payload(&runs, copied.into(), lease);
        Ok(())
    }

    /// Holds the payload of `block` for the next block, if it is shared.
    pub(super) fn hold(&mut self, file: &mut File, block: &Arc<Block>) {
        if block.payload.is_shared {
            self.let_go(file);
            self.planner.keep(block);
            file.last_shared = Some(block.clone());
        }
    }

    /// Lets the payload go that was held for the next block.
    pub(super) fn let_go(&mut self, file: &mut File) {
        if let Some(block) = file.last_shared.take() {
            self.planner.let_go(&block);
        }
    }
}
