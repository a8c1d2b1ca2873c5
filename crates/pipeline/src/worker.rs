//! A worker: takes ops, prepares blocks, decodes records into batches.

use std::sync::Arc;
use std::time::{Duration, Instant};

use atds_format::{PrepareJob, Prepared, Scratch, Tally};
use atds_sched::Costs;
use tensor_batch::{Batch, BatchBuilder, BatchSpec, RowSlots};

use crate::block::Block;
use crate::error::Stop;
use crate::flow::{Finished, Flow};
use crate::memory::Lease;
use crate::ops::{EarlyBlock, Op};
use crate::pieces::{Builders, Made, PieceBatch};
use crate::planner::{BatchPlan, BlockRead};
use crate::reads::Reads;
use crate::stats::Counters;
use crate::tuning::{COUNTED_BYTES, DOUBTFUL_BATCH_BYTES, OP_TIME};
use crate::{Error, ErrorKind};

/// A worker's state, which it keeps from one op to the next.
pub(crate) struct Worker {
    builder: BatchBuilder,
    /// Builders of batches that several workers make.
    builders: Arc<Builders>,
    drop_remainder: bool,
    /// Bytes of a row in columns of fixed size.
    fixed_row_bytes: u64,
    context: Context,
}

/// What a worker reads blocks with.
struct Context {
    flow: Arc<Flow>,
    costs: Arc<Costs>,
    counters: Arc<Counters>,
    scratch: Scratch,
    /// Time of the batch that was not spent decoding.
    other_time: Duration,
}

/// An error, and the first row of the batch that is not good.
#[derive(Debug)]
pub(crate) struct RowError {
    pub(crate) row: u64,
    error: Error,
}

/// Why a batch is not made.
enum Failed {
    Cancelled,
    Row(RowError),
}

/// Why a block cannot be read.
enum ReadError {
    Stop(Stop),
    /// The error is of the record that was read last.
    LastRecord(Error),
}

impl From<Stop> for ReadError {
    fn from(stop: Stop) -> Self {
        ReadError::Stop(stop)
    }
}

impl From<Error> for ReadError {
    fn from(error: Error) -> Self {
        ReadError::Stop(Stop::Failed(error))
    }
}

impl ReadError {
    /// Adds the row, which is the next one of `slots`.
    #[cold]
    fn before(self, slots: &RowSlots<'_>) -> Failed {
        let row = slots.batch_row() as u64;
        match self {
            ReadError::Stop(Stop::Cancelled) => Failed::Cancelled,
            ReadError::Stop(Stop::Failed(error)) => Failed::Row(RowError { row, error }),
            ReadError::LastRecord(error) => Failed::Row(RowError {
                row: row.saturating_sub(1),
                error,
            }),
        }
    }
}

impl Worker {
    pub(crate) fn new(
        flow: Arc<Flow>,
        costs: Arc<Costs>,
        counters: Arc<Counters>,
        builders: Arc<Builders>,
        spec: BatchSpec,
        drop_remainder: bool,
    ) -> Self {
        Worker {
            fixed_row_bytes: spec.fixed_row_bytes(),
            builder: BatchBuilder::new(spec),
            builders,
            drop_remainder,
            context: Context {
                flow,
                costs,
                counters,
                scratch: Scratch::default(),
                other_time: Duration::ZERO,
            },
        }
    }

    /// Runs ops until there are no more.
    pub(crate) fn run(mut self) {
        let flow = self.context.flow.clone();
        while let Some(op) = flow.next_op() {
            match op {
                Op::Prepare { blocks, .. } => self.context.prepare_shared(&blocks),
                Op::Batches { first, plans, .. } => {
                    let mut woken = Instant::now();
                    for (number, plan) in (first..).zip(plans) {
                        if flow.is_stopped() {
                            break;
                        }
                        let Some(finished) = self.make(&plan) else {
                            break;
                        };
                        let is_last = finished.error.is_some();
                        drop(plan);
                        let wakes = woken.elapsed() >= OP_TIME;
                        if wakes {
                            woken = Instant::now();
                        }
                        flow.finish_batch(number, finished, wakes);
                        if is_last {
                            break;
                        }
                    }
                }
                Op::Piece { batch, piece, .. } => self.make_piece(&batch, piece),
            }
            flow.finish_op();
        }
    }

