//! A worker: takes ops, and makes batches.

use std::iter;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use atds_format::Scratch;
use tensor_batch::{BatchBuilder, ColumnSpec, OwnedRowSlots, RowSlots, Slot};

use crate::Error;
use crate::account::Account;
use crate::decode::{Failed, Failure, Written, grown};
use crate::delays;
use crate::flow::{Denied, Finished, Flow};
use crate::measure::share;
use crate::need::Need;
use crate::ops::{Op, Queued, Work};
use crate::pieces::{Join, Made, Piece, PieceBatch};
use crate::planner::BatchPlan;
use crate::sync::Instant;
use crate::tuning::{COUNTED_BYTES, JOIN_BYTES, KEPT_SHARE, WAKE_TIME};
use crate::watch::{FIRST_WORKER, JOIN, What};

/// A worker's state, which it keeps from one op to the next.
pub(crate) struct Worker {
    /// The number of the worker.
    number: usize,
    pub(crate) flow: Arc<Flow>,
    pub(crate) scratch: Scratch,
    /// When the consumer was woken last, or the op began.
    woken: Instant,
    /// Time of the batch that was not spent decoding.
    pub(crate) other_time: Duration,
    /// Bytes that the payload needs which did not fit.
    pub(crate) missing: Option<u64>,
    /// Whether batches have columns of variable size.
    pub(crate) has_variable: bool,
    /// The columns of the places of records, and of whether rows were read, if there are: no decoder sees
    /// them.
    provenance: Option<usize>,
    mask: Option<usize>,
    /// Bytes that are written, or read, before they count.
    pub(crate) counted_bytes: u64,
}

impl Worker {
    pub(crate) fn new(number: usize, flow: Arc<Flow>) -> Self {
        let is_variable =
            |column: &ColumnSpec| column.dtype.size().is_none() || column.row_len().is_none();
        let own = |name: &Option<String>| flow.builders.spec().position(name.as_deref()?);
        Worker {
            number,
            has_variable: flow.builders.spec().columns().iter().any(is_variable),
            provenance: own(&flow.options.provenance),
            mask: own(&flow.options.mask),
            counted_bytes: COUNTED_BYTES.min(flow.memory.limit() / KEPT_SHARE),
            flow,
            scratch: Scratch::default(),
            woken: Instant::now(),
            other_time: Duration::ZERO,
            missing: None,
        }
    }

    /// Runs reads, joins and ops until there are no more.
    pub(crate) fn run(mut self) {
        let flow = self.flow.clone();
        let number = FIRST_WORKER + self.number;
        let _running = flow.watch.thread(number, "looks for an op");
        flow.begin_worker(self.number);
        delays::begin(flow.options.delays, 1 + self.number);
        while let Some(work) = flow.next_work(self.number) {
            let (queued, lease) = match work {
                Work::Read(read) => {
                    let _reading = flow.watch.begin(read.what());
                    read.run();
                    continue;
                }
                Work::Join(join) => {
                    let _joining = flow.watch.begin(JOIN.with(&[("batch", join.batch.number)]));
                    self.run_join(join);
                    flow.finish_op();
                    continue;
                }
                Work::Op(queued, lease) => (queued, lease),
            };
            let _working = flow.watch.begin(What::op(&queued));
            flow.watch.set_leased(lease.bytes());
            self.woken = Instant::now();
            let Queued {
                seq, op, is_alone, ..
            } = queued;
            let mut account = Account::new(flow.clone(), lease, is_alone);
            let again = match op {
                Op::Prepare(blocks) => {
                    self.prepare_early(&blocks);
                    None
                }
                Op::Make(pieces) => self.make(seq, pieces, &mut account),
            };
            account.clear();
            if let Some(again) = again {
                flow.run_again(seq, again);
            }
            drop(account);
            flow.finish_op();
        }
    }

    /// Makes consecutive batches, or a piece of one. Returns the op that is left, if memory is missing.
    fn make(&mut self, seq: u64, pieces: Vec<Piece>, account: &mut Account) -> Option<Op> {
        let mut pieces = pieces.into_iter();
        while let Some(Piece { batch, number }) = pieces.next() {
            if self.flow.is_stopped() {
                return None;
            }
            match self.make_piece(seq - number as u64, &batch, number, account) {
                Ok(()) => {}
                Err(Denied::Again) => {
                    let again = iter::once(batch.again());
                    return Some(Op::Make(again.chain(pieces).collect()));
                }
                Err(_) => return None,
            }
        }
        None
    }

