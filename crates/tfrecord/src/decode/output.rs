//! Writes the values of a record to the columns of a feature.

use atds_features::feature::Partition;
use tensor_batch::{Buffer, Layout, Out, RowSlots, Segment, Slot, Values as ColumnValues};

use super::compile::end_of;
use super::error::{DecodeErrorKind, Fault};
use super::find::Values;
use super::list::List;
use super::values::{Reader, no_room};

/// A feature: the keys of its values, and the columns that they become.
#[derive(Clone, Debug)]
pub(crate) struct Output {
    /// The feature's name in errors.
    pub(crate) name: String,
    pub(crate) column: usize,
    pub(crate) mask: Option<usize>,
    pub(crate) row_mask: Option<usize>,
    pub(crate) reader: Reader,
    /// The replacement for a missing value: one, or one for each element of a row.
    pub(crate) fill: Option<ColumnValues>,
    pub(crate) shape: Shape,
}

/// The form of a feature's column, and where its values are.
#[derive(Clone, Debug)]
pub(crate) enum Shape {
    /// The record itself, as a string.
    Record,
    /// A dense row of `len` elements.
    Dense {
        key: usize,
        len: usize,
        /// Whether another number of values is an error even if there is a default.
        is_exact: bool,
        truncate: bool,
    },
    /// Steps of a shape, as many as there are values for. Shorter rows are filled up.
    Padded { key: usize, dims: Box<[usize]> },
    /// A list of values.
    Varlen {
        key: usize,
        /// The most values of a row.
        limit: Option<usize>,
        truncate: bool,
        /// Whether the column has no dimension for the list, which has one value at most.
        is_scalar: bool,
        layout: Layout,
    },
    /// Entries with indices.
    Sparse {
        indices: Box<[usize]>,
        values: usize,
        shape: Box<[i64]>,
        sort: bool,
        layout: Layout,
        truncate: bool,
    },
    /// The values of a key, divided into lists of lists.
    Partitioned {
        key: usize,
        /// The partitions, the outermost first, and the numbers of their keys.
        partitions: Box<[(Partition, Option<usize>)]>,
    },
    /// The steps of a feature list, each of a shape, or of any length. Shorter rows are filled up.
    PaddedSteps {
        key: usize,
        dims: Box<[usize]>,
        is_ragged: bool,
    },
    /// The steps of a feature list, each a list of values.
    VarlenSteps {
        key: usize,
        limits: [Option<usize>; 2],
        layout: Layout,
    },
}

/// Counters of what was left out by the user's choice, and memory that is used again.
#[derive(Debug, Default)]
pub(crate) struct RowState {
    /// Sparse entries outside their dimensions.
    pub(crate) dropped: u64,
    /// Lists that were cut.
    pub(crate) truncated: u64,
    /// The order of a row's sparse entries, their indices, and which stay.
    order: Vec<usize>,
    pub(super) indices: Vec<i64>,
    keep: Vec<bool>,
}

pub(super) const SLOTS: &str = "the slots are those of the plan's features";