    /// Makes a batch; `None` if the iteration was cancelled. A batch with a bad row ends before it,
    /// and has the row's error.
    fn make(&mut self, plan: &BatchPlan) -> Option<Finished> {
        let start = Instant::now();
        self.context.other_time = Duration::ZERO;
        let mut lease = Lease::new(&self.context.flow.memory, 0);
        match self.decode(plan, plan.rows, &mut lease) {
            Ok((batch, tally)) => {
                let bytes = batch.used_bytes() as u64;
                lease.set(bytes);
                let decoding = start.elapsed().saturating_sub(self.context.other_time);
                self.context.costs.note_rows(plan.rows, bytes, decoding);
                self.context.counters.decode.add(decoding);
                self.context.counters.add_tally(&tally);
                Some(Finished {
                    batch: Some(batch),
                    lease: Some(lease),
                    error: None,
                })
            }
            Err(Failed::Cancelled) => None,
            Err(Failed::Row(failed)) => self.make_before(plan, failed, lease),
        }
    }

    /// Makes a batch of the rows before a bad one, which are decoded once more: an error is rare.
    #[cold]
    fn make_before(
        &mut self,
        plan: &BatchPlan,
        failed: RowError,
        mut lease: Lease,
    ) -> Option<Finished> {
        let is_memory = matches!(failed.error.kind, ErrorKind::MemoryLimit { .. });
        if failed.row == 0 || is_memory || self.drop_remainder {
            let dropped = if is_memory { 0 } else { failed.row };
            self.context.counters.add_dropped_records(dropped);
            return Some(Finished {
                batch: None,
                lease: None,
                error: Some(failed.error),
            });
        }
        let (batch, error) = match self.decode(plan, failed.row, &mut lease) {
            Ok((batch, tally)) => {
                self.context.counters.add_tally(&tally);
                lease.set(batch.used_bytes() as u64);
                (Some(batch), failed.error)
            }
            Err(Failed::Cancelled) => return None,
            Err(Failed::Row(again)) => (None, again.error),
        };
        Some(Finished {
            batch,
            lease: Some(lease),
            error: Some(error),
        })
    }

    /// Makes a piece of a large batch, and the batch of its pieces once all are made.
    fn make_piece(&mut self, batch: &PieceBatch, piece: usize) {
        let (start, memory) = (Instant::now(), self.context.flow.memory.clone());
        self.context.other_time = Duration::ZERO;
        let plan = &batch.pieces[piece];
        let begin = || {
            let rows: u64 = batch.pieces.iter().map(|piece| piece.rows).sum();
            let bytes = rows.saturating_mul(self.fixed_row_bytes);
            (self.builders.take(), Lease::new(&memory, bytes))
        };
        let Some(mut slots) = batch.begin(piece, begin) else {
            return;
        };
        let mut lease = Lease::new(&memory, 0);
        let checked = self.check_counts(plan);
        let context = &mut self.context;
        let decoded = checked.and_then(|()| {
            slots.with(|slots| context.decode_reads(plan, plan.rows, slots, &mut lease))
        });
        let result = match decoded {
            Ok(tally) => Ok(tally),
            Err(Failed::Row(failed)) => Err(failed),
            Err(Failed::Cancelled) => return,
        };
        let decoding = start.elapsed().saturating_sub(context.other_time);
        let bytes = lease.bytes() + plan.rows.saturating_mul(self.fixed_row_bytes);
        context.costs.note_rows(plan.rows, bytes, decoding);
        context.counters.decode.add(decoding);
        if let Some((builder, made)) = batch.end(slots, result, lease) {
            let finished = self.join_pieces(batch, builder, made);
            if let Some(finished) = finished {
                self.context.flow.finish_batch(batch.number, finished, true);
            }
        }
    }

