//! What a batch would need that does not fit: it is walked for its size, a few records at a time.

use atds_format::{Prepared, Scratch};
use tensor_batch::{BatchBuilder, BatchSpec};

use crate::account::Account;
use crate::memory::Lease;
use crate::planner::{BatchPlan, BlockRead};
use crate::prepare::needed_limit;
use crate::tuning::COUNTED_RECORDS;
use crate::worker::{Context, Written, ungrown};

impl Context {
    /// The sizes of a batch. They are an estimate for a payload that does not fit alone, and less than
    /// the truth from a bad record on.
    #[cold]
    pub(crate) fn measure(&mut self, plan: &BatchPlan, spec: &BatchSpec) -> Written {
        let mut sizes = Written::default();
        let mut row_padded = 0;
        for read in &plan.reads {
            if self.flow.is_stopped() {
                break;
            }
            let block = &*read.block;
            if let Some(prepared) = block.payload.prepared() {
                if let Ok(prepared) = prepared {
                    self.measure_read(read, prepared, spec, (&mut sizes, &mut row_padded));
                }
                continue;
            }
            let lease = Lease::none(&self.flow.memory);
            let mut account = Account::new(self.flow.clone(), lease, true);
            let prepared = self.prepare(&[block], &mut account).ok();
            let (result, bytes, working) = match prepared.and_then(|mut all| all.pop()) {
                Some(block) => (block.result.ok(), block.bytes, block.working),
                None => (None, self.missing.take().unwrap_or(0), 0),
            };
            if read.is_only {
                sizes.only = sizes.only.max(bytes + working);
            } else {
                block.payload.size.set(bytes);
                block.payload.size.set_working(working);
            }
            match result {
                Some((prepared, _)) => {
                    self.measure_read(read, &prepared, spec, (&mut sizes, &mut row_padded));
                }
                // As if its values were twice as large as they are prepared.
                None if self.has_variable => {
                    let of_block = u128::from(bytes) * u128::from(2 * read.records);
                    let of_read = of_block / u128::from(block.records.max(1));
                    sizes.variable += u64::try_from(of_read).unwrap_or(u64::MAX / 4);
                }
                None => {}
            }
        }
        sizes.padded = plan.rows.saturating_mul(row_padded);
        sizes
    }

    fn measure_read(
        &mut self,
        read: &BlockRead,
        prepared: &Prepared,
        spec: &BatchSpec,
        (sizes, row_padded): (&mut Written, &mut u64),
    ) {
        let decoder = &*read.block.file.decoder;
        let Ok(mut pos) = decoder.seek(prepared, read.block.nearest(read.first), read.first) else {
            return;
        };
        let mut scratch = Scratch::default();
        let mut left = read.records;
        while left > 0 && !self.flow.is_stopped() {
            let records = left.min(COUNTED_RECORDS);
            left -= records;
            let mut builder = BatchBuilder::new(spec.clone());
            let decoded = {
                let mut slots = builder.slots(&[records as usize]);
                let slots = &mut slots[0];
                let empty = slots.segment_bytes();
                // Of one that does not fit alone, at least this is found.
                slots.set_room(ungrown(self.flow.memory.limit()));
                let decoded = decoder.decode(prepared, pos, records, slots, &mut scratch, None);
                sizes.variable += (slots.segment_bytes() - empty) as u64;
                decoded
            };
            let decoded = match decoded {
                Ok(decoded) => decoded,
                Err(error) => {
                    if needed_limit(&error).is_some() {
                        sizes.variable = sizes.variable.saturating_add(self.flow.memory.limit());
                    }
                    return;
                }
            };
            *row_padded = (*row_padded).max(builder.padded_bytes().div_ceil(records));
            pos = decoded.pos;
        }
    }
}
