//! How a worker prepares payloads: within what is granted for them.

use std::sync::Arc;

use atds_format::{PrepareJob, Prepared, Tally};
use bytes::Bytes;

use crate::account::Account;
use crate::block::Block;
use crate::flow::{Denied, Flow};
use crate::memory::Lease;
use crate::ops::EarlyBlock;
use crate::planner::BlockRead;
use crate::reads::{OwnPrepared, Reads};
use crate::sync::Instant;
use crate::watch::What;
use crate::worker::{Context, ReadError};
use crate::{Error, ErrorKind};

/// What the limits of jobs are drawn from.
pub(crate) trait Grant {
    /// Holds `bytes` bytes in place of `held`; perhaps fewer, if there are no more although no other op
    /// runs. Returns how many.
    fn set(&mut self, held: u64, bytes: u64) -> Result<u64, Denied>;

    /// Whether no other op runs.
    fn is_alone(&self) -> bool;
}

/// For payloads that the op alone reads.
impl Grant for Account {
    fn set(&mut self, held: u64, bytes: u64) -> Result<u64, Denied> {
        if bytes <= held {
            self.give(held - bytes);
            return Ok(bytes);
        }
        Ok(held + self.take_some(bytes - held)?)
    }

    fn is_alone(&self) -> bool {
        self.is_alone
    }
}

/// For payloads that other ops read, too: they stay when the op ends. An op that is not alone may hold
/// what there is for what is made early.
struct Shared {
    flow: Arc<Flow>,
    lease: Lease,
    is_alone: bool,
}

impl Shared {
    fn new(flow: &Arc<Flow>, is_alone: bool) -> Self {
        Shared {
            flow: flow.clone(),
            lease: Lease::none(&flow.memory),
            is_alone,
        }
    }
}

impl Grant for Shared {
    fn set(&mut self, held: u64, bytes: u64) -> Result<u64, Denied> {
        let (flow, lease) = (&self.flow, &mut self.lease);
        if bytes <= held {
            let less = held - bytes;
            lease.shrink(lease.bytes() - less);
            if !self.is_alone {
                flow.memory.remove_early(less);
            }
            return Ok(bytes);
        }
        let more = bytes - held;
        let to = lease.bytes() + more;
        if self.is_alone {
            let mut some = more;
            loop {
                match flow.grow(lease, lease.bytes() + some, true) {
                    // The planning thread may take some in between.
                    Err(Denied::Exceeded) if some > 0 => some = flow.memory.left().min(some - 1),
                    grown => return grown.map(|()| held + some),
                }
            }
        }
        if !flow.memory.try_add_early(more) {
            return Err(Denied::Again);
        }
        flow.grow(lease, to, false)
            .inspect_err(|_| flow.memory.remove_early(more))?;
        Ok(bytes)
    }

    fn is_alone(&self) -> bool {
        self.is_alone
    }
}

/// A prepared payload, or the block's own error.
pub(crate) type BlockResult = Result<(Prepared, Tally), Error>;

/// What is held for a payload that is prepared.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Held {
    pub(crate) bytes: u64,
    /// What was held in addition while it was prepared.
    pub(crate) working: u64,
}

