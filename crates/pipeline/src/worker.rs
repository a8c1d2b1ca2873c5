//! A worker: takes ops, and decodes records into batches.

use std::sync::Arc;
use std::time::Duration;

use atds_format::{Scratch, Tally};
use tensor_batch::{Batch, BatchBuilder, RowSlots};

use crate::Error;
use crate::account::Account;
use crate::block::RecordPlace;
use crate::delays;
use crate::flow::{Denied, Finished, Flow};
use crate::need::Need;
use crate::ops::{Op, Queued, Work};
use crate::pieces::{Builders, Ended, Join, Joined, MadePiece, PieceBatch};
use crate::planner::{BatchPlan, BlockRead};
use crate::prepare::needed_limit;
use crate::reads::{Found, Reads};
use crate::sync::{Instant, Mutex};
use crate::tuning::{COUNTED_BYTES, COUNTED_RECORDS, JOIN_BYTES, KEPT_SHARE, WAKE_TIME};
use crate::watch::What;

/// A worker's state, which it keeps from one op to the next.
pub(crate) struct Worker {
    /// The number of the worker.
    number: usize,
    builder: BatchBuilder,
    /// Builders of batches that several workers make.
    builders: Arc<Builders>,
    drop_remainder: bool,
    /// Bytes of a row in columns of fixed size.
    fixed_row_bytes: u64,
    pub(crate) context: Context,
}

/// What a worker reads blocks with.
pub(crate) struct Context {
    pub(crate) flow: Arc<Flow>,
    pub(crate) scratch: Scratch,
    /// Time of the batch that was not spent decoding.
    pub(crate) other_time: Duration,
    /// Bytes that the payload needs which did not fit.
    pub(crate) missing: Option<u64>,
    /// Whether batches have columns of variable size.
    pub(crate) has_variable: bool,
    /// Bytes that are written, or read, before they count.
    counted_bytes: u64,
}

/// An error, and the first row of the batch that is not good.
#[derive(Debug)]
pub(crate) struct RowError {
    pub(crate) row: u64,
    error: Error,
}

/// Why a batch is not made.
pub(crate) enum Failed {
    /// Memory is missing, for the row with this number.
    Denied(Denied, u64),
    Row(RowError),
}

/// Why a block cannot be read.
pub(crate) enum ReadError {
    Denied(Denied),
    Block(Error),
    /// The error is of the record that was read last.
    LastRecord(Error),
}

impl From<Denied> for ReadError {
    fn from(denied: Denied) -> Self {
        ReadError::Denied(denied)
    }
}

impl From<Error> for ReadError {
    fn from(error: Error) -> Self {
        ReadError::Block(error)
    }
}

impl ReadError {
    /// Adds the row, which is the next one of `slots`.
    #[cold]
    fn before(self, slots: &RowSlots<'_>) -> Failed {
        let row = slots.batch_row() as u64;
        match self {
            ReadError::Denied(denied) => Failed::Denied(denied, row),
            ReadError::Block(error) => Failed::Row(RowError { row, error }),
            ReadError::LastRecord(error) => Failed::Row(RowError {
                row: row.saturating_sub(1),
                error,
            }),
        }
    }
}

/// What was made of a plan.
struct Decoded {
    batch: Batch,
    tally: Tally,
    written: Written,
}

/// Sizes of what was decoded, in bytes, as they follow from the data.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Written {
    /// Of the columns of variable size.
    pub(crate) variable: u64,
    /// Of columns that are filled up.
    pub(crate) padded: u64,
    /// Of the largest payload that was prepared for the batch alone.
    pub(crate) only: u64,
}

impl Worker {
    pub(crate) fn new(
        number: usize,
        flow: Arc<Flow>,
        builders: Arc<Builders>,
        drop_remainder: bool,
    ) -> Self {
        let spec = builders.spec();
        let is_variable = |column: &tensor_batch::ColumnSpec| {
            column.dtype.size().is_none() || column.row_len().is_none()
        };
        let counted_bytes = COUNTED_BYTES.min(flow.memory.limit() / KEPT_SHARE);
        Worker {
            number,
            fixed_row_bytes: spec.fixed_row_bytes(),
            builder: builders.make(),
            drop_remainder,
            context: Context {
                has_variable: spec.columns().iter().any(is_variable),
                counted_bytes,
                flow,
                scratch: Scratch::default(),
                other_time: Duration::ZERO,
                missing: None,
            },
            builders,
        }
    }

