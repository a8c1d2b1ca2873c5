//! Batches that are made: mostly of one piece, large ones of several, which as many ops make.

use std::sync::{Arc, PoisonError};

use atds_format::Tally;
use tensor_batch::{BatchBuilder, OwnedGatherTasks, OwnedRowSlots, ZeroRows};

use crate::account::Account;
use crate::block::RecordPlace;
use crate::builders::Builders;
use crate::damage::LeftOut;
use crate::decode::Written;
use crate::flow::Denied;
use crate::memory::Lease;
use crate::planner::{BatchPlan, BlockRead, WindowSize};
use crate::sync::{Mutex, MutexGuard};
use crate::{Error, delays};

/// A batch that is made. If several ops write it, columns of fixed size are written in place, and those of
/// variable size as a segment for each op. Joins lay the segments end to end.
#[derive(Debug)]
pub(crate) struct PieceBatch {
    /// The number of the batch.
    pub(crate) number: u64,
    /// Consecutive rows of the batch, those of each op: one at least, unless all are left out.
    pub(crate) pieces: Vec<BatchPlan>,
    /// Number of rows before the first bad one, which are made, and its error.
    bad: Option<(u64, Error)>,
    /// What was left out of the batch.
    pub(crate) left_out: LeftOut,
    state: Mutex<State>,
}

/// A piece of a batch, which an op makes: mostly all of it.
#[derive(Clone, Debug)]
pub(crate) struct Piece {
    pub(crate) batch: Arc<PieceBatch>,
    pub(crate) number: usize,
}

impl Piece {
    pub(crate) fn plan(&self) -> &BatchPlan {
        &self.batch.pieces[self.number]
    }
}

#[derive(Debug, Default)]
struct State {
    /// Whether memory was missing, so that one op makes the whole batch later.
    is_given_up: bool,
    /// Number of pieces that have ended.
    ended: usize,
    /// The memory of the pieces that have not begun.
    slots: Vec<Option<OwnedRowSlots>>,
    /// What all pieces have made that have ended, once the first has begun.
    made: Option<Made>,
}

/// What a piece has made, or all pieces of a batch.
#[derive(Debug)]
pub(crate) struct Made {
    pub(crate) tally: Tally,
    /// The first bad row.
    pub(crate) failed: Option<(u64, Error)>,
    /// What the batch holds.
    pub(crate) lease: Lease,
    pub(crate) written: Written,
}

/// Lays some columns of a batch, all of whose pieces are made, end to end. A worker does it before any
/// op.
#[derive(Debug)]
pub(crate) struct Join {
    pub(crate) batch: Arc<PieceBatch>,
    /// The number of the batch's first op.
    pub(crate) seq: u64,
    pub(crate) tasks: OwnedGatherTasks,
}

impl Made {
    pub(crate) fn new(lease: Lease) -> Self {
        Made {
            tally: Tally::default(),
            failed: None,
            lease,
            written: Written::default(),
        }
    }

    fn add(&mut self, piece: Made) {
        self.tally.add(&piece.tally);
        self.lease.merge(piece.lease);
        self.written.variable += piece.written.variable;
        self.written.only = self.written.only.max(piece.written.only);
        let failed = self.failed.take().into_iter().chain(piece.failed);
        self.failed = failed.min_by_key(|&(row, _)| row);
    }
}

impl PieceBatch {
    pub(crate) fn new(number: u64, pieces: Vec<BatchPlan>) -> Self {
        PieceBatch {
            number,
            pieces,
            bad: None,
            left_out: LeftOut::default(),
            state: Mutex::default(),
        }
    }

    /// The rows before row `row`, which has an error, in one piece. Reading that row takes `taken`.
    #[cold]
    pub(crate) fn before(&self, row: u64, error: Error, taken: Written) -> Self {
        let mut left_out = self.left_out.clone();
        left_out.taken = left_out.taken.max(taken);
        PieceBatch {
            bad: Some((row, error)),
            left_out,
            ..PieceBatch::new(self.number, vec![self.plan()])
        }
    }

    /// Whether several ops make the batch.
    pub(crate) fn is_cut(&self) -> bool {
        self.pieces.len() > 1
    }

    /// All rows as one plan.
    pub(crate) fn plan(&self) -> BatchPlan {
        BatchPlan {
            rows: self.rows(),
            reads: self.reads().cloned().collect(),
            window: self.window().clone(),
        }
    }

