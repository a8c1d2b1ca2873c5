//! How a worker prepares payloads: within what is granted for them.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use atds_format::{PrepareJob, Prepared, Tally};
use bytes::Bytes;

use crate::account::Account;
use crate::block::{Block, Parts};
use crate::decode::{Failure, PlanCursor};
use crate::flow::Denied;
use crate::memory::Lease;
use crate::ops::EarlyBlock;
use crate::planner::BlockRead;
use crate::sync::Instant;
use crate::watch::FOR_PREPARE;
use crate::worker::Worker;
use crate::{Error, ErrorKind};

/// A block that was to be prepared.
#[derive(Debug)]
pub(crate) struct PreparedBlock {
    /// The prepared payload, or the block's own error.
    pub(crate) result: Result<(Prepared, Tally), Error>,
    /// Bytes that the account uses for it.
    pub(crate) bytes: u64,
    /// Bytes that were used in addition while it was prepared.
    pub(crate) working: u64,
}

impl PreparedBlock {
    /// A block of a format that prepares nothing: its payload has one part, which counts by its buffer.
    fn as_it_is(parts: Parts) -> Self {
        let bytes = parts.into_iter().next().unwrap_or_default();
        PreparedBlock {
            result: Ok((Prepared::of_bytes(bytes), Tally::default())),
            bytes: 0,
            working: 0,
        }
    }
}