    /// Runs reads, joins and ops until there are no more.
    pub(crate) fn run(mut self) {
        let flow = self.context.flow.clone();
        let _running = flow.watch.worker(self.number);
        flow.begin_worker(self.number);
        delays::begin(flow.delays, 1 + self.number);
        while let Some(work) = flow.next_work(self.number) {
            let (queued, lease) = match work {
                Work::Read(read) => {
                    let _reading = flow.watch.begin(read.what());
                    read.run();
                    continue;
                }
                Work::Join(join) => {
                    self.run_join(join);
                    flow.finish_op();
                    continue;
                }
                Work::Op(queued, lease) => (queued, lease),
            };
            let _working = flow.watch.begin(What::op(&queued));
            let Queued { seq, op, is_alone } = queued;
            let mut account = Account::new(flow.clone(), lease, is_alone);
            match op {
                Op::Prepare { blocks, .. } => self.context.prepare_early(&blocks),
                Op::Batches { first, plans, .. } => {
                    let again = self.make_batches(seq, first, plans, &mut account);
                    account.clear();
                    if let Some(op) = again {
                        self.run_again(seq, op);
                    }
                }
                Op::Piece { batch, piece, .. } => {
                    let seq = seq - piece as u64;
                    let ended = self.make_piece(&batch, piece, &mut account);
                    let join = self.end_piece(seq, &batch, ended, &mut account);
                    account.clear();
                    if let Some(join) = join {
                        self.run_join(join);
                    }
                }
            }
            drop(account);
            flow.finish_op();
        }
    }

    /// Gives back what was made for an op, which runs again when no other does.
    #[cold]
    fn run_again(&mut self, seq: u64, op: Op) {
        // What the batch has is not kept for the next.
        self.builder = self.builders.make();
        let flow = &self.context.flow;
        flow.counters.note(|noted| noted.stats.repeated_ops += 1);
        flow.run_again(seq, op);
    }

    /// Makes consecutive batches. Returns the op that is left, if memory is missing.
    fn make_batches(
        &mut self,
        seq: u64,
        first: u64,
        plans: Vec<BatchPlan>,
        account: &mut Account,
    ) -> Option<Op> {
        let flow = self.context.flow.clone();
        let mut woken = Instant::now();
        let mut plans = plans.into_iter();
        for number in first.. {
            let plan = plans.next()?;
            if flow.is_stopped() {
                return None;
            }
            let made = self.make(&plan, account);
            let finished = made.and_then(|finished| {
                let is_last = finished.error.is_some();
                let wakes = woken.elapsed() >= WAKE_TIME;
                if wakes {
                    woken = Instant::now();
                }
                flow.finish_batch(seq, number, finished, wakes)?;
                Ok(is_last)
            });
            match finished {
                Ok(false) => {}
                Err(Denied::Again) => {
                    return Some(Op::Batches {
                        first: number,
                        plans: std::iter::once(plan).chain(plans).collect(),
                        estimate: 0,
                    });
                }
                Ok(true) | Err(_) => return None,
            }
        }
        None
    }

    /// Makes a batch. One with a bad row ends before it, and has the row's error.
    fn make(&mut self, plan: &BatchPlan, account: &mut Account) -> Result<Finished, Denied> {
        let start = Instant::now();
        self.context.other_time = Duration::ZERO;
        match self.decode(plan, plan.rows, account) {
            Ok(Decoded {
                batch,
                tally,
                written,
            }) => {
                let (lease, most) = account.finish_batch(batch.capacity_bytes() as u64)?;
                let decoding = start.elapsed().saturating_sub(self.context.other_time);
                self.context.flow.costs.note_rows(plan.rows, most, decoding);
                let counters = &self.context.flow.counters;
                counters.add_rows(self.number, plan.rows, decoding, &tally);
                let need = self.need(plan, plan.rows, written);
                Ok(Finished::batch(batch, lease, None, need))
            }
            Err(failed) => self.make_before(plan, failed, account),
        }
    }