impl Context {
    /// The prepared payload of a block that other ops read, too.
    pub(crate) fn shared<'b>(
        &mut self,
        block: &'b Block,
        is_alone: bool,
    ) -> Result<&'b Prepared, ReadError> {
        loop {
            match block.payload.prepared() {
                Some(Ok(prepared)) => return Ok(prepared),
                Some(Err(error)) => return Err(block.locate(error.clone()).into()),
                None if block.payload.claim() => self.prepare_claimed(&[block], is_alone)?,
                None => {
                    let start = Instant::now();
                    let _waits = self.flow.watch.begin(What::for_prepare(block));
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
                    block.find_pairs(prepared, *interval);
                }
            }
        }
    }

    /// Prepares blocks that the caller has claimed. If there is no memory, they can be claimed again.
    fn prepare_claimed(&mut self, blocks: &[&Block], is_alone: bool) -> Result<(), Denied> {
        if blocks.is_empty() {
            return Ok(());
        }
        let mut grant = Shared::new(&self.flow, is_alone);
        let prepared = self.prepare(blocks, &mut grant);
        match prepared {
            Ok(prepared) => {
                for (block, (result, Held { bytes, working })) in blocks.iter().zip(prepared) {
                    let lease = grant.lease.split(bytes);
                    let result = result.map(|(prepared, tally)| {
                        self.flow.counters.add_tally(&tally);
                        (prepared, Some(lease))
                    });
                    let early = if is_alone { 0 } else { bytes };
                    block.payload.size.set_early(early);
                    block.payload.size.set_working(working);
                    block.payload.set(result);
                }
                self.flow.notify_prepared();
                Ok(())
            }
            Err(denied) => {
                blocks.iter().for_each(|block| block.payload.give_up());
                self.flow.notify_prepared();
                Err(denied)
            }
        }
    }

    /// The prepared payload of a block that this op alone reads, prepared with those after it.
    pub(crate) fn prepare_own(
        &mut self,
        read: &BlockRead,
        reads: &mut Reads<'_>,
        account: &mut Account,
    ) -> Result<OwnPrepared, ReadError> {
        if reads.prepared.is_empty() {
            let decoder = &read.block.file.decoder;
            let later = reads.later().iter().filter(|other| other.is_only);
            let later = later.take_while(|other| Arc::ptr_eq(&other.block.file.decoder, decoder));
            let group = std::iter::once(read).chain(later);
            let most = if account.is_alone { 1 } else { decoder.group() };
            let blocks: Vec<&Block> = group.take(most).map(|read| &*read.block).collect();
            let prepared = self.prepare(&blocks, account)?;
            let own = prepared.into_iter();
            reads.prepared.extend(
                own.map(|(result, held)| result.map(|prepared| OwnPrepared::new(prepared, held))),
            );
        }
        let own = reads.prepared.pop_front();
        Ok(own.unwrap_or_else(|| Ok(OwnPrepared::default()))?)
    }

    /// Prepares blocks of one decoder. Each result holds its size of the grant.
    pub(crate) fn prepare(
        &mut self,
        blocks: &[&Block],
        grant: &mut impl Grant,
    ) -> Result<Vec<(BlockResult, Held)>, Denied> {
        let start = Instant::now();
        let parts: Vec<_> = blocks.iter().map(|block| block.payload.parts()).collect();
        let mut held = Vec::with_capacity(blocks.len());
        let working = blocks.iter().zip(&parts);
        let working = working.map(|(block, parts)| block.file.decoder.working_bytes(parts));
        // One after another takes it.
        let working = working.max().unwrap_or(0);
        let done = self.prepare_within(blocks, (&parts, working), grant, &mut held, start);
        let took = start.elapsed();
        self.other_time += took;
        self.flow.counters.note(|noted| noted.stats.prepare += took);
        match done {
            Ok(results) => {
                let held = held.into_iter().map(|bytes| Held { bytes, working });
                Ok(results.into_iter().zip(held).collect())
            }
            Err(denied) => {
                self.missing = self.missing.map(|bytes| bytes.saturating_add(working));
                for bytes in held {
                    grant.set(bytes, 0)?;
                }
                Err(denied)
            }
        }
    }

    fn prepare_within(
        &mut self,
        blocks: &[&Block],
        (parts, working): (&[Vec<Bytes>], u64),
        grant: &mut impl Grant,
        held: &mut Vec<u64>,
        start: Instant,
    ) -> Result<Vec<BlockResult>, Denied> {
        let mut lease = Lease::none(&self.flow.memory);
        if working > 0 {
            let grown = self.flow.grow(&mut lease, working, grant.is_alone());
            grown.inspect_err(|_| self.missing = Some(0))?;
        }
        for block in blocks {
            held.push(grant.set(0, self.prepared_estimate(block))?);
        }
        let mut jobs: Vec<_> = parts
            .iter()
            .zip(&*held)
            .map(|(parts, &held)| PrepareJob::new(parts, as_limit(held)))
            .collect();
        let Some(first) = blocks.first() else {
            return Ok(Vec::new());
        };
        first.file.decoder.prepare(&mut jobs, &mut self.scratch);
        let each = start.elapsed() / jobs.len().max(1) as u32;
        let results: Vec<_> = jobs.into_iter().map(|job| job.result).collect();
        let mut all = Vec::with_capacity(results.len());
        for ((block, held), (mut result, parts)) in
            blocks.iter().zip(held).zip(results.into_iter().zip(parts))
        {
            let most = block.file.max_block_bytes as u64;
            while let Some(needed) = result.as_ref().err().and_then(needed_limit)
                && *held < most
            {
                result = self.prepare_more(block, parts, (held, needed), grant)?;
            }
            let bytes = match &result {
                Ok((prepared, _)) => prepared.memory_bytes() as u64,
                Err(_) => 0,
            };
            let more = grant.set(*held, bytes)?;
            *held = more;
            if more < bytes {
                return Err(Denied::Exceeded);
            }
            if let Ok((prepared, _)) = &result {
                self.flow
                    .costs
                    .note_prepared(block.payload.bytes, bytes, block.records, each);
                let data = prepared.bytes() as u64;
                self.flow.counters.add_prepared(data, block.records);
            }
            all.push(result.map_err(|error| block_error(block, error, most as usize)));
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
        grant: &mut impl Grant,
    ) -> Result<Result<(Prepared, Tally), atds_format::Error>, Denied> {
        let most = block.file.max_block_bytes as u64;
        let doubled = held.saturating_mul(2).max(1024);
        let next = needed.filter(|needed| needed > held).unwrap_or(doubled);
        let next = next.min(most);
        let got = grant.set(*held, next)?;
        if got <= *held {
            self.missing = Some(next);
            return Err(Denied::Exceeded);
        }
        *held = got;
        let mut jobs = [PrepareJob::new(parts, as_limit(got))];
        block.file.decoder.prepare(&mut jobs, &mut self.scratch);
        let [job] = jobs;
        Ok(job.result)
    }

    /// Bytes that a prepared payload takes, as far as is known.
    fn prepared_estimate(&self, block: &Block) -> u64 {
        let estimate = block.max_prepared.unwrap_or_else(|| {
            // What is somewhat larger than others must not be prepared twice.
            let bytes = self.flow.costs.prepared_bytes(block.payload.bytes);
            bytes.saturating_add(bytes / 4).saturating_add(1024)
        });
        estimate.min(block.file.max_block_bytes as u64)
    }
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
