//! Makes ops of planned batches, and puts them into one sequence.

use std::collections::{HashSet, VecDeque};
use std::mem;
use std::ptr;
use std::sync::Arc;
use std::time::Duration;

use atds_sched::thread_time;

use crate::block::Payload;
use crate::error::Stop;
use crate::flow::Flow;
use crate::measure::share;
use crate::ops::{EarlyBlock, Op};
use crate::pieces::{Piece, PieceBatch};
use crate::planner::{BatchPlan, BlockRead, WindowSize};
use crate::tuning::{
    ALIGNED_OP_TIME, FEW_RECORDS, LARGE_BATCH_TIME, PIECE_TIME, WAKE_TIME, op_time,
};

/// The planning thread's end of the flow.
///
/// Ops are delayed here while the blocks that they share with other ops are prepared: between an op
/// that prepares and the first that reads its blocks, there is work for all workers for as long as
/// preparing takes.
#[derive(Debug)]
pub(crate) struct Sequence {
    flow: Arc<Flow>,
    op_time: Duration,
    queued_batches: u64,
    /// Batches of the next op.
    next: Vec<BatchPlan>,
    next_rows: u64,
    /// Processor time of the planning thread until the last op was planned.
    planned_at: Option<Duration>,
    delayed: VecDeque<Delayed>,
    /// Blocks that are to be prepared together.
    group: Vec<EarlyBlock>,
    group_records: u64,
    /// The number of the op that reads the first of them, and of the op that was planned last.
    group_op: u64,
    last_op: u64,
}

/// An op of batches that waits until later ops are planned.
#[derive(Debug)]
struct Delayed {
    number: u64,
    plans: Vec<BatchPlan>,
    rows: u64,
    bytes: u64,
    /// Number of ops that it becomes.
    ops: u64,
    /// Number of records in the blocks that are prepared early for it, and in the largest of them.
    early: u64,
    largest: u64,
    /// Whether positions are found in them, too.
    finds_hints: bool,
}

impl Sequence {
    pub(crate) fn new(flow: Arc<Flow>) -> Self {
        Sequence {
            op_time: op_time(flow.options.threads),
            queued_batches: 0,
            next: Vec::new(),
            next_rows: 0,
            planned_at: None,
            delayed: VecDeque::new(),
            group: Vec::new(),
            group_records: 0,
            group_op: 0,
            last_op: 0,
            flow,
        }
    }

    /// Adds the next batch.
    pub(crate) fn push(&mut self, plan: BatchPlan) -> Result<(), Stop> {
        let rows = plan.rows;
        self.next_rows += rows;
        let goes_on = self.goes_on(&plan);
        self.next.push(plan);
        self.note_unqueued();
        if let Some(rows) = self.flow.options.op_rows {
            return if self.next_rows < rows {
                Ok(())
            } else {
                self.end_op()
            };
        }
        // Of several such batches, more would be ready at once than other ops may start beside.
        let is_large =
            self.flow.options.threads > 1 && rows >= self.flow.costs.rows_in(self.op_time / 2);
        if !is_large && self.next_rows < self.flow.costs.rows_in(self.op_time) {
            return Ok(());
        }
        if goes_on && self.next_rows < self.flow.costs.rows_in(ALIGNED_OP_TIME) {
            return Ok(());
        }
        self.end_op()
    }

    /// Whether the worker of `plan` should make the next batch, too: the next begins far within a large
    /// block, and another worker would skip the records before it.
    fn goes_on(&self, plan: &BatchPlan) -> bool {
        let last = plan.reads.last();
        let is_within = |read: &BlockRead| {
            let end = read.first + read.records;
            let records = read.block.members.count();
            read.first > 0 && end < records && records > plan.rows
        };
        !self.flow.options.is_shuffled()
            && self.flow.options.threads > 1
            && last.is_some_and(is_within)
    }

    /// Queues all batches, since it may take a while until there is another.
    pub(crate) fn flush(&mut self) -> Result<(), Stop> {
        self.end_op()?;
        while let Some(delayed) = self.delayed.pop_front() {
            self.queue(delayed)?;
        }
        Ok(())
    }

    /// Queues the ops of the batches that wait here, if the workers have nothing to do.
    pub(crate) fn flush_if_starved(&mut self) -> Result<(), Stop> {
        if (!self.next.is_empty() || !self.delayed.is_empty()) && self.flow.is_starved() {
            return self.flush();
        }
        Ok(())
    }