    /// Makes a batch of the rows before a bad one, which are decoded once more: an error is rare.
    #[cold]
    fn make_before(
        &mut self,
        plan: &BatchPlan,
        failed: Failed,
        account: &mut Account,
    ) -> Result<Finished, Denied> {
        account.clear();
        let failed = match failed {
            Failed::Row(failed) => failed,
            Failed::Denied(Denied::Exceeded, row) => return Ok(self.exceeded(plan, row)),
            Failed::Denied(denied, _) => return Err(denied),
        };
        if failed.row == 0 || self.drop_remainder {
            self.context.flow.counters.add_dropped_records(failed.row);
            let need = self.need(plan, failed.row, Written::default());
            return Ok(Finished::error(Some(failed.error), Some(need)));
        }
        match self.decode(plan, failed.row, account) {
            Ok(Decoded {
                batch,
                tally,
                written,
            }) => {
                let (lease, _) = account.finish_batch(batch.capacity_bytes() as u64)?;
                self.context.flow.counters.add_tally(&tally);
                let need = self.need(plan, failed.row, written);
                Ok(Finished::batch(batch, lease, Some(failed.error), need))
            }
            Err(Failed::Row(again)) => {
                let need = self.need(plan, failed.row, Written::default());
                Ok(Finished::error(Some(again.error), Some(need)))
            }
            Err(Failed::Denied(Denied::Exceeded, row)) => Ok(self.exceeded(plan, row)),
            Err(Failed::Denied(denied, _)) => Err(denied),
        }
    }

    /// The error of a batch that does not fit although no other op runs.
    #[cold]
    fn exceeded(&mut self, plan: &BatchPlan, row: u64) -> Finished {
        self.builder = self.builders.make();
        let written = self.context.measure(plan, self.builders.spec());
        let mut need = self.need(plan, plan.rows, written);
        need.place = place_of_row(plan, row).or(need.place);
        need.is_exceeded = true;
        Finished::error(None, Some(need))
    }

    /// What a batch needs of which the first `rows` rows are good.
    fn need(&self, plan: &BatchPlan, rows: u64, written: Written) -> Need {
        let mut need = Need {
            window: plan.window.bytes,
            left: plan.window.left.iter().map(|size| size.get()).sum(),
            own: plan.rows.saturating_mul(self.fixed_row_bytes)
                + grown(written.variable)
                + written.padded,
            place: plan.reads.first().map(|read| read.block.place(read.first)),
            ..Need::default()
        };
        let (mut before, mut preparing) = (0, written.only);
        for read in &plan.reads {
            if before > rows {
                break;
            }
            before += read.records;
            if read.is_only || !read.prepares {
                continue;
            }
            let payload = &read.block.payload;
            if read.begins_payload {
                need.begun += payload.size.get();
                preparing = preparing.max(payload.size.working());
                if payload.size.is_early() {
                    need.early_payloads.push(payload.size.clone());
                }
            }
            if read.ends_payload {
                need.ended += payload.size.get();
            }
        }
        need.own += preparing;
        need
    }

    /// Makes a piece of a large batch; `None` if memory is missing.
    fn make_piece(
        &mut self,
        batch: &PieceBatch,
        piece: usize,
        account: &mut Account,
    ) -> Result<Option<MadePiece>, Denied> {
        let start = Instant::now();
        self.context.other_time = Duration::ZERO;
        let plan = &batch.pieces[piece];
        let builders = self.builders.clone();
        let fixed_row_bytes = self.fixed_row_bytes;
        let begun = batch.begin(piece, || {
            account.hold_batch(batch.rows().saturating_mul(fixed_row_bytes))?;
            let (builder, kept) = builders.take();
            Ok((builder, kept, account.split_batch()))
        });
        let mut slots = match begun {
            Ok(slots) => slots,
            Err(Denied::Cancelled) => return Err(Denied::Cancelled),
            Err(_) => return Ok(None),
        };
        let context = &mut self.context;
        let mut written = Written::default();
        let decoded = slots
            .with(|slots| context.decode_reads(plan, plan.rows, slots, account, 0, &mut written));
        let result = match decoded {
            Ok(tally) => Ok(tally),
            Err(Failed::Row(failed)) => Err(failed),
            Err(Failed::Denied(Denied::Cancelled, _)) => return Err(Denied::Cancelled),
            Err(Failed::Denied(..)) => return Ok(None),
        };
        let decoding = start.elapsed().saturating_sub(context.other_time);
        let bytes = account.most() + plan.rows.saturating_mul(fixed_row_bytes);
        context.flow.costs.note_rows(plan.rows, bytes, decoding);
        let counters = &context.flow.counters;
        counters.add_rows(self.number, plan.rows, decoding, &Tally::default());
        Ok(Some(MadePiece {
            slots,
            result,
            lease: account.split_batch(),
            written,
        }))
    }