    /// Makes the batch, all of whose pieces are made.
    fn join_pieces(
        &mut self,
        batch: &PieceBatch,
        mut builder: BatchBuilder,
        mut made: Made,
    ) -> Option<Finished> {
        let plan = batch.plan();
        let mut lease = Lease::new(&self.context.flow.memory, 0);
        let joined = match made.failed.take() {
            Some(failed) => Err(Failed::Row(failed)),
            None => self.context.join(&mut builder, &plan, &mut lease),
        };
        match joined {
            Ok(()) => {
                let finished = builder.finish();
                self.builders.give_back(builder);
                drop(made.leases);
                lease.set(finished.used_bytes() as u64);
                self.context.counters.add_tally(&made.tally);
                Some(Finished {
                    batch: Some(finished),
                    lease: Some(lease),
                    error: None,
                })
            }
            Err(Failed::Cancelled) => None,
            Err(Failed::Row(failed)) => {
                drop((builder, made));
                self.make_before(&plan, failed, lease)
            }
        }
    }

    /// Checks the record counts of blocks, if a batch takes much memory.
    fn check_counts(&self, plan: &BatchPlan) -> Result<(), Failed> {
        if plan.rows.saturating_mul(self.fixed_row_bytes) > DOUBTFUL_BATCH_BYTES {
            for read in &plan.reads {
                let checked = read.block.check_count();
                checked.map_err(|error| Failed::Row(RowError { row: 0, error }))?;
            }
        }
        Ok(())
    }

    /// Decodes the first `rows` rows of a planned batch.
    fn decode(
        &mut self,
        plan: &BatchPlan,
        rows: u64,
        lease: &mut Lease,
    ) -> Result<(Batch, Tally), Failed> {
        self.check_counts(plan)?;
        let fixed_bytes = rows.saturating_mul(self.fixed_row_bytes);
        lease.set(fixed_bytes);
        let fits = self.context.flow.check_memory();
        fits.map_err(|error| Failed::Row(RowError { row: 0, error }))?;
        let builder = &mut self.builder;
        let tally = {
            let mut slots = builder.slots(&[rows as usize]);
            let slots = &mut slots[0];
            self.context.decode_reads(plan, rows, slots, lease)?
        };
        lease.set(fixed_bytes);
        self.context.join(builder, plan, lease)?;
        Ok((builder.finish(), tally))
    }
}

impl Context {
    /// Decodes the first `rows` rows of a plan. Counts what is written to columns of variable size.
    fn decode_reads(
        &mut self,
        plan: &BatchPlan,
        rows: u64,
        slots: &mut RowSlots<'_>,
        lease: &mut Lease,
    ) -> Result<Tally, Failed> {
        let fixed_bytes = lease.bytes();
        let mut tally = Tally::default();
        let mut reads = Reads::new(&plan.reads);
        let (mut counted, mut left) = (0, rows);
        while left > 0
            && let Some(read) = reads.next()
        {
            if self.flow.is_stopped() {
                return Err(Failed::Cancelled);
            }
            let records = left.min(read.records);
            left -= records;
            let done = self.read(read, records, &mut reads, slots);
            tally.add(&done.map_err(|failed| failed.before(slots))?);
            let written = slots.segment_bytes();
            if written >= counted + COUNTED_BYTES {
                counted = written;
                lease.set(fixed_bytes + written as u64);
                self.check(slots)?;
            }
        }
        Ok(tally)
    }

    /// Lays the columns of variable size end to end, once all rows are decoded.
    fn join(
        &mut self,
        builder: &mut BatchBuilder,
        plan: &BatchPlan,
        lease: &mut Lease,
    ) -> Result<(), Failed> {
        if let Some(found) = builder.disagreement() {
            let first = place_of_row(plan, 0);
            let row = found.row as u64;
            let mut error = Error::shapes_differ(builder.spec(), found, first);
            let field = error.place.field.take();
            *error.place = place_of_row(plan, row);
            error.place.field = field;
            return Err(Failed::Row(RowError { row, error }));
        }
        lease.set(lease.bytes().saturating_add(builder.padded_bytes()));
        let fits = self.flow.check_memory();
        fits.map_err(|error| Failed::Row(RowError { row: 0, error }))?;
        for task in builder.gather() {
            task.run();
        }
        Ok(())
    }

