//! Replaces missing values.

use tensor_batch::{MAX_RANK, Scalar, Slot};

use super::SLOTS;
use super::cursor::Fault;
use super::output::{Output, OutputLayout};
use super::program::{Missing, MissingAt};
use super::run::Run;
use super::values::{columns, end_list, push_coordinates, raise_to_values};
use crate::convert::Out;

impl<'x> Run<'x, '_, '_> {
    /// Fills a missing value of a feature, or returns its error.
    pub(super) fn missing(&mut self, missing: &'x Missing) -> Result<(), Fault> {
        let output = &self.plan.outputs[missing.output];
        let Some(fill) = &output.fill else {
            return Err(Box::new(missing.why.clone()));
        };
        if missing.is_row {
            self.mark_row(missing.output, false);
        }
        if let OutputLayout::Dense { strides } = &output.layout {
            let gap = match missing.at {
                MissingAt::Value => 1,
                MissingAt::List(depth) => strides[depth],
            };
            self.fill_dense(missing.output, output, strides, gap);
            return Ok(());
        }
        let (values, mask) = columns(self.slots.columns(), output);
        let segment = values.segment().expect(SLOTS);
        let mut mask = mask.map(|slot| slot.segment().expect(SLOTS));
        match (missing.at, &output.layout) {
            (MissingAt::Value, layout) => {
                segment.values.push_from(fill, 0);
                if let Some(mask) = mask {
                    mask.values.push(&Scalar::Bool(false));
                }
                if let OutputLayout::Coo { by_values } = layout {
                    let mut path = [0; MAX_RANK + 1];
                    let path = self
                        .state
                        .path(&mut path, self.batch_row, &missing.registers);
                    push_coordinates(&mut segment.indices, path, None);
                    if *by_values {
                        raise_to_values(&mut segment.extents, path, None);
                    }
                }
            }
            (MissingAt::List(depth), OutputLayout::Ragged) => {
                end_list(segment, depth, 0);
                if let Some(mask) = &mut mask {
                    end_list(mask, depth, 0);
                }
            }
            (MissingAt::List(_), OutputLayout::Record) => {
                // The ragged layout has such lists; coordinates have none.
                if let Some(ends) = segment.splits.first_mut() {
                    ends.push(segment.values.len() as i64);
                }
            }
            (MissingAt::List(_), _) => {}
        }
        Ok(())
    }

    /// Fills the next `gap` values of a dense row, which are missing.
    pub(super) fn fill_dense(
        &mut self,
        number: usize,
        output: &Output,
        strides: &[usize],
        gap: usize,
    ) {
        let Some(fill) = &output.fill else { return };
        let (row_len, position) = (strides[0], self.state.positions[number]);
        let start = self.slots.row() * row_len + position;
        let (values, mask) = columns(self.slots.columns(), output);
        match values {
            Slot::Segment(segment) => {
                for position in position..position + gap {
                    let position = if fill.len() == 1 { 0 } else { position };
                    segment.values.push_from(fill, position);
                }
            }
            slot => Out::of_slot(slot, start..start + gap).fill(fill, position),
        }
        if let Some(Slot::Bool(mask)) = mask {
            mask[start..start + gap].fill(0);
        }
        let done = position + gap;
        self.state.positions[number] = if done == row_len { 0 } else { done };
    }

    /// Records in a feature's row mask whether the row has the feature.
    pub(super) fn mark_row(&mut self, output: usize, present: bool) {
        let row = self.slots.row();
        if let Some(column) = self.plan.outputs[output].row_mask
            && let Slot::Bool(rows) = &mut self.slots.columns()[column]
        {
            rows[row] = present.into();
        }
    }
}