    /// Notes the processor time that planning `rows` rows took.
    fn note_planned(&mut self, rows: u64) {
        let now = thread_time();
        if let Some((now, before)) = now.zip(self.planned_at) {
            self.flow.costs.note_planned(rows, now - before);
        }
        self.planned_at = now;
    }

    /// Tells the flow which batch is the first that is not queued.
    fn note_unqueued(&self) {
        let delayed = self.delayed.iter().flat_map(|delayed| &delayed.plans);
        let first = delayed.chain(&self.next).next();
        self.flow.set_unqueued(first.map(|plan| plan.window.total));
    }

    fn end_op(&mut self) -> Result<(), Stop> {
        if self.next.is_empty() {
            return Ok(());
        }
        let rows = mem::take(&mut self.next_rows);
        self.note_planned(rows);
        let plans = mem::take(&mut self.next);
        let ops = match &*plans {
            [plan] => self.piece_count(plan).max(1),
            _ => 1,
        };
        self.last_op += 1;
        let mut delayed = Delayed {
            number: self.last_op,
            rows,
            bytes: payload_bytes(&plans),
            ops,
            early: 0,
            largest: 0,
            finds_hints: false,
            plans,
        };
        self.queue_prepares(&mut delayed)?;
        self.delayed.push_back(delayed);
        while self.may_queue() {
            let Some(delayed) = self.delayed.pop_front() else {
                break;
            };
            self.queue(delayed)?;
        }
        Ok(())
    }

    /// Whether there is work enough between the prepares of delayed ops and the first of these.
    fn may_queue(&self) -> bool {
        let Some(first) = self.delayed.front() else {
            return false;
        };
        let (mut rows, mut prepares, mut ops, mut bytes) = (0, 0, 0, 0);
        let (mut largest, mut finds_hints) = (0, false);
        for delayed in &self.delayed {
            rows += delayed.rows;
            prepares += delayed.early;
            ops += delayed.ops;
            bytes += delayed.bytes;
            largest = largest.max(delayed.largest);
            finds_hints |= delayed.finds_hints;
        }
        // The first batches are not delayed: the consumer waits for them.
        if largest == 0 || self.queued_batches == 0 || bytes > self.flow.memory.ahead_limit() {
            return true;
        }
        if ops <= self.flow.options.threads as u64 {
            return false;
        }
        let costs = &self.flow.costs;
        let between = costs.rows_ns(rows - first.rows) + costs.prepare_ns(prepares - first.early);
        !costs.is_measured()
            || between >= costs.work_ahead_ns(largest, finds_hints, self.flow.options.threads)
    }

    /// Queues ops that prepare the blocks which this op is the first to read, and other ops read, too.
    fn queue_prepares(&mut self, op: &mut Delayed) -> Result<(), Stop> {
        let payload = |read: &BlockRead| ptr::from_ref::<Payload>(&read.block.payload);
        // Those that leave the window in this op. If it is the first to read them, too, no other op does.
        // A batch mostly reads a block once.
        let several = if op.plans.len() > 1 {
            &op.plans[..]
        } else {
            &[]
        };
        let reads = several.iter().flat_map(|plan| &plan.reads);
        let ends = reads.filter(|read| read.ends && !read.begins && read.prepares);
        let ends: HashSet<_> = ends.map(payload).collect();
        for read in op.plans.iter().flat_map(|plan| &plan.reads) {
            let block = &read.block;
            let is_early = read.begins
                && read.prepares
                && !read.is_only()
                // In file order, a block that two ops share is prepared by the first that needs it,
                // unless these may start at once.
                && (self.flow.options.is_shuffled()
                    || block.members.count() > 2 * op.rows
                    || op.ops > 1 && block.records > self.flow.costs.prepared_in(PIECE_TIME))
                && !ends.contains(&payload(read));
            if is_early {
                let interval = self.interval(read, op.rows);
                op.early += block.records;
                op.largest = op.largest.max(block.records);
                op.finds_hints |= interval.is_some();
                if self.group.is_empty() {
                    self.group_op = op.number;
                }
                self.group.push(EarlyBlock {
                    block: block.clone(),
                    interval,
                });
                self.group_records += block.records;
                let ns = self.flow.costs.prepare_ns(self.group_records);
                let is_long =
                    ns >= self.op_time.as_nanos() as u64 || !self.flow.costs.is_measured();
                if is_long && self.group.len() >= block.file.decoder.group() {
                    self.end_group()?;
                }
            }
        }
        Ok(())
    }