    /// Ends a piece. If it is the last, the columns of the pieces are laid end to end: some by the join
    /// that is returned, and the others by other workers. `seq` is the number of the batch's first op.
    fn end_piece(
        &mut self,
        seq: u64,
        batch: &Arc<PieceBatch>,
        ended: Result<Option<MadePiece>, Denied>,
        account: &mut Account,
    ) -> Option<Join> {
        let (builder, mut made) = match batch.end(ended.ok()?) {
            Ended::More => return None,
            Ended::Again => {
                account.clear();
                self.make_again(seq, batch);
                return None;
            }
            Ended::Made(made) => *made,
        };
        let plan = batch.plan();
        let held = match made.failed.take() {
            Some(failed) => Err(Failed::Row(failed)),
            None => padded_bytes(&builder, &plan).and_then(|padded| {
                made.written.padded = padded;
                let held = account.hold_batch(grown(made.written.variable) + padded);
                held.map_err(|denied| Failed::Denied(denied, 0))
            }),
        };
        if let Err(failed) = held {
            drop((builder, made));
            let finished = self.make_before(&plan, failed, account);
            self.finish_pieces(seq, batch, finished);
            return None;
        }
        let lease = account.split_batch();
        let rest = Arc::new(Mutex::new(Some(Joined { made, lease })));
        let mut joins = builder
            .into_gather(JOIN_BYTES)
            .into_iter()
            .map(|tasks| Join {
                batch: batch.clone(),
                seq,
                tasks,
                rest: rest.clone(),
            });
        let own = joins.next();
        self.context.flow.queue_joins(joins.collect());
        own
    }

    /// Lays some columns of a batch end to end, and finishes the batch if these are the last.
    fn run_join(&mut self, join: Join) {
        let flow = self.context.flow.clone();
        let _joining = flow.watch.begin(What::join(join.batch.number));
        let (batch, seq) = (join.batch.clone(), join.seq);
        if let Some((builder, joined)) = join.run() {
            let finished = self.finish_joined(&batch, builder, joined);
            self.finish_pieces(seq, &batch, finished);
        }
    }

    fn finish_joined(
        &mut self,
        batch: &PieceBatch,
        mut builder: BatchBuilder,
        joined: Joined,
    ) -> Result<Finished, Denied> {
        let Joined { made, mut lease } = joined;
        let plan = batch.plan();
        let batch = builder.finish();
        // What the pieces hold becomes the batch's.
        let bytes = batch.capacity_bytes() as u64;
        for more in made.leases {
            lease.join(more);
        }
        if !lease.try_grow(bytes) {
            return Err(Denied::Again);
        }
        lease.shrink(bytes);
        self.builders.give_back(builder);
        self.context.flow.counters.add_tally(&made.tally);
        let written = Written { ..made.written };
        let need = self.need(&plan, plan.rows, written);
        Ok(Finished::batch(batch, lease, None, need))
    }

    /// Gives out a batch that was made in pieces, or has it made again.
    fn finish_pieces(&mut self, seq: u64, batch: &PieceBatch, finished: Result<Finished, Denied>) {
        let flow = self.context.flow.clone();
        let done =
            finished.and_then(|finished| flow.finish_batch(seq, batch.number, finished, true));
        if done == Err(Denied::Again) {
            self.make_again(seq, batch);
        }
    }

    /// Has a batch that was made in pieces be made again, by one op alone.
    #[cold]
    fn make_again(&mut self, seq: u64, batch: &PieceBatch) {
        let op = Op::Batches {
            first: batch.number,
            plans: vec![batch.plan()],
            estimate: 0,
        };
        self.run_again(seq, op);
    }

