//! How a worker decodes: the records that a plan reads become rows, and what is written counts as it
//! grows.

use std::collections::VecDeque;

use atds_format::{Decoder, Pos, Prepared, Upcoming};
use tensor_batch::RowSlots;

use crate::Error;
use crate::account::Account;
use crate::flow::Denied;
use crate::pieces::Made;
use crate::planner::{BatchPlan, BlockRead};
use crate::prepare::{PreparedBlock, needed_limit};
use crate::tuning::FOUND_TOGETHER;
use crate::worker::Worker;

/// The first row of a batch that is not made, and why.
#[derive(Debug)]
pub(crate) struct Failed(pub(crate) u64, pub(crate) Failure);

/// Why a record is not read.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Memory is missing.
    Denied(Denied),
    /// It is bad.
    Error(Error),
    /// Its lists have other lengths than those before. This is found once all rows are made.
    Disagreement(Error, Written),
}

impl From<Denied> for Failure {
    fn from(denied: Denied) -> Self {
        Failure::Denied(denied)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::Error(error)
    }
}

impl From<Denied> for Failed {
    fn from(denied: Denied) -> Self {
        Failed(0, denied.into())
    }
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

impl Written {
    /// The larger of each.
    pub(crate) fn max(self, other: Written) -> Self {
        Written {
            variable: self.variable.max(other.variable),
            padded: self.padded.max(other.padded),
            only: self.only.max(other.only),
        }
    }
}

impl Worker {
    /// Decodes the first `rows` rows of a plan. What is written to columns of variable size counts for
    /// the batch.
    pub(crate) fn decode(
        &mut self,
        plan: &BatchPlan,
        rows: u64,
        slots: &mut RowSlots<'_>,
        account: &mut Account,
        made: &mut Made,
    ) -> Result<(), Failed> {
        let mut reads = PlanCursor::new(&plan.reads);
        let mut growth = Growth {
            empty: slots.segment_bytes() as u64,
            first_row: slots.row() as u64,
            next_row: if self.has_variable { 0 } else { u64::MAX },
            read_bytes: 0,
            room: 0,
        };
        let mut left = rows;
        while left > 0
            && let Some(read) = reads.next()
        {
            if self.flow.is_stopped() {
                return Err(Denied::Cancelled.into());
            }
            let records = left.min(read.records);
            if records == 0 {
                // Its records were left out.
                continue;
            }
            left -= records;
            let last = slots.batch_row() as u64 + records - 1;
            let done = self.decode_read(
                read,
                records,
                &mut reads,
                slots,
                account,
                (&mut growth, made),
            );
            // An error at the end of a block is of its last record.
            let row = last.min(slots.batch_row() as u64);
            done.map_err(|why| Failed(row, why))?;
        }
        made.written.variable = growth.written(slots);
        let held = account.hold_batch(growth.held(slots));
        held.map_err(|denied| Failed(slots.batch_row() as u64, denied.into()))
    }

    /// Decodes `records` records of a block.
    fn decode_read(
        &mut self,
        read: &BlockRead,
        records: u64,
        reads: &mut PlanCursor<'_>,
        slots: &mut RowSlots<'_>,
        account: &mut Account,
        (growth, made): (&mut Growth, &mut Made),
    ) -> Result<(), Failure> {
        let block = &*read.block;
        let own;
        let mut held = 0;
        let (decoder, prepared, mut pos) = if let Some(found) = reads.found() {
            let Found {
                decoder,
                prepared,
                pos,
            } = found;
            (decoder, prepared, pos)
        } else if read.is_only() {
            // Decoded where it was prepared, and then let go: it stays in this worker's cache.
            let prepared = self.prepare_own(read, reads, account)?;
            held = prepared.bytes;
            made.written.only = made.written.only.max(held + prepared.working);
            own = prepared.result?;
            made.tally.add(&own.1);
            let pos = block.nearest(block.members.record(read.first));
            (&*block.file.decoder, &own.0, pos)
        } else {
            let prepared = self.prepared_for_all(block, account.is_alone)?;
            let pos = block.nearest(block.members.record(read.first));
            (&*block.file.decoder, prepared, pos)
        };
        let first = block.members.record(read.first);
        if pos.record < first {
            // A nearer one may have been published since.
            let found = block.seek(prepared, pos, first);
            pos = found.map_err(|error| block.error(error))?;
            block.publish(pos, self.flow.options.threads > 1);
        }
        let mut left = records;
        for run in block.members.runs(read.first, records) {
            // Records between are of other splits.
            let found = block.seek(prepared, pos, run.start);
            pos = found.map_err(|error| block.error(error))?;
            while pos.record < run.end {
                let row = slots.row() as u64;
                if row >= growth.next_row || growth.read_bytes >= self.counted_bytes {
                    let row_bytes = prepared.bytes() as u64 / block.payload_records().max(1);
                    self.count_growth(growth, slots, account, row_bytes)?;
                }
                let records = (run.end - pos.record).min(growth.next_row - row);
                left -= records;
                let upcoming = if left == 0 { reads.upcoming() } else { None };
                let decoded =
                    decoder.decode(prepared, pos, records, slots, &mut self.scratch, upcoming);
                let decoded = match decoded {
                    Err(error) if needed_limit(&error).is_some() => {
                        return Err(self.no_room(growth.room, account).into());
                    }
                    decoded => decoded.map_err(|error| block.error(error))?,
                };
                pos = decoded.pos;
                made.tally.add(&decoded.tally);
            }
        }
        if self.has_variable {
            growth.read_bytes += prepared.bytes() as u64;
        }
        if pos.record == block.records {
            let finished = decoder.finish(prepared, pos);
            made.tally
                .add(&finished.map_err(|error| block.error(error))?);
        } else if !read.is_only() {
            block.publish(pos, self.flow.options.threads > 1);
        }
        account.give(held);
        Ok(())
    }

