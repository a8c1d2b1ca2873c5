//! What a batch would need that does not fit: it is walked for its size, a few records at a time, until
//! that has taken as long as reading the limit's worth of data.

use std::sync::atomic::Ordering::Relaxed;

use atds_format::{ErrorKind, Pos, Prepared, Scratch};
use tensor_batch::{BatchBuilder, BatchSpec, ColumnKind, Layout};

use crate::account::Account;
use crate::decode::{Written, grown, ungrown};
use crate::memory::Lease;
use crate::pieces::PieceBatch;
use crate::planner::BlockRead;
use crate::tuning::{FEW_RECORDS, KEPT_SHARE};
use crate::worker::Worker;

/// What was found of a plan.
#[derive(Default)]
struct Found {
    written: Written,
    /// The most bytes of a row in columns that are filled up.
    row_padded: u64,
    /// Rows that were looked at.
    rows: u64,
    /// The first row whose payload or record is too large by itself, whatever else is held.
    too_large: Option<u64>,
    /// Bytes that the window holds, whatever else is held.
    window: u64,
    /// Bytes of payloads that were looked at, and of what they are prepared to.
    payloads: u64,
    prepared: u64,
}

impl Found {
    /// Bytes that were looked at.
    fn looked_at(&self) -> u64 {
        self.prepared.saturating_add(self.written.variable)
    }

    /// As if `rows` rows more were like those that were looked at, or somewhat larger.
    fn add_rows(&mut self, rows: u64) {
        let more = share(self.written.variable, rows, self.rows);
        self.written.variable = self.written.variable.saturating_add(more + more / 8);
        self.rows += rows;
    }

    /// A payload that is not prepared, what it takes when it is, and what preparing it takes.
    fn add_payload(&mut self, read: &BlockRead, bytes: u64, working: u64) {
        if read.is_only() {
            self.written.only = self.written.only.max(bytes.saturating_add(working));
        } else {
            let size = read.block.payload.size();
            size.bytes.store(bytes, Relaxed);
            size.working.store(working, Relaxed);
        }
    }

    /// The size of a prepared payload, as if it were like those that were looked at.
    fn prepared_estimate(&self, payload: u64) -> u64 {
        let bytes = share(self.prepared, payload, self.payloads);
        bytes.saturating_add(bytes / 8)
    }
}

/// `sum` times `part` over `whole`.
pub(crate) fn share(sum: u64, part: u64, whole: u64) -> u64 {
    let share = u128::from(sum) * u128::from(part) / u128::from(whole.max(1));
    u64::try_from(share).unwrap_or(u64::MAX / 4)
}

impl Worker {
    /// The sizes of a batch, and its first row whose payload or record is too large by itself. They are an
    /// estimate for such a payload or record, and for what comes after as many bytes as the limit; less
    /// than the truth from a bad record on.
    #[cold]
    pub(crate) fn measure(&mut self, batch: &PieceBatch) -> (Written, Option<u64>) {
        let mut found = Found {
            window: batch.window().bytes + self.flow.prepared_in_window(),
            ..Found::default()
        };
        let mut next_row = 0;
        for read in batch.reads() {
            let row = next_row;
            next_row += read.records;
            if self.flow.is_stopped() {
                break;
            }
            let payload = &read.block.payload;
            if let Some(prepared) = payload.prepared() {
                if let Ok(prepared) = prepared {
                    self.measure_read(read, row, prepared, &mut found);
                }
                continue;
            }
            if found.looked_at() > self.flow.memory.limit() {
                let bytes = found.prepared_estimate(payload.bytes);
                found.add_payload(read, bytes, 0);
                found.add_rows(read.records);
                continue;
            }
            let lease = Lease::none(&self.flow.memory);
            let mut account = Account::new(self.flow.clone(), lease, true);
            let prepared = self.prepare(&[&*read.block], &mut account).ok();
            let (result, bytes, working) = match prepared.and_then(|mut all| all.pop()) {
                Some(block) => (block.result.ok(), block.bytes, block.working),
                None => {
                    found.too_large.get_or_insert(row);
                    (None, self.missing.take().unwrap_or(0), 0)
                }
            };
            found.add_payload(read, bytes, working);
            found.payloads += payload.bytes;
            found.prepared += bytes;
            match result {
                Some((prepared, _)) => self.measure_read(read, row, &prepared, &mut found),
                // As if its values were twice as large as they are prepared.
                None if self.has_variable => {
                    let of_read = share(bytes, 2 * read.records, read.block.records);
                    found.written.variable = found.written.variable.saturating_add(of_read);
                    found.rows += read.records;
                }
                None => {}
            }
        }
        found.written.padded = batch.rows().saturating_mul(found.row_padded);
        (found.written, found.too_large)
    }