    /// The whole batch in one piece.
    #[cold]
    pub(crate) fn again(&self) -> Piece {
        Piece {
            batch: Arc::new(PieceBatch::new(self.number, vec![self.plan()])),
            number: 0,
        }
    }

    pub(crate) fn reads(&self) -> impl Iterator<Item = &BlockRead> {
        self.pieces.iter().flat_map(|piece| &piece.reads)
    }

    pub(crate) fn window(&self) -> &WindowSize {
        &self.pieces[0].window
    }

    /// Number of rows that are planned.
    pub(crate) fn rows(&self) -> u64 {
        self.pieces.iter().map(|piece| piece.rows).sum()
    }

    /// Number of rows of a piece that are made.
    pub(crate) fn rows_of(&self, piece: usize) -> u64 {
        let good = self.bad.as_ref().map(|&(row, _)| row);
        good.unwrap_or(self.pieces[piece].rows)
    }

    /// Number of rows that are made, and the error that follows.
    pub(crate) fn good_rows(&self) -> (u64, Option<Error>) {
        match &self.bad {
            Some((row, error)) => (*row, Some(error.clone())),
            None => (self.rows(), None),
        }
    }

    /// What was left out of the batch, and by framing before it.
    pub(crate) fn left_out(&self) -> LeftOut {
        let mut left_out = self.left_out.clone();
        left_out
            .damage
            .extend(self.window().skipped.iter().cloned());
        left_out
    }

    /// Where rows were left out.
    pub(crate) fn gaps(&self) -> Vec<ZeroRows> {
        let (mut gaps, mut before) = (Vec::<ZeroRows>::new(), 0);
        for read in self.reads() {
            before += read.records as usize;
            let rows = read.lost as usize;
            match gaps.last_mut() {
                Some(last) if last.before == before => last.rows += rows,
                _ if rows > 0 => gaps.push(ZeroRows { before, rows }),
                _ => {}
            }
        }
        gaps
    }

    /// The place of the first record that is planned.
    pub(crate) fn first_place(&self) -> Option<RecordPlace> {
        let first = self.reads().next()?;
        Some(first.block.place(first.first))
    }

    /// The place of a row's record.
    pub(crate) fn place(&self, row: u64) -> Option<RecordPlace> {
        let mut before = 0;
        for read in self.reads() {
            if row < before + read.records {
                return Some(read.block.place(read.first + row - before));
            }
            before += read.records;
        }
        None
    }

    /// The memory of a piece. The first one to begin makes that of the whole batch.
    pub(crate) fn begin(
        &self,
        piece: usize,
        builders: &Builders,
        account: &mut Account,
    ) -> Result<OwnedRowSlots, Denied> {
        let mut state = self.lock();
        if state.is_given_up {
            return Err(Denied::Again);
        }
        if state.made.is_none() {
            let rows = (0..self.pieces.len()).map(|piece| self.rows_of(piece) as usize);
            let rows: Vec<usize> = rows.collect();
            let all = rows.iter().sum::<usize>() as u64;
            account.hold_batch(all.saturating_mul(builders.fixed_row_bytes))?;
            let (builder, kept) = builders.take();
            let mut slots = builder.into_slots(&rows);
            let sizes = slots[0].with(|first| (first.counted_bytes(), first.batch_bytes()));
            account.adopt_batch(sizes.0 as u64);
            // New columns beside those of dropped batches.
            account.hold_batch(sizes.1 as u64)?;
            let mut lease = account.split_batch();
            lease.merge(kept);
            state.slots = slots.into_iter().map(Some).collect();
            state.made = Some(Made::new(lease));
        }
        let slots = state.slots.get_mut(piece).and_then(Option::take);
        slots.ok_or(Denied::Cancelled)
    }

    /// Keeps what all pieces have made for the worker that does the last join.
    pub(crate) fn keep(&self, made: Made) {
        self.lock().made = Some(made);
    }

    /// What all pieces have made.
    pub(crate) fn take_made(&self) -> Result<Made, Denied> {
        self.lock().made.take().ok_or(Denied::Again)
    }

    /// Gives back what the pieces have made: one op makes the whole batch later.
    pub(crate) fn give_up(&self) {
        let mut state = self.lock();
        state.is_given_up = true;
        let given_up = (std::mem::take(&mut state.slots), state.made.take());
        drop(state);
        drop(given_up);
    }