    fn check(&self, slots: &RowSlots<'_>) -> Result<(), Failed> {
        let row = slots.batch_row() as u64;
        let fits = self.flow.check_memory();
        fits.map_err(|error| Failed::Row(RowError { row, error }))
    }

    /// Decodes `records` records of a block.
    fn read(
        &mut self,
        read: &BlockRead,
        records: u64,
        reads: &mut Reads<'_>,
        slots: &mut RowSlots<'_>,
    ) -> Result<Tally, ReadError> {
        let block = &*read.block;
        let decoder = &*block.file.decoder;
        let own;
        let mut tally = Tally::default();
        let prepared = if read.is_only && decoder.prepares() {
            // Decoded where it was prepared, and then let go: it stays in this worker's cache.
            own = self.prepare_own(read, reads, &mut tally)?;
            &own
        } else {
            self.shared(block)?
        };
        let mut pos = block.nearest(read.first);
        if pos.record < read.first {
            let found = decoder.seek(prepared, pos, read.first);
            pos = found.map_err(|error| block.error(error))?;
            block.publish(pos);
        }
        let upcoming = reads.upcoming();
        let decoded = decoder.decode(prepared, pos, records, slots, &mut self.scratch, upcoming);
        let decoded = decoded.map_err(|error| block.error(error))?;
        tally.add(&decoded.tally);
        if decoded.pos.record == block.records {
            let finished = decoder.finish(prepared, decoded.pos);
            tally.add(&finished.map_err(|error| ReadError::LastRecord(block.error(error)))?);
        } else if !read.is_only {
            block.publish(decoded.pos);
        }
        Ok(tally)
    }

