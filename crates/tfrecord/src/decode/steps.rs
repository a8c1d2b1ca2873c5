//! Writes the steps of feature lists.

use tensor_batch::{Layout, RowSlots};

use super::error::{DecodeErrorKind, Fault};
use super::list::List;
use super::output::{Output, RowState, SLOTS, end_list, raise};
use super::values::no_room;

impl Output {
    pub(super) fn padded_steps<'a>(
        &self,
        steps: impl Iterator<Item = Option<List<'a>>>,
        dims: &[usize],
        is_ragged: bool,
        rows: &mut RowSlots<'_>,
    ) -> Result<(), Fault> {
        let expected: usize = dims.iter().product();
        let mut room = rows.room();
        let mut count = 0;
        for step in steps {
            let n = step.as_ref().map_or(Ok(0), |list| self.reader.len(list))?;
            if !is_ragged && n != expected {
                let kind = DecodeErrorKind::WrongCount { expected, found: n };
                let at = step.as_ref().map_or(&[][..], |list| list.message);
                return Err(Fault::new(kind, at));
            }
            self.append_step(step.as_ref(), n, &mut room, rows)?;
            if is_ragged {
                for column in [Some(self.column), self.mask].into_iter().flatten() {
                    end_list(rows.columns()[column].segment().expect(SLOTS), 1, n);
                }
            }
            self.append_mask(n, true, rows);
            count += 1;
        }
        if is_ragged {
            for column in [Some(self.column), self.mask].into_iter().flatten() {
                end_list(rows.columns()[column].segment().expect(SLOTS), 0, count);
            }
        } else {
            self.end_steps(count, dims, rows);
        }
        Ok(())
    }

    pub(super) fn varlen_steps<'a>(
        &self,
        steps: impl Iterator<Item = Option<List<'a>>>,
        count: usize,
        ([most_steps, most_values], layout): ([Option<usize>; 2], Layout),
        rows: &mut RowSlots<'_>,
    ) -> Result<(), Fault> {
        let row = rows.batch_row() as i64;
        let mut room = rows.room();
        if let Some(limit) = most_steps.filter(|&limit| limit < count) {
            let found = count;
            return Err(DecodeErrorKind::TooLong { limit, found }.into());
        }
        let mut unlimited = RowState::default();
        for (i, step) in (0..).zip(steps) {
            let n = match &step {
                Some(list) => self.limited(list, most_values, false, &mut unlimited)?,
                None => 0,
            };
            let places = if layout == Layout::Coo { 3 } else { 0 };
            let needed = n.saturating_mul(places * size_of::<i64>());
            room = room.checked_sub(needed).ok_or_else(|| no_room(needed))?;
            self.append_step(step.as_ref(), n, &mut room, rows)?;
            let segment = self.segment(rows);
            if layout == Layout::Coo {
                let indices = segment.indices.append(3 * n);
                for (j, place) in (0..).zip(indices.as_chunks_mut().0) {
                    *place = [row, i, j];
                }
                raise(&mut segment.extents[1], n);
            } else {
                end_list(segment, 1, n);
            }
            self.append_mask(n, true, rows);
        }
        let segment = self.segment(rows);
        if layout == Layout::Coo {
            raise(&mut segment.extents[0], count);
        } else {
            end_list(segment, 0, count);
        }
        Ok(())
    }

    /// Appends the `n` values of a step, and takes the bytes of the step off the room.
    fn append_step(
        &self,
        step: Option<&List<'_>>,
        n: usize,
        room: &mut usize,
        rows: &mut RowSlots<'_>,
    ) -> Result<(), Fault> {
        let values = &mut self.segment(rows).values;
        let before = values.bytes_from(0).len();
        if let Some(list) = step {
            self.append(list, n, *room, values)?;
        }
        let added = values.bytes_from(0).len() - before;
        *room = room.saturating_sub(added + size_of::<i64>());
        Ok(())
    }
}