impl Output {
    /// Writes the row's values, or what replaces them.
    #[inline]
    pub(crate) fn write(
        &self,
        values: &Values<'_>,
        rows: &mut RowSlots<'_>,
        state: &mut RowState,
    ) -> Result<(), Fault> {
        let is_there = match &self.shape {
            Shape::Record => {
                let record = values.record();
                if record.len() > rows.room() {
                    return Err(no_room(record.len()));
                }
                match &mut self.segment(rows).values {
                    ColumnValues::String(strings) => strings.push(record),
                    _ => panic!("{SLOTS}"),
                }
                true
            }
            &Shape::Dense {
                key,
                len,
                is_exact,
                truncate,
            } => {
                let list = values.list(key);
                self.dense(list, len, (is_exact, truncate), rows, state)?;
                list.is_some()
            }
            Shape::Padded { key, dims } => {
                let list = values.list(*key);
                if list.is_none() && self.fill.is_none() {
                    return Err(DecodeErrorKind::Missing.into());
                }
                self.padded(list, dims, rows)?;
                list.is_some()
            }
            &Shape::Varlen {
                key,
                limit,
                truncate,
                is_scalar,
                layout,
            } => {
                let list = values.list(key);
                self.varlen(list, (limit, truncate, is_scalar), layout, rows, state)?;
                list.is_some()
            }
            Shape::Partitioned { key, partitions } => {
                let list = values.list(*key);
                self.partitioned(list, (partitions, values), rows, state)?;
                list.is_some()
            }
            Shape::Sparse { values: key, .. } => {
                self.sparse(values, rows, state)?;
                values.list(*key).is_some()
            }
            Shape::PaddedSteps {
                key,
                dims,
                is_ragged,
            } => {
                let steps = values.steps(*key);
                if steps.is_none() && self.fill.is_none() {
                    return Err(DecodeErrorKind::Missing.into());
                }
                let is_there = steps.is_some();
                self.padded_steps(steps.into_iter().flatten(), dims, *is_ragged, rows)?;
                is_there
            }
            &Shape::VarlenSteps {
                key,
                limits,
                layout,
            } => {
                let steps = values.steps(key);
                let is_there = steps.is_some();
                let count = steps.as_ref().map_or(0, ExactSizeIterator::len);
                let steps = steps.into_iter().flatten();
                self.varlen_steps(steps, count, (limits, layout), rows)?;
                is_there
            }
        };
        if let Some(column) = self.row_mask {
            let row = rows.row();
            match &mut rows.columns()[column] {
                Slot::Bool(mask) => mask[row] = is_there.into(),
                _ => panic!("{SLOTS}"),
            }
        }
        Ok(())
    }

    #[inline]
    pub(super) fn segment<'s>(&self, rows: &'s mut RowSlots<'_>) -> &'s mut Segment {
        rows.columns()[self.column].segment().expect(SLOTS)
    }

    /// Appends the first `n` elements of a list.
    #[inline]
    pub(super) fn append(
        &self,
        list: &List<'_>,
        n: usize,
        room: usize,
        values: &mut ColumnValues,
    ) -> Result<(), Fault> {
        let needed = n.saturating_mul(self.reader.element_bytes());
        if needed > room {
            return Err(no_room(needed));
        }
        match values {
            ColumnValues::String(strings) => {
                self.reader.append_strings(list, n, room - needed, strings)
            }
            values => self.reader.fill(list, Out::append(values, n)),
        }
    }

    /// Appends `n` elements to the mask of a column whose values are appended.
    #[inline]
    pub(super) fn append_mask(&self, n: usize, is_there: bool, rows: &mut RowSlots<'_>) {
        if let Some(column) = self.mask {
            let mask = rows.columns()[column].segment().expect(SLOTS);
            mask_values(mask).append(n).fill(is_there.into());
        }
    }

    fn dense(
        &self,
        list: Option<List<'_>>,
        len: usize,
        (is_exact, truncate): (bool, bool),
        rows: &mut RowSlots<'_>,
        state: &mut RowState,
    ) -> Result<(), Fault> {
        let found = match &list {
            None => 0,
            Some(list) => {
                let found = self.reader.len(list)?;
                let is_right = found == len
                    || found > len && truncate
                    || found < len && self.fill.is_some() && !is_exact;
                if !is_right {
                    let expected = len;
                    let kind = DecodeErrorKind::WrongCount { expected, found };
                    return Err(Fault::new(kind, list.message));
                }
                state.truncated += u64::from(found > len);
                found.min(len)
            }
        };
        if found < len && self.fill.is_none() {
            return Err(DecodeErrorKind::Missing.into());
        }
        let (row, room) = (rows.row(), rows.room());
        match &mut rows.columns()[self.column] {
            Slot::Segment(segment) => {
                if let Some(list) = &list {
                    self.append(list, found, room, &mut segment.values)?;
                }
                if let Some(fill) = &self.fill {
                    for i in found..len {
                        let i = if fill.len() == 1 { 0 } else { i };
                        segment.values.push_from(fill, i);
                    }
                }
            }
            slot => {
                let start = row * len;
                if let Some(list) = &list {
                    let out = Out::of_slot(slot, start..start + found);
                    self.reader.fill(list, out)?;
                }
                if let Some(fill) = &self.fill
                    && found < len
                {
                    Out::of_slot(slot, start + found..start + len).fill(fill, found);
                }
            }
        }
        if let Some(column) = self.mask {
            match &mut rows.columns()[column] {
                Slot::Bool(mask) => {
                    mask[row * len..][..found].fill(1);
                    mask[row * len + found..][..len - found].fill(0);
                }
                _ => panic!("{SLOTS}"),
            }
        }
        Ok(())
    }

