//! Damage that is left out: which records of a batch it costs. Only where the user chose so; a cold path.
//!
//! What is left out follows from the data alone, so that it is the same for any number of threads: a
//! record that cannot be decoded is lost, and the record after it begins where skipping the lost one ends.
//! Where it cannot be skipped, the rest of its block is lost, and so is all of a block that cannot be
//! prepared.

use std::collections::HashSet;
use std::iter;
use std::ops::Range;
use std::sync::Arc;

use atds_format::{Location, Pos, Prepared, Scratch};
use tensor_batch::BatchBuilder;

use crate::account::Account;
use crate::block::Block;
use crate::decode::{Failure, Written, grown, ungrown};
use crate::flow::Denied;
use crate::measure::share;
use crate::pieces::PieceBatch;
use crate::planner::{BatchPlan, BlockRead};
use crate::prepare::needed_limit;
use crate::worker::Worker;
use crate::{Error, ErrorKind};

/// The most places of damage that an iteration lists; others are counted.
const MAX_SKIPPED_LISTED: usize = 65_536;

/// Damage, and what was left out for it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Skipped {
    /// The damage, and where it is.
    pub error: Error,
    /// Number of records of the split that it costs, counted in the file. `None` if it is not known, as where
    /// the framing is damaged.
    pub records: Option<u64>,
    /// Number of bytes of the file that it costs; `None` for records of a block.
    pub bytes: Option<u64>,
    /// Number of records that it costs as far as is known: where the framing is damaged, those that as many
    /// bytes of the file had before.
    pub estimate: u64,
}

/// What was left out of a batch.
#[derive(Clone, Debug, Default)]
pub(crate) struct LeftOut {
    pub(crate) damage: Vec<Skipped>,
    /// Number of its rows.
    pub(crate) rows: u64,
    /// What reading a bad row, or preparing a damaged block, takes until the damage is found. It follows from the
    /// data, too, however much memory there was.
    pub(crate) taken: Written,
}

impl LeftOut {
    pub(crate) fn is_empty(&self) -> bool {
        self.damage.is_empty() && self.rows == 0
    }

    /// What was left out in numbers.
    pub(crate) fn counts(&self) -> (u64, SkippedCounts) {
        let unknown = self
            .damage
            .iter()
            .filter(|skipped| skipped.records.is_none());
        let mut counts = SkippedCounts {
            records: self.rows,
            bytes: 0,
        };
        for skipped in unknown {
            counts.add(SkippedCounts {
                records: skipped.estimate,
                bytes: skipped.bytes.unwrap_or(0),
            });
        }
        (self.rows, counts)
    }
}

/// What was left out of an epoch until now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SkippedCounts {
    /// Number of records; of bytes whose records are not known, an estimate.
    pub records: u64,
    /// Number of bytes of files whose records are not known: the framing is damaged.
    pub bytes: u64,
}

impl SkippedCounts {
    pub(crate) fn add(&mut self, other: SkippedCounts) {
        self.records = self.records.saturating_add(other.records);
        self.bytes = self.bytes.saturating_add(other.bytes);
    }
}

/// The damage that an iteration has met, each once.
#[derive(Debug, Default)]
pub(crate) struct SkippedList {
    pub(crate) all: Vec<Skipped>,
    known: HashSet<Key>,
}

/// Where damage is: the file, the block, the record, or the offset if the record is not known. Two batches
/// that share a damaged record can fail at other bytes of it: one decodes it, one skips it.
type Key = (Option<Location>, Option<u64>, Option<u64>, Option<u64>);

impl SkippedList {
    /// Adds damage, unless it is known or the list is long.
    pub(crate) fn add(&mut self, damage: Vec<Skipped>) {
        for skipped in damage {
            let place = &skipped.error.place;
            let key = (
                place.location.clone(),
                place.block,
                place.record,
                place.offset.filter(|_| place.record.is_none()),
            );
            if self.all.len() < MAX_SKIPPED_LISTED && self.known.insert(key) {
                self.all.push(skipped);
            }
        }
    }
}

impl Error {
    /// Whether the error is damage, or a record that does not fit what is asked for: leaving out some
    /// records ends it.
    pub(crate) fn is_damage(&self) -> bool {
        matches!(
            self.kind,
            ErrorKind::Format(_)
                | ErrorKind::TooManyRecords { .. }
                | ErrorKind::BlockTooLarge { .. }
                | ErrorKind::BlockNotSplit { .. }
        )
    }
}

/// What a block's damage costs.
#[derive(Clone, Copy)]
enum Cost {
    Block,
    RestFrom(u64),
    Record,
}

impl Skipped {
    /// Bytes that are left out as the framing is damaged. The file had `records` in `framed` bytes before.
    pub(crate) fn of_framing(error: Error, bytes: u64, (records, framed): (u64, u64)) -> Self {
        Skipped {
            error,
            records: None,
            bytes: Some(bytes),
            estimate: share(records, bytes, framed).max(1),
        }
    }

