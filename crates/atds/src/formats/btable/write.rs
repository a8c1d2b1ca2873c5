//! Rows of a table become rows of a batch.

use atds_btable::{Error as TableError, Row, Rows, UncheckedRow};
use atds_features::narrow::Float;
use atds_format::{Error, ErrorKind};
use avro_decode::prefetch;
use tensor_batch::half::{bf16, f16};
use tensor_batch::{Buffer, Element, RowSlots, Slot, Values};

use super::TableDecoder;
use super::columns::{Form, Output};

/// What the numbers of a table become.
trait Number: Element {
    /// The number in memory.
    fn of(value: f64) -> Self::Raw;
}

macro_rules! floats {
    ($($float:ty)*) => {$(
        impl Number for $float {
            #[inline]
            fn of(value: f64) -> Self {
                Float::of_f64(value)
            }
        }
    )*};
}
floats!(f64 f32 f16 bf16);

impl Number for bool {
    #[inline]
    fn of(value: f64) -> u8 {
        u8::from(value != 0.0)
    }
}

#[cold]
fn no_number() -> ! {
    unreachable!("features have a float dtype or bool")
}

impl TableDecoder {
    /// Writes the next `records` rows. `after` are the bytes of the rows that are decoded after them.
    pub(super) fn write(
        &self,
        table: &mut Rows<'_>,
        records: u64,
        rows: &mut RowSlots<'_>,
        mut after: &[u8],
    ) -> Result<(), Error> {
        if let Some(output) = self.plan.only_all_cells() {
            return self.write_all_cells(output, table, records, rows, after);
        }
        for _ in 0..records {
            let row = self.next(table, rows.room(), &mut after)?;
            let row = row.check().map_err(|error| self.error(error))?;
            let (batch_row, slot_row) = (rows.batch_row() as i64, rows.row());
            let slots = rows.columns();
            for output in &self.plan.outputs {
                output.write(row, batch_row, slot_row, &mut slots[output.column]);
            }
            rows.advance();
        }
        Ok(())
    }

    /// Writes rows whose cells all go to one sparse column: they are read and checked in one pass.
    fn write_all_cells(
        &self,
        output: &Output,
        table: &mut Rows<'_>,
        records: u64,
        rows: &mut RowSlots<'_>,
        after: &[u8],
    ) -> Result<(), Error> {
        let (room, first_row) = (rows.room(), rows.batch_row());
        let Slot::Segment(segment) = &mut rows.columns()[output.column] else {
            unreachable!("sparse columns have segments");
        };
        let mut cells = AllCells {
            indices: &mut segment.indices,
            ends: segment.splits.first_mut(),
            extent: &mut segment.extents[0],
            batch_row: first_row,
        };
        let next = (table, records, room, after);
        let done = match &mut segment.values {
            Values::Float64(values) => self.add_rows::<f64>(next, &mut cells, values),
            Values::Float32(values) => self.add_rows::<f32>(next, &mut cells, values),
            Values::Float16(values) => self.add_rows::<f16>(next, &mut cells, values),
            Values::BFloat16(values) => self.add_rows::<bf16>(next, &mut cells, values),
            Values::Bool(values) => self.add_rows::<bool>(next, &mut cells, values),
            _ => no_number(),
        };
        let written = cells.batch_row - first_row;
        (0..written).for_each(|_| rows.advance());
        done
    }

    /// Adds all cells of the next `records` rows, if each takes at most `room` bytes.
    fn add_rows<T: Number>(
        &self,
        (table, records, room, mut after): (&mut Rows<'_>, u64, usize, &[u8]),
        cells: &mut AllCells<'_>,
        values: &mut Buffer<T::Raw>,
    ) -> Result<(), Error> {
        for _ in 0..records {
            let row = self.next(table, room, &mut after)?;
            let added = cells.add::<T>(row, values);
            added.map_err(|error| self.error(error))?;
        }
        Ok(())
    }

    /// The next row, for which there are `room` bytes. Meanwhile the processor loads the same number of
    /// bytes of `after`: a shuffled batch reads rows that have left the caches.
    #[inline]
    fn next<'a>(
        &self,
        table: &mut Rows<'a>,
        room: usize,
        after: &mut &[u8],
    ) -> Result<UncheckedRow<'a>, Error> {
        let before = table.rest().len();
        let row = table.next_unchecked().map_err(|error| self.error(error))?;
        let bytes = (before - table.rest().len()).min(after.len());
        prefetch(after, 0, bytes);
        *after = &after[bytes..];
        if self.plan.most_bytes(row.len()) > room {
            self.check_room(row, room)?;
        }
        Ok(row)
    }

    /// An error if the columns of variable size need more than `room` bytes for a row.
    #[cold]
    fn check_room(&self, row: UncheckedRow<'_>, room: usize) -> Result<(), Error> {
        let number = row.number();
        let row = row.check().map_err(|error| self.error(error))?;
        let needed = self.plan.bytes(row);
        if needed > room {
            let needed = Some(needed as u64);
            return Err(Error::new(ErrorKind::Limit { needed }).in_record(number));
        }
        Ok(())
    }
}