    /// Ends a piece; `None` if memory was missing for it. The last one gets the builder, and what
    /// all pieces have made. If memory was missing for one, the batch is made again after the last.
    pub(crate) fn end(
        &self,
        piece: Option<(OwnedRowSlots, Made)>,
    ) -> Result<Option<(BatchBuilder, Made)>, Denied> {
        let mut state = self.lock();
        state.ended += 1;
        let builder = match (piece, &mut state.made) {
            (Some((slots, piece)), Some(made)) => {
                made.add(piece);
                slots.end()
            }
            _ => {
                state.is_given_up = true;
                (state.slots, state.made) = (Vec::new(), None);
                None
            }
        };
        if state.ended < self.pieces.len() {
            return Ok(None);
        }
        let whole = builder.zip(state.made.take());
        whole.map(Some).ok_or(Denied::Again)
    }

    // Taken under the flow's lock by `give_up`. `begin` takes the flow's under it, but only in an op that
    // runs alone: then no batch that is cut begins.
    #[track_caller]
    fn lock(&self) -> MutexGuard<'_, State> {
        delays::hand_over();
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(all(test, not(loom)))]
#[allow(clippy::unwrap_used, reason = "a panic is a failure")]
mod tests {
    use tensor_batch::{BatchSpec, ColumnSpec, DType, Scalar};

    use super::*;
    use crate::Options;
    use crate::flow::Flow;

    fn flow(columns: Vec<ColumnSpec>) -> Arc<Flow> {
        Flow::new(Options::new(200), BatchSpec::new(columns).unwrap())
    }

    fn piece() -> BatchPlan {
        BatchPlan {
            rows: 100,
            reads: Vec::new(),
            window: WindowSize::default(),
        }
    }

    #[test]
    fn pieces_that_are_given_up_give_their_memory_back() {
        let flow = flow(vec![ColumnSpec::dense("id", &[], DType::Int64)]);
        let (memory, builders) = (flow.memory.clone(), flow.builders.clone());
        let batch = PieceBatch::new(0, vec![piece(), piece()]);
        let account = || Account::new(flow.clone(), Lease::none(&memory), false);
        let slots = batch.begin(0, &builders, &mut account()).unwrap();
        let made = Made::new(Lease::try_new(&memory, 1_000).unwrap());
        assert!(batch.end(Some((slots, made))).unwrap().is_none());
        assert!(memory.held() >= 2_600);
        batch.give_up();
        assert_eq!(memory.held(), 0);
        // The last piece has one op make the whole batch.
        let begun = batch.begin(1, &builders, &mut account());
        assert_eq!(begun.err(), Some(Denied::Again));
        assert_eq!(batch.end(None).err(), Some(Denied::Again));
    }

    #[test]
    fn new_columns_count_beside_those_of_dropped_batches() {
        let (id, tags) = (
            ColumnSpec::dense("id", &[], DType::Int64),
            ColumnSpec::flat("tags", DType::Int64),
        );
        let flow = flow(vec![id, tags]);
        let (memory, builders) = (&flow.memory, &flow.builders);
        let begin = |batch: &PieceBatch| {
            let mut account = Account::new(flow.clone(), Lease::none(memory), false);
            batch.begin(0, builders, &mut account).unwrap()
        };
        let mut slots = begin(&PieceBatch::new(0, vec![piece()]));
        slots.with(|slots| {
            let tags = slots.columns()[1].segment().unwrap();
            (0..1_000).for_each(|tag| tags.values.push(&Scalar::Int64(tag)));
            (0..100).for_each(|_| slots.advance());
        });
        let tasks = slots.end().unwrap().into_gather(usize::MAX);
        let builder = tasks.into_iter().find_map(|tasks| tasks.run());
        let mut columns = builder.unwrap().finish().into_columns();
        let id = columns.next();
        columns.for_each(drop);
        let kept = memory.held();
        assert!(kept >= 8_000);
        // So much that there is none to make columns as large as the largest.
        let others = Lease::try_new(memory, memory.left() - 832).unwrap();
        let next = PieceBatch::new(1, vec![piece()]);
        let slots = begin(&next);
        assert!(memory.held() >= others.bytes() + kept + 800);
        drop((slots, id));
    }
}