    /// Decodes the first `rows` rows of a planned batch.
    fn decode(
        &mut self,
        plan: &BatchPlan,
        rows: u64,
        account: &mut Account,
    ) -> Result<Decoded, Failed> {
        let fixed = rows.saturating_mul(self.fixed_row_bytes);
        let at_first = |denied| Failed::Denied(denied, 0);
        account.hold_batch(fixed).map_err(at_first)?;
        let mut fresh;
        let builder = match account.is_alone {
            // Memory of an earlier batch may be larger than this one needs.
            true => {
                fresh = BatchBuilder::new(self.builders.spec().clone());
                &mut fresh
            }
            false => &mut self.builder,
        };
        let mut written = Written::default();
        let context = &mut self.context;
        let tally = {
            let mut slots = builder.slots(&[rows as usize]);
            let slots = &mut slots[0];
            account
                .hold_batch(slots.batch_bytes() as u64)
                .map_err(at_first)?;
            context.decode_reads(plan, rows, slots, account, fixed, &mut written)?
        };
        context.gather(builder, plan, account, &mut written)?;
        let batch = builder.finish();
        if !account.is_alone {
            self.builders.shrink(&mut self.builder);
        }
        Ok(Decoded {
            batch,
            tally,
            written,
        })
    }
}

impl Context {
    /// Decodes the first `rows` rows of a plan. What is written to columns of variable size counts in
    /// addition to `fixed` bytes of the batch.
    fn decode_reads(
        &mut self,
        plan: &BatchPlan,
        rows: u64,
        slots: &mut RowSlots<'_>,
        account: &mut Account,
        fixed: u64,
        written: &mut Written,
    ) -> Result<Tally, Failed> {
        let mut tally = Tally::default();
        let mut reads = Reads::new(&plan.reads);
        let mut growth = Growth {
            fixed,
            empty: slots.segment_bytes() as u64,
            first_row: slots.row() as u64,
            next_row: if self.has_variable { 0 } else { u64::MAX },
            read_bytes: 0,
        };
        let mut left = rows;
        while left > 0
            && let Some(read) = reads.next()
        {
            if self.flow.is_stopped() {
                return Err(Failed::Denied(Denied::Cancelled, 0));
            }
            let records = left.min(read.records);
            left -= records;
            let done = self.read(
                read,
                records,
                &mut reads,
                slots,
                account,
                (&mut growth, written),
            );
            tally.add(&done.map_err(|failed| failed.before(slots))?);
        }
        written.variable = growth.written(slots);
        let held = account.hold_batch(fixed + grown(written.variable));
        held.map_err(|denied| ReadError::Denied(denied).before(slots))?;
        Ok(tally)
    }

    /// Lays the columns of variable size end to end, once all rows are decoded.
    fn gather(
        &mut self,
        builder: &mut BatchBuilder,
        plan: &BatchPlan,
        account: &mut Account,
        written: &mut Written,
    ) -> Result<(), Failed> {
        written.padded = padded_bytes(builder, plan)?;
        let held = account.take(written.padded);
        held.map_err(|denied| Failed::Denied(denied, 0))?;
        for task in builder.gather() {
            task.run();
        }
        account.give(written.padded);
        Ok(())
    }

    /// Decodes `records` records of a block.
    fn read(
        &mut self,
        read: &BlockRead,
        records: u64,
        reads: &mut Reads<'_>,
        slots: &mut RowSlots<'_>,
        account: &mut Account,
        (growth, written): (&mut Growth, &mut Written),
    ) -> Result<Tally, ReadError> {
        let block = &*read.block;
        let own;
        let mut tally = Tally::default();
        let mut held = 0;
        let (decoder, prepared, mut pos) = if let Some(found) = reads.found() {
            let Found {
                decoder,
                prepared,
                pos,
            } = found;
            (decoder, prepared, pos)
        } else if read.is_only {
            // Decoded where it was prepared, and then let go: it stays in this worker's cache.
            let prepared = self.prepare_own(read, reads, account)?;
            held = prepared.bytes;
            written.only = written.only.max(held + prepared.working);
            own = prepared.result?;
            tally.add(&own.1);
            let pos = block.nearest(read.first);
            (&*block.file.decoder, &own.0, pos)
        } else {
            let prepared = self.shared(block, account.is_alone)?;
            let pos = block.nearest(read.first);
            (&*block.file.decoder, prepared, pos)
        };
        if pos.record < read.first {
            // It may have been published since.
            pos = block.nearest(read.first);
        }
        if pos.record < read.first {
            let found = decoder.seek(prepared, pos, read.first);
            pos = found.map_err(|error| block.error(error))?;
            block.publish(pos);
        }
        let mut left = records;
        while left > 0 {
            let row = slots.row() as u64;
            if row >= growth.next_row || growth.read_bytes >= self.counted_bytes {
                self.count_growth(growth, slots, account)?;
            }
            let records = left.min(growth.next_row - row);
            left -= records;
            let upcoming = if left == 0 { reads.upcoming() } else { None };
            let decoded =
                decoder.decode(prepared, pos, records, slots, &mut self.scratch, upcoming);
            let decoded = match decoded {
                Err(error) if needed_limit(&error).is_some() => {
                    return Err(self.no_room(account).into());
                }
                decoded => decoded.map_err(|error| block.error(error))?,
            };
            pos = decoded.pos;
            tally.add(&decoded.tally);
        }
        if self.has_variable {
            growth.read_bytes += prepared.bytes() as u64;
        }
        if pos.record == block.records {
            let finished = decoder.finish(prepared, pos);
            tally.add(&finished.map_err(|error| ReadError::LastRecord(block.error(error)))?);
        } else if !read.is_only {
            block.publish(pos);
        }
        account.give(held);
        Ok(tally)
    }