    /// Makes a piece of a batch, of which `seq` is the first op. After the last piece and its joins, the
    /// batch is finished. If it has a bad row, the rows that are given out are decoded once more: an error
    /// is rare.
    fn make_piece(
        &mut self,
        seq: u64,
        batch: &Arc<PieceBatch>,
        piece: usize,
        account: &mut Account,
    ) -> Result<(), Denied> {
        let (mut batch, mut piece) = (batch.clone(), piece);
        while let Some(left) = self.try_to_make(seq, &batch, piece, account)? {
            (batch, piece) = (Arc::new(left), 0);
        }
        Ok(())
    }

    /// Makes a piece. Returns what is left of the batch, if that is to be made instead.
    fn try_to_make(
        &mut self,
        seq: u64,
        batch: &Arc<PieceBatch>,
        piece: usize,
        account: &mut Account,
    ) -> Result<Option<PieceBatch>, Denied> {
        let start = Instant::now();
        self.other_time = Duration::ZERO;
        let finished = match self.try_piece(seq, batch, piece, account) {
            Ok((is_made, join)) => {
                let finished = join.map(|join| self.join(join, account.is_alone));
                let rows = batch.rows_of(piece);
                if is_made && rows > 0 {
                    let decoding = start.elapsed().saturating_sub(self.other_time);
                    let flow = &self.flow;
                    flow.costs.note_rows(rows, account.take_most(), decoding);
                    flow.counters.add_rows(self.number, rows, decoding);
                }
                match finished.transpose() {
                    Err(Denied::Exceeded) => Some(self.exceeded(batch, account)),
                    finished => finished?.flatten(),
                }
            }
            Err(Failed(row, why)) => match self.without_bad_row(batch, row, why, account) {
                Err(Denied::Exceeded) => Some(self.exceeded(batch, account)),
                left => {
                    let left = left?;
                    let (0, Some(error)) = left.good_rows() else {
                        return Ok(Some(left));
                    };
                    let need = self.need(&left, 0, Written::default());
                    Some(Finished::without_batch(Some(error), Some(need)))
                }
            },
        };
        if let Some(finished) = finished {
            self.finish(seq, batch, finished, Some(account))?;
        }
        Ok(None)
    }

    /// Decodes a piece, and says whether it was made. After the last one, the columns of the pieces are
    /// laid end to end: some by the join that is returned, and the others by whichever workers are free.
    fn try_piece(
        &mut self,
        seq: u64,
        batch: &Arc<PieceBatch>,
        piece: usize,
        account: &mut Account,
    ) -> Result<(bool, Option<Join>), Failed> {
        let made = match self.decode_piece(batch, piece, account) {
            Err(Failed(_, Failure::Denied(Denied::Again))) => None,
            made => Some(made?),
        };
        let is_made = made.is_some();
        let Some((builder, mut made)) = batch.end(made)? else {
            return Ok((is_made, None));
        };
        if let Some((row, error)) = made.failed.take() {
            return Err(Failed(row, error.into()));
        }
        if let Some((row, error)) = disagreement(&builder, batch) {
            return Err(Failed(row, Failure::Disagreement(error, made.written)));
        }
        made.written.padded = builder.padded_bytes();
        // What one piece has written is not copied.
        let (copied, task_bytes) = match batch.pieces.len() {
            1 => (0, usize::MAX),
            // Tests have little data.
            _ if self.flow.options.piece_rows.is_some() => (grown(made.written.variable), 1),
            _ => (grown(made.written.variable), JOIN_BYTES),
        };
        account.hold_batch(copied.saturating_add(made.written.padded))?;
        made.lease.merge(account.split_batch());
        batch.keep(made);
        let tasks = builder.into_gather(task_bytes).into_iter();
        let mut joins = tasks.map(|tasks| Join {
            batch: batch.clone(),
            seq,
            tasks,
        });
        let own = joins.next();
        self.flow.queue_joins(joins.collect());
        Ok((is_made, own))
    }