    /// Counts what was written to columns of variable size, and says how much more there is room for.
    /// Records of the block have `row_bytes` bytes.
    fn count_growth(
        &self,
        growth: &mut Growth,
        slots: &mut RowSlots<'_>,
        account: &mut Account,
        row_bytes: u64,
    ) -> Result<(), Denied> {
        let written = growth.written(slots);
        account.hold_batch(growth.held(slots))?;
        let row = slots.row() as u64;
        let row_bytes = match row - growth.first_row {
            0 => self.flow.costs.batch_bytes(1).max(row_bytes),
            rows => written / rows,
        };
        let row_bytes = row_bytes.max(1);
        let rows = (self.counted_bytes / row_bytes).max(1);
        growth.next_row = row.saturating_add(rows);
        growth.read_bytes = 0;
        // Some are larger.
        let expected = row_bytes.saturating_mul(rows).saturating_mul(2);
        growth.room = account.room(grown(expected));
        slots.set_room(ungrown(growth.room));
        Ok(())
    }

    /// A record needs more memory than the `room` that there was.
    #[cold]
    pub(crate) fn no_room(&self, room: u64, account: &mut Account) -> Denied {
        if !account.is_alone {
            return Denied::Again;
        }
        match self.flow.wait_for_consumer() {
            Ok(true) => Denied::Again,
            // The consumer may have taken what held it since, or a read may have ended.
            Ok(false) if account.room(0) > room => Denied::Again,
            Ok(false) => Denied::Exceeded,
            Err(denied) => denied,
        }
    }
}

/// How the columns of variable size grow.
struct Growth {
    /// Bytes of the columns before the first row.
    empty: u64,
    first_row: u64,
    /// The row at which what was written is counted next, if not enough bytes are read before.
    next_row: u64,
    /// Bytes of the blocks that were read since.
    read_bytes: u64,
    /// Bytes that there was room for when it was counted last.
    room: u64,
}

impl Growth {
    fn written(&self, slots: &RowSlots<'_>) -> u64 {
        (slots.segment_bytes() as u64).saturating_sub(self.empty)
    }

    /// What the columns take, besides the memory that the batch began with.
    fn held(&self, slots: &RowSlots<'_>) -> u64 {
        grown(self.written(slots).min(slots.grown_bytes() as u64))
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

/// The reads of a piece, of which some blocks are prepared for this batch alone.
pub(crate) struct PlanCursor<'a> {
    reads: &'a [BlockRead],
    next: usize,
    /// The blocks among the next reads that are prepared, in their order.
    pub(crate) prepared: VecDeque<PreparedBlock>,
    /// Where the reads of this group and the next are, by their number in the groups.
    found: [Option<Found<'a>>; 2 * FOUND_TOGETHER],
}

/// Where a read begins.
#[derive(Clone, Copy)]
struct Found<'a> {
    decoder: &'a dyn Decoder,
    prepared: &'a Prepared,
    /// The last known position at or before the first record.
    pos: Pos,
}

impl<'a> PlanCursor<'a> {
    fn new(reads: &'a [BlockRead]) -> Self {
        let mut all = PlanCursor {
            reads,
            next: 0,
            prepared: VecDeque::new(),
            found: Default::default(),
        };
        all.find(0);
        all
    }

    fn next(&mut self) -> Option<&'a BlockRead> {
        let read = self.reads.get(self.next)?;
        if self.next.is_multiple_of(FOUND_TOGETHER) {
            self.find(self.next + FOUND_TOGETHER);
        }
        self.next += 1;
        Some(read)
    }

    /// Finds where a group of reads are. A shuffled batch reads blocks that have left the caches: the
    /// processor waits for several at once no longer than for one.
    fn find(&mut self, first: usize) {
        let group = self.reads.get(first..).unwrap_or_default();
        for (at, read) in (first..first + FOUND_TOGETHER).zip(group) {
            self.found[at % (2 * FOUND_TOGETHER)] = find(read);
        }
    }

    /// Where the last read that [`next`](Self::next) gave is, if its block is prepared for all.
    fn found(&self) -> Option<Found<'a>> {
        self.found[(self.next - 1) % (2 * FOUND_TOGETHER)]
    }

    pub(crate) fn later(&self) -> &'a [BlockRead] {
        &self.reads[self.next..]
    }

    /// What is decoded next, if it is prepared and its position is known.
    fn upcoming(&self) -> Option<Upcoming<'_>> {
        let read = self.reads.get(self.next)?;
        if read.records == 0 {
            return None;
        }
        let first = read.block.members.record(read.first);
        let (block, at) = match self.found[self.next % (2 * FOUND_TOGETHER)] {
            Some(found) => (found.prepared, found.pos),
            None if read.is_only() => {
                let (prepared, _) = self.prepared.front()?.result.as_ref().ok()?;
                (prepared, read.block.nearest(first))
            }
            None => return None,
        };
        let mut runs = read.block.members.runs(read.first, read.records);
        let records = runs.next().map_or(0, |run| run.end - run.start);
        (at.record == first).then_some(Upcoming { block, at, records })
    }
}

fn find(read: &BlockRead) -> Option<Found<'_>> {
    let block = &*read.block;
    Some(Found {
        decoder: &*block.file.decoder,
        prepared: block.payload.prepared()?.ok()?,
        pos: block.nearest(block.members.record(read.first)),
    })
}