    /// Counts what was written to columns of variable size, and says how much more there is room for.
    fn count_growth(
        &self,
        growth: &mut Growth,
        slots: &mut RowSlots<'_>,
        account: &mut Account,
    ) -> Result<(), Denied> {
        let written = growth.written(slots);
        account.hold_batch(growth.fixed + grown(written))?;
        let row = slots.row() as u64;
        let row_bytes = match row - growth.first_row {
            0 => self.flow.costs.batch_bytes(1),
            rows => written / rows,
        };
        // The first batch may have large records.
        let is_unknown = row_bytes == 0 && row == growth.first_row;
        let rows = match is_unknown {
            true => COUNTED_RECORDS,
            false => (self.counted_bytes / row_bytes.max(1)).max(COUNTED_RECORDS),
        };
        growth.next_row = row.saturating_add(rows);
        growth.read_bytes = 0;
        slots.set_room(ungrown(account.left()));
        Ok(())
    }

    /// A record needs more memory than there is.
    #[cold]
    fn no_room(&self, account: &Account) -> Denied {
        if !account.is_alone {
            return Denied::Again;
        }
        match self.flow.wait_for_consumer() {
            Ok(true) => Denied::Again,
            Ok(false) => Denied::Exceeded,
            Err(denied) => denied,
        }
    }
}

/// How the columns of variable size grow.
struct Growth {
    /// Bytes of the batch in columns of fixed size.
    fixed: u64,
    /// Bytes of the columns before the first row.
    empty: u64,
    first_row: u64,
    /// The row at which what was written is counted next, if not enough bytes are read before.
    next_row: u64,
    /// Bytes of the blocks that were read since.
    read_bytes: u64,
}

impl Growth {
    fn written(&self, slots: &RowSlots<'_>) -> u64 {
        (slots.segment_bytes() as u64).saturating_sub(self.empty)
    }
}

/// Bytes that columns of variable size take while they grow to `bytes`: up to a quarter is unused, and
/// the old memory is there until it is copied.
pub(crate) fn grown(bytes: u64) -> u64 {
    bytes.saturating_mul(5) / 2
}

/// Bytes to which columns of variable size can grow in `bytes` bytes of memory.
pub(crate) fn ungrown(bytes: u64) -> usize {
    usize::try_from(bytes / 5 * 2).unwrap_or(usize::MAX)
}

/// Bytes of the columns that are filled up, or the first row whose lists have other lengths than
/// earlier ones.
fn padded_bytes(builder: &BatchBuilder, plan: &BatchPlan) -> Result<u64, Failed> {
    let Some(found) = builder.disagreement() else {
        return Ok(builder.padded_bytes());
    };
    let place = |row| place_of_row(plan, row).map_or_else(Default::default, |place| place.place());
    let row = found.row as u64;
    let mut error = Error::shapes_differ(builder.spec(), found, place(0));
    let field = error.place.field.take();
    *error.place = place(row);
    error.place.field = field;
    Err(Failed::Row(RowError { row, error }))
}

/// The place of a row's record.
#[cold]
fn place_of_row(plan: &BatchPlan, row: u64) -> Option<RecordPlace> {
    let mut before = 0;
    for read in &plan.reads {
        if row < before + read.records {
            return Some(read.block.place(read.first + row - before));
        }
        before += read.records;
    }
    None
}