    fn decode_piece(
        &mut self,
        batch: &PieceBatch,
        piece: usize,
        account: &mut Account,
    ) -> Result<(OwnedRowSlots, Made), Failed> {
        let mut slots = batch.begin(piece, &self.flow.builders, account)?;
        let (plan, rows) = (&batch.pieces[piece], batch.rows_of(piece));
        let mut made = Made::new(account.split_batch());
        let decoded = slots.with(|slots| {
            let (provenance, mask) = self.take_own_columns(slots);
            if let Some(mut column) = provenance {
                write_provenance(plan, rows, &mut column);
            }
            // Rows that damage has cost come later, and have false.
            if let Some(mut mask) = mask
                && let Some(rows) = mask.dense::<bool>()
            {
                rows.fill(1);
            }
            self.decode(plan, rows, slots, account, &mut made)
        });
        match decoded {
            Err(Failed(row, Failure::Error(error))) => made.failed = Some((row, error)),
            decoded => decoded?,
        }
        made.lease.merge(account.split_batch());
        Ok((slots, made))
    }

    /// Takes the columns that no decoder sees out of slots: that of the places of records, and the mask.
    pub(crate) fn take_own_columns<'s>(
        &self,
        slots: &mut RowSlots<'s>,
    ) -> (Option<Slot<'s>>, Option<Slot<'s>>) {
        let (provenance, mask) = (self.provenance, self.mask);
        // Those after a column that is taken move up.
        let moved =
            |at: usize, taken: Option<usize>| at - usize::from(taken.is_some_and(|t| t < at));
        let first = provenance.map(|at| slots.take_column(at));
        let second = mask.map(|at| slots.take_column(moved(at, provenance)));
        (first, second)
    }

    /// Does a join of the queue.
    fn run_join(&mut self, join: Join) {
        let (seq, batch) = (join.seq, join.batch.clone());
        let done = self.join(join, false).and_then(|finished| match finished {
            Some(finished) => self.finish(seq, &batch, finished, None),
            None => Ok(()),
        });
        if done == Err(Denied::Again) {
            self.flow.run_again(seq, Op::Make(vec![batch.again()]));
        }
    }

    /// Lays some columns of a batch end to end. Returns the batch, if they are the last.
    fn join(&mut self, join: Join, is_alone: bool) -> Result<Option<Finished>, Denied> {
        let batch = join.batch.clone();
        let Some(mut builder) = join.tasks.run() else {
            return Ok(None);
        };
        let made = batch.take_made()?;
        let columns = builder.finish();
        // What the pieces hold becomes the batch's.
        let bytes = columns.capacity_bytes() as u64;
        let flow = &self.flow;
        let mut lease = made.lease;
        flow.grow(&mut lease, bytes, is_alone)?;
        self.flow.builders.give_back(builder);
        lease.shrink(bytes);
        let gaps = match &flow.options.mask {
            Some(_) if batch.good_rows().1.is_none() => batch.gaps(),
            _ => Vec::new(),
        };
        let columns = match gaps[..] {
            [] => columns,
            _ => {
                let copied = self.copied(&batch, made.written);
                flow.grow(&mut lease, bytes.saturating_add(copied), is_alone)?;
                let spread = columns.with_zero_rows(&gaps);
                lease.shrink(spread.capacity_bytes() as u64);
                spread
            }
        };
        let (rows, error) = batch.good_rows();
        let need = self.need(&batch, rows, made.written);
        if error.is_some() && self.flow.options.drop_remainder {
            // It was made to know what it needs: whether it fits is the same for any order of threads.
            self.flow.counters.add_dropped_records(rows);
            return Ok(Some(Finished::without_batch(error, Some(need))));
        }
        self.flow.counters.add_tally(&made.tally);
        Ok(Some(Finished {
            batch: Some(columns),
            lease: Some(lease),
            error,
            need: Some(need),
            left_out: batch.left_out(),
        }))
    }

    /// Gives a batch, which `account` does not hold any more, to the consumer's side.
    fn finish(
        &mut self,
        seq: u64,
        batch: &PieceBatch,
        finished: Finished,
        account: Option<&mut Account>,
    ) -> Result<(), Denied> {
        let is_last = finished.error.is_some();
        let wakes = self.woken.elapsed() >= WAKE_TIME;
        if wakes {
            self.woken = Instant::now();
        }
        let flow = &self.flow;
        flow.finish_batch((seq, batch.number), finished, account, wakes)?;
        // Nothing is given out after an error.
        match is_last {
            true => Err(Denied::Cancelled),
            false => Ok(()),
        }
    }

    /// The error of a batch that does not fit although no other op runs. Where memory ended depends on
    /// time, and is not named.
    #[cold]
    fn exceeded(&mut self, batch: &PieceBatch, account: &mut Account) -> Finished {
        account.clear();
        let (written, too_large) = self.measure(batch);
        let mut need = self.need(batch, batch.rows(), written);
        let too_large = too_large.and_then(|row| batch.place(row));
        need.place = too_large.or(need.place);
        need.is_exceeded = true;
        Finished::without_batch(None, Some(need))
    }

    /// Bytes of the columns of fixed size of all rows that are planned, with those that are left out.
    fn fixed(&self, batch: &PieceBatch) -> u64 {
        let rows = batch.rows() + batch.left_out.rows;
        rows.saturating_mul(self.flow.builders.fixed_row_bytes)
    }

    /// Bytes of the copy of a batch that has rows of zeros, as if they were as large as the others.
    fn copied(&self, batch: &PieceBatch, written: Written) -> u64 {
        let (good, zeros) = (batch.rows(), batch.left_out.rows);
        let bytes = grown(written.variable).saturating_add(written.padded);
        self.fixed(batch)
            .saturating_add(share(bytes, good + zeros, good))
    }

    /// What a batch needs of which the first `rows` rows are good. Its bad rows need as much as if they were
    /// there, up to where they are bad: whatever memory there was, the same is found.
    fn need(&self, batch: &PieceBatch, rows: u64, written: Written) -> Need {
        let window = batch.window();
        let variable = written
            .variable
            .saturating_add(batch.left_out.taken.variable);
        let copied = match self.mask.is_some() && batch.left_out.rows > 0 {
            true => self.copied(batch, written),
            false => 0,
        };
        let made = self.fixed(batch).saturating_add(grown(variable));
        let made = made.saturating_add(written.padded);
        let mut need = Need {
            window: window.bytes,
            departed: window.departed.clone(),
            own: made.saturating_add(copied),
            place: batch.first_place(),
            ..Need::default()
        };
        let (mut before, mut preparing) = (0, written.only.max(batch.left_out.taken.only));
        for read in batch.reads() {
            if before > rows {
                break;
            }
            before += read.records;
            if read.is_only() || !(read.prepares || read.block.payload.is_unread) {
                continue;
            }
            let size = read.block.payload.size();
            if read.begins && size.early.load(Relaxed) > 0 {
                need.early_payloads.push(size.clone());
            }
            if !read.prepares {
                // It stays in the window as it is.
                continue;
            }
            if read.begins {
                need.begun += size.bytes.load(Relaxed);
                preparing = preparing.max(size.working.load(Relaxed));
            }
            if read.ends {
                need.ended += size.bytes.load(Relaxed);
            }
        }
        need.own = need.own.saturating_add(preparing);
        need
    }
}