    /// The interval in records at which the prepare of a block finds positions. `None` if the reads
    /// before a read have mostly ended when it starts, and tell where it begins.
    fn interval(&self, read: &BlockRead, op_rows: u64) -> Option<u64> {
        let block = read.block.members.count().max(1);
        if !self.flow.options.is_shuffled() || self.flow.options.threads <= 2 {
            return None;
        }
        // Rows of the sequence from one read of the block to the next, and those under way.
        let between = read
            .records
            .saturating_mul((self.flow.options.shuffle_buffer_size as u64).max(block))
            / block;
        let under_way = op_rows.saturating_mul(self.flow.options.threads as u64);
        // Records of other splits lie between.
        let apart = share(read.block.records, read.records / 2, block);
        (under_way > 2 * between).then(|| apart.clamp(1, FEW_RECORDS))
    }

    fn end_group(&mut self) -> Result<(), Stop> {
        let blocks = mem::take(&mut self.group);
        self.group_records = 0;
        if blocks.is_empty() {
            return Ok(());
        }
        self.flow.push(Op::Prepare(blocks))
    }

    fn queue(&mut self, delayed: Delayed) -> Result<(), Stop> {
        if self.delayed.is_empty() || self.group_op <= delayed.number {
            // Its own blocks. A group that waited longer would keep what its ops have read.
            self.end_group()?;
        }
        self.note_unqueued();
        let (first, count) = (self.queued_batches, delayed.plans.len());
        let mut pieces = Vec::with_capacity(count);
        for (number, plan) in (first..).zip(delayed.plans) {
            let cut = if count == 1 {
                self.pieces(plan)
            } else {
                vec![plan]
            };
            let batch = Arc::new(PieceBatch::new(number, cut));
            pieces.extend((0..batch.pieces.len()).map(|number| {
                let batch = batch.clone();
                Piece { batch, number }
            }));
        }
        self.queued_batches += count as u64;
        match pieces.len() > count {
            true => self
                .flow
                .push_all(pieces.into_iter().map(|piece| Op::Make(vec![piece]))),
            false => self.flow.push(Op::Make(pieces)),
        }
    }

    /// Cuts a large batch into pieces, between reads of blocks.
    fn pieces(&self, plan: BatchPlan) -> Vec<BatchPlan> {
        let count = self.piece_count(&plan);
        if count < 2 {
            return vec![plan];
        }
        let rows_of_piece = plan.rows.div_ceil(count);
        let empty = |window| BatchPlan {
            rows: 0,
            reads: Vec::new(),
            window,
        };
        let mut pieces = vec![empty(plan.window)];
        for read in plan.reads {
            let last = pieces.len() - 1;
            let piece = &mut pieces[last];
            piece.rows += read.records;
            piece.reads.push(read);
            if piece.rows >= rows_of_piece {
                pieces.push(empty(WindowSize::default()));
            }
        }
        if pieces.last().is_some_and(|piece| piece.reads.is_empty()) {
            pieces.pop();
        }
        pieces
    }

    /// The number of pieces of a batch.
    fn piece_count(&self, plan: &BatchPlan) -> u64 {
        let workers = self.flow.options.threads as u64;
        if let Some(rows) = self.flow.options.piece_rows {
            return plan.rows / rows.max(1);
        }
        if workers == 1 || plan.reads.len() < 2 {
            return 1;
        }
        let costs = &self.flow.costs;
        // The consumer waits for the first batch, and its pieces tell how long others take.
        let piece_time = if self.queued_batches == 0 {
            WAKE_TIME
        } else {
            PIECE_TIME
        };
        let is_large = self.queued_batches == 0 || plan.rows >= costs.rows_in(LARGE_BATCH_TIME);
        // Several batches are made side by side where they fit, each in fewer pieces: less is joined.
        let fitting = self.flow.memory.limit() / 4 / costs.batch_bytes(plan.rows).max(1);
        let most = fitting.min((workers / 4).max(2)).max(1);
        let beside = (self.flow.unfinished() + 1).min(most);
        let most = workers.div_ceil(beside);
        match costs.is_measured() {
            true if is_large => costs.pieces(plan.rows, piece_time, most),
            true => 1,
            false => (plan.rows / FEW_RECORDS).clamp(1, most),
        }
    }
}

/// Bytes of the payloads that the batches read first.
fn payload_bytes(plans: &[BatchPlan]) -> u64 {
    let reads = plans.iter().flat_map(|plan| &plan.reads);
    let first = reads.filter(|read| read.begins);
    first.map(|read| read.window_bytes).sum()
}