    /// The prepared payload of a block that other ops read, too.
    fn shared<'b>(&mut self, block: &'b Block) -> Result<&'b Prepared, Stop> {
        loop {
            match block.payload.prepared() {
                Some(Ok(prepared)) => return Ok(prepared),
                Some(Err(error)) => return Err(Stop::Failed(block.locate(error.clone()))),
                None if block.payload.claim() => self.prepare_claimed(&[block]),
                None => {
                    let start = Instant::now();
                    self.flow.wait_for_prepare(&block.payload)?;
                    self.other_time += start.elapsed();
                }
            }
        }
    }

    /// Prepares the blocks of an op that no other worker has begun to prepare.
    fn prepare_shared(&mut self, blocks: &[EarlyBlock]) {
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
            self.prepare_claimed(&blocks);
            for EarlyBlock { block, interval } in claimed {
                if let (Some(interval), Some(Ok(prepared))) = (interval, block.payload.prepared()) {
                    block.find_pairs(prepared, *interval);
                }
            }
        }
    }

    fn prepare_claimed(&mut self, blocks: &[&Block]) {
        if blocks.is_empty() {
            return;
        }
        let parts: Vec<_> = blocks.iter().map(|block| block.payload.parts()).collect();
        let results = self.prepare(blocks, &parts);
        for (block, result) in blocks.iter().zip(results) {
            let result = result.map(|(prepared, tally)| {
                self.counters.add_tally(&tally);
                let lease = Lease::new(&self.flow.memory, prepared.memory_bytes() as u64);
                (prepared, Some(lease))
            });
            block.payload.set(result);
        }
        self.flow.notify_prepared();
    }

    /// The prepared payload of a block that this op alone reads, prepared with those after it.
    fn prepare_own(
        &mut self,
        read: &BlockRead,
        reads: &mut Reads<'_>,
        tally: &mut Tally,
    ) -> Result<Prepared, Stop> {
        if reads.prepared.is_empty() {
            let decoder = &read.block.file.decoder;
            let later = reads.later().iter().filter(|other| other.is_only);
            let later = later.take_while(|other| Arc::ptr_eq(&other.block.file.decoder, decoder));
            let group = std::iter::once(read).chain(later);
            let blocks: Vec<&Block> = group
                .take(decoder.group())
                .map(|read| &*read.block)
                .collect();
            let parts: Vec<_> = blocks.iter().map(|block| block.payload.parts()).collect();
            reads.prepared.extend(self.prepare(&blocks, &parts));
        }
        let prepared = reads.prepared.pop_front();
        let (prepared, more) = prepared.unwrap_or_else(|| Ok(Default::default()))?;
        tally.add(&more);
        Ok(prepared)
    }

    fn prepare(
        &mut self,
        blocks: &[&Block],
        parts: &[Vec<bytes::Bytes>],
    ) -> Vec<Result<(Prepared, Tally), Error>> {
        let start = Instant::now();
        let Some(first) = blocks.first() else {
            return Vec::new();
        };
        let most = first.file.max_block_bytes;
        let left = self
            .flow
            .memory
            .limit()
            .saturating_sub(self.flow.memory.held());
        let left = usize::try_from(left).unwrap_or(usize::MAX);
        let limit = most.min(left / blocks.len().max(1)).max(1);
        let mut jobs: Vec<_> = parts
            .iter()
            .map(|parts| PrepareJob::new(parts, limit))
            .collect();
        first.file.decoder.prepare(&mut jobs, &mut self.scratch);
        let mut results = Vec::with_capacity(jobs.len());
        let each = start.elapsed() / jobs.len().max(1) as u32;
        for ((block, job), parts) in blocks.iter().zip(jobs).zip(parts) {
            let result = match job.result {
                Err(error) if is_limit(&error) && limit < most => self.prepare_alone(block, parts),
                result => result.map_err(|error| block_error(block, error, limit)),
            };
            if let Ok((prepared, _)) = &result {
                let bytes = prepared.memory_bytes() as u64;
                self.costs
                    .note_prepared(block.payload.bytes, bytes, block.records, each);
                let data = prepared.bytes() as u64;
                self.counters.add_prepared(data, block.records);
            }
            results.push(result);
        }
        let took = start.elapsed();
        self.other_time += took;
        self.counters.prepare.add(took);
        results
    }

    /// Prepares a block that needs more than its part of the memory that is left.
    #[cold]
    fn prepare_alone(
        &mut self,
        block: &Block,
        parts: &[bytes::Bytes],
    ) -> Result<(Prepared, Tally), Error> {
        let most = block.file.max_block_bytes;
        let memory = &self.flow.memory;
        let left = memory.limit().saturating_sub(memory.held());
        let limit = most.min(usize::try_from(left).unwrap_or(usize::MAX)).max(1);
        let mut jobs = [PrepareJob::new(parts, limit)];
        block.file.decoder.prepare(&mut jobs, &mut self.scratch);
        let [job] = jobs;
        job.result.map_err(|error| {
            if is_limit(&error) && limit < most {
                let more = 2 * limit as u64;
                return block.locate(memory.exceeded(memory.held().saturating_add(more)));
            }
            block_error(block, error, most)
        })
    }
}

fn is_limit(error: &atds_format::Error) -> bool {
    matches!(error.kind, atds_format::ErrorKind::Limit { .. })
}

#[cold]
pub(crate) fn block_error(block: &Block, error: atds_format::Error, limit: usize) -> Error {
    if is_limit(&error) {
        return block.locate(Error::new(ErrorKind::BlockTooLarge { limit }));
    }
    block.error(error)
}

/// The place of a row's record.
#[cold]
fn place_of_row(plan: &BatchPlan, row: u64) -> crate::error::Place {
    let mut before = 0;
    for read in &plan.reads {
        if row < before + read.records {
            return read.block.place(read.first + row - before);
        }
        before += read.records;
    }
    crate::error::Place::default()
}