impl Output {
    /// Writes the values of `row`, which is row `slot_row` of the slot.
    pub(super) fn write(&self, row: Row<'_>, batch_row: i64, slot_row: usize, slot: &mut Slot<'_>) {
        let width = self.columns.len();
        let place = slot_row * width..(slot_row + 1) * width;
        match slot {
            Slot::Float64(values) => self.fill::<f64>(row, &mut values[place]),
            Slot::Float32(values) => self.fill::<f32>(row, &mut values[place]),
            Slot::Float16(values) => self.fill::<f16>(row, &mut values[place]),
            Slot::BFloat16(values) => self.fill::<bf16>(row, &mut values[place]),
            Slot::Bool(values) => self.fill::<bool>(row, &mut values[place]),
            Slot::Segment(segment) => {
                let indices = &mut segment.indices;
                let last = match &mut segment.values {
                    Values::Float64(values) => self.add::<f64>(row, batch_row, values, indices),
                    Values::Float32(values) => self.add::<f32>(row, batch_row, values, indices),
                    Values::Float16(values) => self.add::<f16>(row, batch_row, values, indices),
                    Values::BFloat16(values) => self.add::<bf16>(row, batch_row, values, indices),
                    Values::Bool(values) => self.add::<bool>(row, batch_row, values, indices),
                    _ => no_number(),
                };
                if self.form == Form::Ragged {
                    segment.splits[0].push(segment.values.len() as i64);
                }
                segment.extents[0] = segment.extents[0].max(last + 1);
            }
            _ => no_number(),
        }
    }

    /// Fills a dense row: zeros, and the cells.
    fn fill<T: Number>(&self, row: Row<'_>, values: &mut [T::Raw]) {
        values.fill(T::of(0.0));
        self.columns.each(row, |number, value| {
            values[number as usize] = T::of(value);
        });
    }

    /// Adds the values of the cells, and their indices. Returns the last number of a column, or -1.
    fn add<T: Number>(
        &self,
        row: Row<'_>,
        batch_row: i64,
        values: &mut Buffer<T::Raw>,
        indices: &mut Buffer<i64>,
    ) -> i64 {
        let mut last = -1;
        self.columns.each(row, |number, value| {
            values.push(T::of(value));
            last = number.into();
            match self.form {
                Form::Coo => indices.extend_from_slice(&[batch_row, last]),
                _ => indices.push(last),
            }
        });
        last
    }
}

/// Where a sparse column gets all cells of rows.
struct AllCells<'s> {
    indices: &'s mut Buffer<i64>,
    /// The ends of ragged rows.
    ends: Option<&'s mut Buffer<i64>>,
    /// The largest number of a column, and 1.
    extent: &'s mut i64,
    /// The row of the batch that comes next.
    batch_row: usize,
}

impl AllCells<'_> {
    /// Adds a row, and checks it. `values` and indices are as before if it is wrong.
    #[inline]
    fn add<T: Number>(
        &mut self,
        row: UncheckedRow<'_>,
        values: &mut Buffer<T::Raw>,
    ) -> Result<(), TableError> {
        let (cells, before) = (row.len(), (values.len(), self.indices.len()));
        let to = values.append(cells).iter_mut();
        let added = if self.ends.is_none() {
            let batch_row = self.batch_row as i64;
            let (pairs, _) = self.indices.append(2 * cells).as_chunks_mut();
            row.read(to.zip(pairs), |(to, pair), column, value| {
                *to = T::of(value);
                *pair = [batch_row, column.into()];
            })
        } else {
            let numbers = self.indices.append(cells);
            row.read(to.zip(numbers), |(to, number), column, value| {
                *to = T::of(value);
                *number = column.into();
            })
        };
        match added {
            Ok(row) => {
                let last = row.columns().next_back();
                *self.extent = last.map_or(0, |last| i64::from(last) + 1).max(*self.extent);
                if let Some(ends) = &mut self.ends {
                    ends.push(values.len() as i64);
                }
                self.batch_row += 1;
                Ok(())
            }
            Err(error) => {
                values.set_len(before.0);
                self.indices.set_len(before.1);
                Err(error)
            }
        }
    }
}