    fn padded(
        &self,
        list: Option<List<'_>>,
        dims: &[usize],
        rows: &mut RowSlots<'_>,
    ) -> Result<(), Fault> {
        let of = dims.iter().product();
        let mut n = 0;
        if let Some(list) = &list {
            n = self.reader.len(list)?;
            if !n.is_multiple_of(of) {
                let kind = DecodeErrorKind::NotAMultiple { of, found: n };
                return Err(Fault::new(kind, list.message));
            }
            let room = rows.room();
            self.append(list, n, room, &mut self.segment(rows).values)?;
        }
        self.append_mask(n, true, rows);
        self.end_steps(n / of, dims, rows);
        Ok(())
    }

    /// Ends the row of a padded column, after `steps` steps of shape `dims`.
    pub(super) fn end_steps(&self, steps: usize, dims: &[usize], rows: &mut RowSlots<'_>) {
        for column in [Some(self.column), self.mask].into_iter().flatten() {
            let segment = rows.columns()[column].segment().expect(SLOTS);
            end_list(segment, 0, steps);
            let mut lists = steps;
            for (level, &dim) in (1..).zip(dims) {
                for _ in 0..lists {
                    end_list(segment, level, dim);
                }
                lists *= dim;
            }
        }
    }

    fn varlen(
        &self,
        list: Option<List<'_>>,
        (limit, truncate, is_scalar): (Option<usize>, bool, bool),
        layout: Layout,
        rows: &mut RowSlots<'_>,
        state: &mut RowState,
    ) -> Result<(), Fault> {
        let mut n = 0;
        if let Some(list) = &list {
            n = self.limited(list, limit, truncate, state)?;
            let room = rows.room();
            let places = if layout == Layout::Coo { 2 } else { 0 };
            let indices = n.saturating_mul(places * size_of::<i64>());
            let room = room.checked_sub(indices).ok_or_else(|| no_room(indices))?;
            self.append(list, n, room, &mut self.segment(rows).values)?;
        }
        let row = rows.batch_row() as i64;
        let segment = self.segment(rows);
        match layout {
            Layout::Coo if is_scalar => segment.indices.append(n).fill(row),
            Layout::Coo => {
                let indices = segment.indices.append(2 * n);
                for (i, place) in (0..).zip(indices.as_chunks_mut().0) {
                    *place = [row, i];
                }
                raise(&mut segment.extents[0], n);
            }
            _ => end_list(segment, 0, n),
        }
        self.append_mask(n, true, rows);
        Ok(())
    }

    /// Number of values that are read of a list.
    #[inline]
    pub(super) fn limited(
        &self,
        list: &List<'_>,
        limit: Option<usize>,
        truncate: bool,
        state: &mut RowState,
    ) -> Result<usize, Fault> {
        let found = self.reader.len(list)?;
        match limit {
            Some(limit) if found > limit && !truncate => {
                let kind = DecodeErrorKind::TooLong { limit, found };
                Err(Fault::new(kind, list.message))
            }
            Some(limit) => {
                state.truncated += u64::from(found > limit);
                Ok(found.min(limit))
            }
            None => Ok(found),
        }
    }