    fn new(block: &Block, error: Error, cost: Cost) -> Self {
        let (records, bytes) = match cost {
            Cost::Block => (block.members.count(), Some(block.file_bytes)),
            Cost::RestFrom(record) => (block.members.count() - block.members.before(record), None),
            Cost::Record => (1, None),
        };
        Skipped {
            error,
            records: Some(records),
            bytes,
            estimate: records,
        }
    }
}

impl Worker {
    /// The batch without its bad row `row`: with the rows before it, and its error, or without all that damage
    /// costs.
    #[cold]
    pub(crate) fn without_bad_row(
        &mut self,
        batch: &PieceBatch,
        row: u64,
        why: Failure,
        account: &mut Account,
    ) -> Result<PieceBatch, Denied> {
        account.clear();
        let error = match why {
            Failure::Denied(denied) => return Err(denied),
            // All rows were made by then.
            Failure::Disagreement(error, made) => return Ok(batch.before(row, error, made)),
            Failure::Error(error) => error,
        };
        if self.flow.options.skip_damage && error.is_damage() {
            return self.leave_out(batch, row, error, account);
        }
        let (mut found, mut next_row) = (LeftOut::default(), 0);
        for read in batch.reads() {
            next_row += read.records;
            if row < next_row {
                let first = read.first + read.records - (next_row - row);
                let read = BlockRead {
                    first,
                    records: 1,
                    ..read.clone()
                };
                self.find_lost(&read, Some((first, error.clone())), account, &mut found)?;
                break;
            }
        }
        Ok(batch.before(row, error, found.taken))
    }

    /// The batch without the records that damage costs: the one of row `row`, which had `error`, and those
    /// after it that cannot be decoded either.
    fn leave_out(
        &mut self,
        batch: &PieceBatch,
        row: u64,
        error: Error,
        account: &mut Account,
    ) -> Result<PieceBatch, Denied> {
        let mut known = Some((row, error));
        let (mut reads, mut left_out) = (Vec::new(), batch.left_out.clone());
        let mut next_row = 0;
        for read in batch.reads() {
            let first_row = next_row;
            next_row += read.records;
            let is_before = known.as_ref().is_some_and(|&(row, _)| row >= next_row);
            if is_before || read.records == 0 {
                reads.push(read.clone());
                continue;
            }
            let known = known.take().map(|(row, error)| {
                let record = read.first + (row - first_row);
                (record, error)
            });
            let lost = self.find_lost(read, known, account, &mut left_out)?;
            left_out.rows += lost.iter().map(|lost| lost.end - lost.start).sum::<u64>();
            leave_out(read, &lost, &mut reads);
        }
        let plan = BatchPlan {
            rows: reads.iter().map(|read| read.records).sum(),
            reads,
            window: batch.window().clone(),
        };
        let mut left = PieceBatch::new(batch.number, vec![plan]);
        left.left_out = left_out;
        Ok(left)
    }

    /// The records of a read that cannot be read, as ranges that count as the read does. The record of
    /// `known` is one of them.
    fn find_lost(
        &mut self,
        read: &BlockRead,
        known: Option<(u64, Error)>,
        account: &mut Account,
        left_out: &mut LeftOut,
    ) -> Result<Vec<Range<u64>>, Denied> {
        let block = &*read.block;
        let own;
        let mut held = 0;
        // One that was left out in parts is prepared for all.
        let prepared = if read.is_only() && block.payload.prepared().is_none() {
            let prepared = self.prepare(&[block], account)?.pop();
            let prepared = prepared.ok_or(Denied::Cancelled)?;
            held = prepared.bytes;
            own = prepared.result;
            // Where the rest of a healthy block is read, it counts as that does.
            if own.is_err() || !self.flow.options.skip_damage {
                left_out.taken.only = left_out.taken.only.max(held + prepared.working);
            }
            own.as_ref()
                .map(|(prepared, _)| prepared)
                .map_err(Clone::clone)
        } else {
            match self.prepared_for_all(block, account.is_alone) {
                Ok(prepared) => Ok(prepared),
                Err(Failure::Denied(denied)) => return Err(denied),
                Err(Failure::Error(error) | Failure::Disagreement(error, _)) => Err(error),
            }
        };
        let lost = match prepared {
            Ok(prepared) => self.find_bad_records(read, prepared, known, account, left_out)?,
            Err(error) => {
                let skipped = Skipped::new(block, error, Cost::Block);
                left_out.damage.push(skipped);
                iter::once(read.first..read.first + read.records).collect()
            }
        };
        account.give(held);
        Ok(lost)
    }

