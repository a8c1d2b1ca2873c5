//! Makes ops of planned batches, and puts them into one sequence.

use std::collections::VecDeque;
use std::mem;
use std::sync::Arc;

use crate::block::Block;
use crate::costs::Costs;
use crate::error::Stop;
use crate::flow::Flow;
use crate::ops::Op;
use crate::planner::BatchPlan;

/// The planning thread's end of the flow.
///
/// Batches are delayed here while the blocks that they share with later batches are prepared: the
/// ops that prepare stand before at least as many other ops as there are workers.
#[derive(Debug)]
pub(crate) struct Sequence {
    flow: Arc<Flow>,
    costs: Arc<Costs>,
    workers: usize,
    /// Number of batches that were queued.
    queued: u64,
    /// Batches of the next op.
    next: Vec<BatchPlan>,
    next_rows: u64,
    /// Ops whose batches wait until the blocks of later batches are queued.
    delayed: VecDeque<Vec<BatchPlan>>,
    delayed_bytes: u64,
    /// The most bytes of payloads in delayed batches.
    most_bytes: u64,
    /// Blocks that are to be prepared together.
    group: Vec<Arc<Block>>,
}

impl Sequence {
    pub(crate) fn new(flow: Arc<Flow>, costs: Arc<Costs>, workers: usize, most_bytes: u64) -> Self {
        Sequence {
            flow,
            costs,
            workers,
            queued: 0,
            next: Vec::new(),
            next_rows: 0,
            delayed: VecDeque::new(),
            delayed_bytes: 0,
            most_bytes,
            group: Vec::new(),
        }
    }

    /// Adds the next batch.
    pub(crate) fn push(&mut self, plan: BatchPlan) -> Result<(), Stop> {
        for read in &plan.reads {
            if read.is_first && !read.is_only && read.block.file.decoder.prepares() {
                self.prepare(read.block.clone())?;
            }
        }
        self.next_rows += plan.rows;
        // A batch that begins in the middle of a block skips the records before it, unless the
        // worker of the batch before it goes on.
        let ends_in_block = plan.reads.last().is_some_and(|read| {
            read.first + read.records < read.block.records && read.records > plan.rows / 2
        });
        self.next.push(plan);
        let rows = self.costs.rows_of_op();
        if self.next_rows >= rows && (!ends_in_block || self.next_rows >= 8 * rows) {
            self.end_op()?;
        }
        Ok(())
    }

    /// Queues all batches, since it may take a while until there is another.
    pub(crate) fn flush(&mut self) -> Result<(), Stop> {
        self.end_op()?;
        self.end_group()?;
        while let Some(plans) = self.delayed.pop_front() {
            self.queue(plans)?;
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

    fn prepare(&mut self, block: Arc<Block>) -> Result<(), Stop> {
        let decoder = &block.file.decoder;
        let group = decoder.group();
        let is_other = |first: &Arc<Block>| !Arc::ptr_eq(&first.file.decoder, decoder);
        if self.group.first().is_some_and(is_other) {
            self.end_group()?;
        }
        self.group.push(block);
        if self.group.len() >= group {
            self.end_group()?;
        }
        Ok(())
    }

    fn end_group(&mut self) -> Result<(), Stop> {
        let blocks = mem::take(&mut self.group);
        if blocks.is_empty() {
            return Ok(());
        }
        let bytes = blocks.iter().map(|block| block.payload.bytes).sum();
        let estimate = self.costs.prepared_bytes(bytes);
        self.flow.push(Op::Prepare { blocks, estimate }, 0)
    }

    fn end_op(&mut self) -> Result<(), Stop> {
        if self.next.is_empty() {
            return Ok(());
        }
        self.next_rows = 0;
        let plans = mem::take(&mut self.next);
        self.delayed_bytes += payload_bytes(&plans);
        self.delayed.push_back(plans);
        // The first batches are not delayed: the consumer waits for them.
        let most = self.workers.min(self.queued as usize);
        while self.delayed.len() > most || self.delayed_bytes > self.most_bytes {
            let Some(plans) = self.delayed.pop_front() else {
                break;
            };
            self.end_group()?;
            self.queue(plans)?;
        }
        Ok(())
    }

    fn queue(&mut self, plans: Vec<BatchPlan>) -> Result<(), Stop> {
        self.delayed_bytes = self.delayed_bytes.saturating_sub(payload_bytes(&plans));
        let batches = plans.len();
        let rows = plans.iter().map(|plan| plan.rows).sum();
        let first = self.queued;
        self.queued += batches as u64;
        let estimate = self.costs.batch_bytes(rows);
        let op = Op::Batches {
            first,
            plans,
            estimate,
        };
        self.flow.push(op, batches)
    }
}

/// Bytes of the payloads that the batches read first.
fn payload_bytes(plans: &[BatchPlan]) -> u64 {
    let reads = plans.iter().flat_map(|plan| &plan.reads);
    let first = reads.filter(|read| read.is_first);
    first.map(|read| read.block.payload.bytes).sum()
}