    fn sparse(
        &self,
        values: &Values<'_>,
        rows: &mut RowSlots<'_>,
        state: &mut RowState,
    ) -> Result<(), Fault> {
        let Shape::Sparse {
            indices: keys,
            values: key,
            shape,
            sort,
            layout,
            truncate,
        } = &self.shape
        else {
            unreachable!("only called for this shape");
        };
        let rank = shape.len();
        let list = values.list(*key);
        let n = list.as_ref().map_or(Ok(0), |list| self.reader.len(list))?;
        let room = rows.room();
        let with_row = usize::from(*layout == Layout::Coo);
        let stride = rank + with_row;
        let indices_bytes = n.saturating_mul(stride * size_of::<i64>());
        let room = room
            .checked_sub(indices_bytes)
            .ok_or_else(|| no_room(indices_bytes))?;
        state.indices.clear();
        state.keep.clear();
        state.keep.resize(n, true);
        let mut is_sorted = true;
        for (dimension, (&key, &size)) in keys.iter().zip(shape).enumerate() {
            let list = values.list(key);
            let found = list.as_ref().map_or(Ok(0), |list| Reader::Ints.len(list))?;
            if found != n {
                let (indices, values) = (found, n);
                let kind = DecodeErrorKind::SparseLengths {
                    dimension,
                    indices,
                    values,
                };
                return Err(kind.into());
            }
            let Some(list) = list else { continue };
            let start = state.indices.len();
            state.indices.resize(start + n, 0);
            let indices = &mut state.indices[start..];
            list.fill_ints(indices, Ok)?;
            for (&index, keep) in indices.iter().zip(&mut state.keep) {
                if index as u64 >= end_of(size) {
                    if !truncate {
                        let kind = DecodeErrorKind::IndexOutOfBounds {
                            index,
                            dimension,
                            size,
                        };
                        return Err(Fault::new(kind, list.message));
                    }
                    *keep = false;
                }
            }
            if rank == 1 {
                is_sorted = indices.is_sorted();
            }
        }
        let row = rows.batch_row() as i64;
        let segment = self.segment(rows);
        let first = segment.values.len();
        if let Some(list) = &list {
            self.append(list, n, room, &mut segment.values)?;
        }
        if state.keep.contains(&false) {
            drop_entries(&mut state.indices, &state.keep);
            segment.values.retain_from(first, &state.keep);
            state.dropped += state.keep.iter().filter(|keep| !**keep).count() as u64;
        }
        let n = segment.values.len() - first;
        let of = |dimension: usize, entry: usize| state.indices[dimension * n + entry];
        state.order.clear();
        if *sort && n > 1 && !(rank == 1 && is_sorted) {
            state.order.extend(0..n);
            // Stable: entries of one index keep the order of the data.
            state.order.sort_by(|&a, &b| {
                let of_dimensions = (0..rank).map(|d| of(d, a).cmp(&of(d, b)));
                of_dimensions.fold(std::cmp::Ordering::Equal, |order, next| order.then(next))
            });
            segment.values.permute_from(first, &state.order);
        }
        let places = segment.indices.append(n * stride);
        for (i, place) in places.chunks_exact_mut(stride).enumerate() {
            let entry = state.order.get(i).copied().unwrap_or(i);
            if with_row == 1 {
                place[0] = row;
            }
            for (d, index) in place[with_row..].iter_mut().enumerate() {
                *index = of(d, entry);
                segment.extents[d] = segment.extents[d].max(*index + 1);
            }
        }
        if *layout == Layout::Ragged {
            segment.splits[0].push(segment.values.len() as i64);
        }
        self.append_mask(n, true, rows);
        Ok(())
    }
}

fn mask_values(segment: &mut Segment) -> &mut Buffer<u8> {
    match &mut segment.values {
        ColumnValues::Bool(values) => values,
        _ => panic!("{SLOTS}"),
    }
}

#[inline]
pub(super) fn raise(extent: &mut i64, len: usize) {
    *extent = (*extent).max(len as i64);
}

/// Ends a list of `len` items at a level of a ragged or padded column.
#[inline]
pub(super) fn end_list(segment: &mut Segment, level: usize, len: usize) {
    let splits = &mut segment.splits[level];
    let start = splits.as_slice().last().copied().unwrap_or(0);
    splits.push(start + len as i64);
    raise(&mut segment.extents[level], len);
}

/// Removes the entries that are not kept from the indices of every dimension.
#[cold]
fn drop_entries(indices: &mut Vec<i64>, keep: &[bool]) {
    let mut keeps = keep.iter().cycle();
    indices.retain(|_| *keeps.next().expect("there are entries"));
}