impl Worker {
    /// The prepared payload of a block that other ops read, too.
    pub(crate) fn prepared_for_all<'b>(
        &mut self,
        block: &'b Block,
        is_alone: bool,
    ) -> Result<&'b Prepared, Failure> {
        loop {
            match block.payload.prepared() {
                Some(Ok(prepared)) => return Ok(prepared),
                Some(Err(error)) => return Err(block.locate(error.clone()).into()),
                None if block.payload.claim() => self.prepare_claimed(&[block], is_alone)?,
                None => {
                    let start = Instant::now();
                    let _waits = self.flow.watch.begin(FOR_PREPARE.in_block(block));
                    self.flow.wait_for_prepare(&block.payload)?;
                    self.other_time += start.elapsed();
                }
            }
        }
    }

    /// Prepares the blocks of an op that no other worker has begun to prepare, as far as there is
    /// memory. The ops that read the others prepare them.
    pub(crate) fn prepare_early(&mut self, blocks: &[EarlyBlock]) {
        // Groups as large as are prepared best.
        let groups = blocks
            .chunk_by(|one, next| Arc::ptr_eq(&one.block.file.decoder, &next.block.file.decoder));
        let groups = groups.flat_map(|group| group.chunks(group[0].block.file.decoder.group()));
        for group in groups {
            if self.flow.is_stopped() {
                return;
            }
            let claimed = group.iter().filter(|early| early.block.payload.claim());
            let claimed: Vec<&EarlyBlock> = claimed.collect();
            let blocks: Vec<&Block> = claimed.iter().map(|early| &*early.block).collect();
            if self.prepare_claimed(&blocks, false).is_err() {
                return;
            }
            for EarlyBlock { block, interval } in claimed {
                if let (Some(interval), Some(Ok(prepared))) = (interval, block.payload.prepared()) {
                    block.find_spaced_hints(prepared, *interval);
                }
            }
        }
    }

    /// Prepares blocks that the caller has claimed. If there is no memory, they can be claimed again.
    fn prepare_claimed(&mut self, blocks: &[&Block], is_alone: bool) -> Result<(), Denied> {
        if blocks.is_empty() {
            return Ok(());
        }
        let mut account = Account::of_shared(&self.flow, is_alone);
        let done = self.prepare(blocks, &mut account);
        let done = done.and_then(|all| keep_for_all(blocks, all, &mut account));
        let done = done.map(|all| {
            for (block, prepared) in blocks.iter().zip(all) {
                let lease = account.split(prepared.bytes);
                let early = if is_alone { 0 } else { prepared.bytes };
                let size = block.payload.size();
                size.early.store(early, Relaxed);
                size.working.store(prepared.working, Relaxed);
                block.payload.set(prepared.result.map(|(prepared, tally)| {
                    self.flow.counters.add_tally(&tally);
                    (prepared, Some(lease))
                }));
            }
        });
        if done.is_err() {
            blocks.iter().for_each(|block| block.payload.give_up());
        }
        self.flow.notify_prepared();
        done
    }

    /// The prepared payload of a block that this op alone reads, prepared with those after it.
    pub(crate) fn prepare_own(
        &mut self,
        read: &BlockRead,
        reads: &mut PlanCursor<'_>,
        account: &mut Account,
    ) -> Result<PreparedBlock, Denied> {
        if reads.prepared.is_empty() {
            let decoder = &read.block.file.decoder;
            let later = reads.later().iter();
            let is_next = |other: &&BlockRead| {
                other.is_only() && other.records > 0 && other.block.payload.prepared().is_none()
            };
            let later = later.filter(is_next);
            let later = later.take_while(|other| Arc::ptr_eq(&other.block.file.decoder, decoder));
            let later = later.map(|read| &*read.block);
            let read_size = self.flow.options.read_size as u64;
            let most = match account.is_alone {
                true => 1,
                false if !read.prepares => 1 + read.block.count_read_with(later.clone(), read_size),
                false => decoder.group(),
            };
            let group = std::iter::once(&*read.block).chain(later);
            let blocks: Vec<&Block> = group.take(most).collect();
            reads.prepared.extend(self.prepare(&blocks, account)?);
        }
        reads.prepared.pop_front().ok_or(Denied::Cancelled)
    }

    /// Prepares blocks of one decoder, of which there is one at least.
    pub(crate) fn prepare(
        &mut self,
        blocks: &[&Block],
        account: &mut Account,
    ) -> Result<Vec<PreparedBlock>, Denied> {
        let used = account.used();
        let done = match self.payloads(blocks, account.is_alone) {
            Ok(Ok(parts)) if blocks[0].file.decoder.prepares() => {
                self.prepare_parts(blocks, &parts, account)
            }
            Ok(Ok(parts)) => Ok(parts.into_iter().map(PreparedBlock::as_it_is).collect()),
            Ok(Err(error)) if blocks.len() == 1 => Ok(vec![PreparedBlock {
                result: Err(error),
                bytes: 0,
                working: 0,
            }]),
            // So the error is that of one block.
            Ok(Err(_)) => {
                let each = blocks.iter().map(|block| self.prepare(&[block], account));
                each.collect::<Result<Vec<_>, _>>()
                    .map(|all| all.into_iter().flatten().collect())
            }
            Err(denied) => Err(denied),
        };
        if done.is_err() {
            account.give(account.used() - used);
        }
        done
    }

    fn prepare_parts(
        &mut self,
        blocks: &[&Block],
        parts: &[Parts],
        account: &mut Account,
    ) -> Result<Vec<PreparedBlock>, Denied> {
        let start = Instant::now();
        let working = blocks.iter().zip(parts);
        let working = working.map(|(block, parts)| block.file.decoder.working_bytes(parts));
        // One after another takes it.
        let working = working.max().unwrap_or(0);
        let done = self.prepare_within(blocks, (parts, working), account, start);
        if done.is_err() {
            self.missing = self.missing.map(|bytes| bytes.saturating_add(working));
        }
        let took = start.elapsed();
        self.other_time += took;
        self.flow.counters.note(|stats| stats.decompress += took);
        done
    }

    fn prepare_within(
        &mut self,
        blocks: &[&Block],
        (parts, working): (&[Parts], u64),
        account: &mut Account,
        start: Instant,
    ) -> Result<Vec<PreparedBlock>, Denied> {
        let mut lease = Lease::none(&self.flow.memory);
        let grown = self.flow.grow(&mut lease, working, account.is_alone);
        grown.inspect_err(|_| self.missing = Some(0))?;
        let estimates = blocks.iter().map(|block| self.prepared_estimate(block));
        let held = estimates.map(|bytes| account.take_some(bytes));
        let held: Vec<u64> = held.collect::<Result<_, _>>()?;
        let jobs = parts.iter().zip(&held);
        let mut jobs: Vec<_> = jobs
            .map(|(parts, &held)| PrepareJob::new(parts, as_limit(held)))
            .collect();
        let decoder = &blocks[0].file.decoder;
        decoder.prepare(&mut jobs, &mut self.scratch);
        let each = start.elapsed() / jobs.len() as u32;
        let results: Vec<_> = jobs.into_iter().map(|job| job.result).collect();
        let mut all = Vec::with_capacity(results.len());
        let jobs = blocks.iter().zip(parts).zip(held.into_iter().zip(results));
        for ((block, parts), (mut held, mut result)) in jobs {
            let most = self.flow.options.max_block_bytes as u64;
            while let Some(needed) = result.as_ref().err().and_then(needed_limit)
                && held < most
            {
                result = self.prepare_more(block, parts, (&mut held, needed), account)?;
            }
            let (bytes, working) = match &result {
                Ok((prepared, _)) => (prepared.memory_bytes() as u64, working),
                Err(_) => (0, working + self.limit_of_damaged(block, parts, held)),
            };
            if account.set(held, bytes)? < bytes {
                self.missing = Some(bytes);
                return Err(Denied::Exceeded);
            }
            if let Ok((prepared, _)) = &result {
                self.flow
                    .costs
                    .note_prepared(block.payload.bytes, bytes, block.records, each);
                let data = prepared.bytes() as u64;
                self.flow.counters.add_prepared(data, block.records);
            }
            all.push(PreparedBlock {
                result: result.map_err(|error| block_error(block, error, most as usize)),
                bytes,
                working,
            });
        }
        Ok(all)
    }

    /// Prepares a block that needs more than was granted.
    #[cold]
    fn prepare_more(
        &mut self,
        block: &Block,
        parts: &[Bytes],
        (held, needed): (&mut u64, Option<u64>),
        account: &mut Account,
    ) -> Result<Result<(Prepared, Tally), atds_format::Error>, Denied> {
        let most = self.flow.options.max_block_bytes as u64;
        let doubled = held.saturating_mul(2).max(1024);
        let next = needed.filter(|needed| needed > held).unwrap_or(doubled);
        // Each attempt begins again, and no other op wants the memory of one that is alone.
        let more = if account.is_alone { 4 } else { 1 };
        let got = account.set(*held, next.saturating_mul(more).min(most))?;
        if got <= *held {
            // An estimate that does not depend on what is left.
            let needed = needed.unwrap_or(self.flow.memory.limit().saturating_mul(2));
            self.missing = Some(needed.min(most));
            return Err(Denied::Exceeded);
        }
        *held = got;
        let mut jobs = [PrepareJob::new(parts, as_limit(got))];
        block.file.decoder.prepare(&mut jobs, &mut self.scratch);
        let [job] = jobs;
        Ok(job.result)
    }

    /// The least limit, of a few, with which preparing a damaged block in `held` bytes meets the damage. So it
    /// does not depend on what was granted.
    #[cold]
    fn limit_of_damaged(&mut self, block: &Block, parts: &[Bytes], held: u64) -> u64 {
        let mut limit = 1;
        while limit < held {
            let mut jobs = [PrepareJob::new(parts, as_limit(limit))];
            block.file.decoder.prepare(&mut jobs, &mut self.scratch);
            match &jobs[0].result {
                Err(error) if needed_limit(error).is_some() => limit *= 2,
                _ => break,
            }
        }
        limit.min(self.flow.options.max_block_bytes as u64)
    }

    /// Bytes that a prepared payload takes, as far as is known.
    fn prepared_estimate(&self, block: &Block) -> u64 {
        let estimate = block.max_prepared.unwrap_or_else(|| {
            // What is somewhat larger than others must not be prepared twice.
            let bytes = self.flow.costs.prepared_bytes(block.payload.bytes);
            bytes.saturating_add(bytes / 4).saturating_add(1024)
        });
        estimate.min(self.flow.options.max_block_bytes as u64)
    }
}