/// Writes the file and the record of each of the first `rows` rows of a plan.
fn write_provenance(plan: &BatchPlan, rows: u64, column: &mut Slot<'_>) {
    let records = plan.reads.iter().flat_map(|read| {
        let (file, first) = (read.block.file.number, read.block.first_record);
        // Only false counts have a sum that does not fit.
        let runs = read.block.members.runs(read.first, read.records);
        let records = runs
            .flatten()
            .map(move |record| first.saturating_add(record));
        records.map(move |record| [file as i64, record as i64])
    });
    let cells = column.dense::<i64>().unwrap_or_default();
    for (cell, record) in cells.chunks_exact_mut(2).zip(records.take(rows as usize)) {
        cell.copy_from_slice(&record);
    }
}

/// The first row whose lists have other lengths than those of earlier rows.
fn disagreement(builder: &BatchBuilder, batch: &PieceBatch) -> Option<(u64, Error)> {
    let found = builder.disagreement()?;
    let place = |row| {
        let place = batch.place(row);
        place.map_or_else(Default::default, |place| place.place())
    };
    let row = found.row as u64;
    let mut error = Error::shapes_differ(builder.spec(), found, place(0));
    let field = error.place.field.take();
    *error.place = place(row);
    error.place.field = field;
    Some((row, error))
}