    fn find_bad_records(
        &mut self,
        read: &BlockRead,
        prepared: &Prepared,
        known: Option<(u64, Error)>,
        account: &mut Account,
        left_out: &mut LeftOut,
    ) -> Result<Vec<Range<u64>>, Denied> {
        let block = &*read.block;
        let decoder = &*block.file.decoder;
        // `member` is the number of the record at `pos`, or of the first after it that is in the split.
        let (mut member, end) = (read.first, read.first + read.records);
        let mut pos = block.nearest(block.members.record(member));
        let (mut lost, mut most) = (Vec::new(), self.walked_records());
        while let Some(run) = block.members.runs(member, most.min(end - member)).next() {
            if self.flow.is_stopped() {
                return Err(Denied::Cancelled);
            }
            match block.seek(prepared, pos, run.start) {
                Ok(first) => pos = first,
                Err(error) => {
                    let record = error.place.record.unwrap_or(0).min(run.start);
                    let skipped = Skipped::new(block, block.error(error), Cost::RestFrom(record));
                    left_out.damage.push(skipped);
                    lost.push(member..end);
                    break;
                }
            }
            let records = run.end - run.start;
            let room = account.room(0);
            let (bad, error) = match self.try_records(block, prepared, (pos, records), room) {
                Ok(next) => {
                    (pos, member) = (next, member + records);
                    continue;
                }
                Err((bad, error)) if needed_limit(&error).is_some() => {
                    if records == 1 {
                        return Err(self.no_room(room, account));
                    }
                    // It may have room alone.
                    member += bad.record - run.start;
                    (pos, most) = (bad, 1);
                    continue;
                }
                Err((bad, error)) => (bad, block.error(error)),
            };
            let taken = self.room_of_record(block, prepared, bad, account)?;
            left_out.taken.variable = left_out.taken.variable.max(taken);
            member += bad.record - run.start;
            let of_record = known.as_ref().filter(|(record, _)| *record == member);
            let error = of_record.map_or(error, |(_, error)| error.clone());
            let (cost, next, lost_to) = match decoder.seek(prepared, bad, bad.record + 1) {
                Ok(next) => (Cost::Record, next, member + 1),
                Err(_) => (Cost::RestFrom(bad.record), bad, end),
            };
            left_out.damage.push(Skipped::new(block, error, cost));
            lost.push(member..lost_to);
            (pos, member) = (next, lost_to);
        }
        Ok(lost)
    }

    /// Bytes that columns of variable size must have room for, so that the damage of a record is met: the least of
    /// a few sizes.
    fn room_of_record(
        &mut self,
        block: &Block,
        prepared: &Prepared,
        at: Pos,
        account: &mut Account,
    ) -> Result<u64, Denied> {
        let mut bytes = 1;
        loop {
            account.take(grown(bytes))?;
            let tried = self.try_records(block, prepared, (at, 1), grown(bytes));
            account.give(grown(bytes));
            match tried {
                Err((_, error)) if needed_limit(&error).is_some() => bytes *= 2,
                _ => return Ok(bytes),
            }
        }
    }

    /// Decodes records and forgets them, in `room` bytes. Returns the position after them, or that of the first
    /// bad one and its error.
    fn try_records(
        &mut self,
        block: &Block,
        prepared: &Prepared,
        (from, records): (Pos, u64),
        room: u64,
    ) -> Result<Pos, (Pos, atds_format::Error)> {
        let decoder = &*block.file.decoder;
        let mut builder = BatchBuilder::new(self.flow.builders.spec().clone());
        let mut slots = builder.slots(&[records as usize]);
        let slots = &mut slots[0];
        self.take_own_columns(slots);
        slots.set_room(ungrown(room));
        let mut scratch = Scratch::default();
        let decoded = decoder.decode(prepared, from, records, slots, &mut scratch, None);
        let (bad, error) = match decoded {
            Ok(decoded) if decoded.pos.record < block.records => return Ok(decoded.pos),
            Ok(decoded) => match decoder.finish(prepared, decoded.pos) {
                Ok(_) => return Ok(decoded.pos),
                // Bytes after the last record: it has another end than it should.
                Err(error) => (block.records - 1, error),
            },
            Err(error) => (from.record + slots.row() as u64, error),
        };
        // What was decoded can be skipped, too.
        let bad = decoder.seek(prepared, from, bad).unwrap_or(from);
        Err((bad, error))
    }
}

/// Adds what is left of a read without the `lost` records. The payload still enters and
/// leaves the window with it.
fn leave_out(read: &BlockRead, lost: &[Range<u64>], reads: &mut Vec<BlockRead>) {
    let first = reads.len();
    let mut next = read.first;
    let end = read.first + read.records;
    for lost in lost.iter().cloned().chain(iter::once(end..end)) {
        reads.push(BlockRead {
            block: Arc::clone(&read.block),
            first: next,
            records: lost.start - next,
            lost: lost.end - lost.start,
            begins: false,
            ends: false,
            ..*read
        });
        next = lost.end;
    }
    let last = reads.len() - 1;
    reads[first].begins = read.begins;
    reads[last].ends = read.ends;
    reads[last].lost = read.lost;
}