/// Copies payloads that were read and are decoded as they are: what other ops read, too, counts as made early, and a buffer
/// that is read to is free again.
fn keep_for_all(
    blocks: &[&Block],
    mut all: Vec<PreparedBlock>,
    account: &mut Account,
) -> Result<Vec<PreparedBlock>, Denied> {
    for (block, prepared) in blocks.iter().zip(&mut all) {
        let Ok((payload, _)) = &mut prepared.result else {
            continue;
        };
        if let (true, Some(bytes)) = (block.payload.is_unread, payload.as_bytes()) {
            prepared.bytes = bytes.len() as u64;
            account.take(prepared.bytes)?;
            *payload = Prepared::of_bytes(Bytes::copy_from_slice(bytes));
        }
    }
    Ok(all)
}

fn as_limit(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX).max(1)
}

/// What a job that came to its limit needs, if that is known; `None` for other errors.
pub(crate) fn needed_limit(error: &atds_format::Error) -> Option<Option<u64>> {
    match error.kind {
        atds_format::ErrorKind::Limit { needed } => Some(needed),
        _ => None,
    }
}

#[cold]
pub(crate) fn block_error(block: &Block, error: atds_format::Error, limit: usize) -> Error {
    if needed_limit(&error).is_some() {
        return block.locate(Error::new(ErrorKind::BlockTooLarge { limit }));
    }
    block.error(error)
}
