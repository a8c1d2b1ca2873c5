//! What stands for values that are missing.

use tensor_batch::{MAX_RANK, Scalar, Slot};

use super::SLOTS;
use super::cursor::Fault;
use super::program::{Gap, Missing};
use super::run::Run;
use super::values::{columns, end_list, place, raise_to_values};
use super::writer::{Form, Writer};
use crate::convert::Out;

impl<'x> Run<'x, '_, '_> {
    /// Does for a feature what it has for a missing value.
    pub(super) fn missing(&mut self, missing: &'x Missing) -> Result<(), Fault> {
        let writer = &self.plan.writers[missing.writer];
        let Some(fill) = &writer.fill else {
            return Err(Box::new(missing.why.clone()));
        };
        if missing.is_row {
            self.mark_row(missing.writer, false);
        }
        if let Form::Dense { strides } = &writer.form {
            let gap = match missing.gap {
                Gap::Value => 1,
                Gap::List(depth) => strides[depth],
            };
            self.fill_dense(missing.writer, writer, strides, gap);
            return Ok(());
        }
        let (values, mask) = columns(self.slots.columns(), writer);
        let segment = values.segment().expect(SLOTS);
        let mut mask = mask.map(|slot| slot.segment().expect(SLOTS));
        match (missing.gap, &writer.form) {
            (Gap::Value, form) => {
                segment.values.push_from(fill, 0);
                if let Some(mask) = mask {
                    mask.values.push(&Scalar::Bool(false));
                }
                if let Form::Coo { by_values } = form {
                    let mut path = [0; MAX_RANK + 1];
                    let path = self
                        .state
                        .path(&mut path, self.batch_row, &missing.registers);
                    place(&mut segment.indices, path, None);
                    if *by_values {
                        raise_to_values(&mut segment.extents, path, None);
                    }
                }
            }
            (Gap::List(depth), Form::Ragged) => {
                end_list(segment, depth, 0);
                if let Some(mask) = &mut mask {
                    end_list(mask, depth, 0);
                }
            }
            (Gap::List(_), Form::Record) => {
                // Of the ragged layout; none in coordinates.
                if let Some(ends) = segment.splits.first_mut() {
                    ends.push(segment.values.len() as i64);
                }
            }
            (Gap::List(_), _) => {}
        }
        Ok(())
    }

    /// Fills the next `gap` values of a dense row, which are missing.
    pub(super) fn fill_dense(
        &mut self,
        number: usize,
        writer: &Writer,
        strides: &[usize],
        gap: usize,
    ) {
        let Some(fill) = &writer.fill else { return };
        let (row_len, place) = (strides[0], self.state.places[number]);
        let start = self.slots.row() * row_len + place;
        let (values, mask) = columns(self.slots.columns(), writer);
        match values {
            Slot::Segment(segment) => {
                for place in place..place + gap {
                    let place = if fill.len() == 1 { 0 } else { place };
                    segment.values.push_from(fill, place);
                }
            }
            slot => Out::of_slot(slot, start..start + gap).fill(fill, place),
        }
        if let Some(Slot::Bool(mask)) = mask {
            mask[start..start + gap].fill(0);
        }
        let done = place + gap;
        self.state.places[number] = if done == row_len { 0 } else { done };
    }

    /// Says in a feature's row mask whether the row has it.
    pub(super) fn mark_row(&mut self, writer: usize, present: bool) {
        let row = self.slots.row();
        if let Some(column) = self.plan.writers[writer].row_mask
            && let Slot::Bool(rows) = &mut self.slots.columns()[column]
        {
            rows[row] = present.into();
        }
    }
}