    /// Number of records that are walked at a time to find what they need. What their columns of fixed size take
    /// does not count.
    pub(crate) fn walked_records(&self) -> u64 {
        let bytes = self.flow.memory.limit() / KEPT_SHARE;
        let records = bytes / self.flow.builders.fixed_row_bytes.max(1);
        records.clamp(1, FEW_RECORDS)
    }

    fn measure_read(&mut self, read: &BlockRead, row: u64, prepared: &Prepared, found: &mut Found) {
        let flow = self.flow.clone();
        let spec = flow.builders.spec();
        let decoder = &*read.block.file.decoder;
        let memory = &self.flow.memory;
        let limit = memory.limit();
        // As much as there is for the batch itself, whatever others hold.
        let held = found.window + prepared.memory_bytes() as u64;
        let room = ungrown(memory.batch_limit().saturating_sub(held));
        let room = room.min(ungrown(memory.left()));
        let members = &read.block.members;
        let mut pos = read.block.nearest(members.record(read.first));
        let mut scratch = Scratch::default();
        let (mut left, mut most) = (read.records, self.walked_records());
        while left > 0 && !self.flow.is_stopped() {
            if found.looked_at() > limit && found.rows > 0 {
                return found.add_rows(left);
            }
            let member = read.first + read.records - left;
            let Some(run) = members.runs(member, left.min(most)).next() else {
                return;
            };
            let Ok(first) = read.block.seek(prepared, pos, run.start) else {
                return;
            };
            pos = first;
            let records = run.end - run.start;
            let mut builder = BatchBuilder::new(spec.clone());
            let (decoded, written) = {
                let mut slots = builder.slots(&[records as usize]);
                let slots = &mut slots[0];
                self.take_own_columns(slots);
                let empty = slots.segment_bytes();
                slots.set_room(room);
                let decoded = decoder.decode(prepared, pos, records, slots, &mut scratch, None);
                (decoded, (slots.segment_bytes() - empty) as u64)
            };
            match decoded {
                Ok(decoded) => {
                    let padded = builder.padded_bytes().div_ceil(records);
                    found.row_padded = found.row_padded.max(padded);
                    found.written.variable = found.written.variable.saturating_add(written);
                    pos = decoded.pos;
                }
                Err(error) => {
                    let ErrorKind::Limit { needed } = error.kind else {
                        return;
                    };
                    if records > 1 {
                        most = 1;
                        continue;
                    }
                    let Ok(next) = decoder.seek(prepared, pos, pos.record + 1) else {
                        return;
                    };
                    let at = error.place.decompressed_offset.unwrap_or(pos.at);
                    let needed = needed.unwrap_or(0);
                    // It cannot have been made with more memory, either.
                    if grown(written.saturating_add(needed)) > limit {
                        found.too_large.get_or_insert(row + read.records - left);
                    }
                    let needed = needed.saturating_mul(parts_of_value(spec));
                    let of_record = record_bytes(written, needed, (pos, at, next));
                    found.written.variable = found.written.variable.saturating_add(of_record);
                    pos = next;
                }
            }
            found.rows += records;
            left -= records;
        }
    }
}

/// The most numbers that a value has in a column, itself and its coordinates.
fn parts_of_value(spec: &BatchSpec) -> u64 {
    let parts = spec.columns().iter().map(|column| match column.kind {
        ColumnKind::Sparse { layout, .. } | ColumnKind::Varlen { layout, .. } => match layout {
            Layout::Coo => 2 + column.rank() as u64,
            _ => 2,
        },
        _ => 1,
    });
    parts.max().unwrap_or(1)
}

/// Bytes of a record that does not fit alone. The value at `at`, which needs `needed` bytes or more, came
/// after `written` bytes.
fn record_bytes(written: u64, needed: u64, (first, at, next): (Pos, u64, Pos)) -> u64 {
    let len = next.at.saturating_sub(first.at);
    let before = at.saturating_sub(first.at);
    // Its strings are not in what it needs.
    let with_value = written
        .saturating_add(needed)
        .saturating_add(len - before.min(len));
    // As if the rest were like what is before.
    let in_proportion = match before {
        0 => 0,
        _ => share(written, len, before),
    };
    with_value.max(in_proportion)
}
