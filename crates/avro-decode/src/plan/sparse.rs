//! Sparse features: a record of `indices0..indicesN` and `values`.

use tensor_batch::{Layout, Segment, UNKNOWN, Values};

use super::cursor::{Cursor, Fault};
use super::leaf::{Leaf, Nullable, null};
use super::output::{Length, Output};
use super::program::{Coding, Items};
use super::run::Run;
use super::sink::Mask;
use super::sparse_row::SparseRow;
use super::values::{Kernel, array, columns, no_room};
use super::{OutOfBounds, SLOTS};
use crate::DecodeErrorKind;
use crate::convert::Source;

/// A sparse record of a feature; its entries keep the order of the data.
#[derive(Clone, Debug)]
pub(crate) struct SparseRecord {
    /// The feature.
    pub(crate) output: usize,
    /// The arrays, in the order of the record's fields.
    pub(crate) fields: Box<[SparseField]>,
    /// The dimensions, or [`UNKNOWN`].
    pub(crate) shape: Box<[i64]>,
    pub(crate) layout: Layout,
    pub(crate) out_of_bounds: OutOfBounds,
    /// The fast path, for the usual layout.
    pub(crate) row: Option<SparseRow>,
}

/// An array of a sparse record.
#[derive(Clone, Debug)]
pub(crate) struct SparseField {
    pub(crate) role: Role,
    /// The union around the array.
    pub(crate) list_nullable: Option<Nullable>,
    /// Minimum number of bytes per item.
    pub(crate) min_item: usize,
    /// The union around each item.
    pub(crate) nullable: Option<Nullable>,
    /// How to read an item; an index is read as an `int` or a `long`.
    pub(crate) source: Source,
}

/// The contents of an array in a sparse record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// The indices of a dimension.
    Indices(usize),
    Values,
}

/// The entries of the row being read.
struct Row {
    /// Number of entries; known from the first array on.
    count: Option<usize>,
    /// Index of the row's first entry in the segment's values.
    first_value: usize,
    /// Index of the row's first entry in the segment's indices.
    first_index: usize,
    /// Whether the elements for the indices have been appended, with the row's number.
    placed: bool,
    /// Whether an index is outside its dimension.
    out_of_bounds: bool,
}

impl<'x> Run<'x, '_, '_> {
    /// Reads a sparse record.
    #[inline]
    pub(super) fn sparse_record(
        &mut self,
        sparse: &'x SparseRecord,
        cursor: &mut Cursor<'x>,
    ) -> Result<(), Fault> {
        let output = &self.plan.outputs[sparse.output];
        let room = self.slots.room();
        let (values, mask) = columns(self.slots.columns(), output);
        let segment = values.segment().expect(SLOTS);
        let prefetch = self.state.output_prefetch;
        let first = segment.values.len();
        if let Some(row) = &sparse.row
            && row.read(cursor, segment, (self.batch_row, room), prefetch)
        {
            let count = segment.values.len() - first;
            return self.count_items(count);
        }
        let end = prefetch.end_of(segment);
        let mask = mask.map(|slot| slot.segment().expect(SLOTS));
        let dropped = sparse.read(cursor, segment, mask, output, (self.batch_row, room))?;
        if let Some(end) = end {
            end.ask(segment);
        }
        self.state.dropped += dropped as u64;
        let count = segment.values.len() - first;
        self.count_items(count + dropped)
    }
}

impl SparseRecord {
    /// Reads one row; returns the number of dropped entries.
    #[inline]
    fn read(
        &self,
        cursor: &mut Cursor<'_>,
        segment: &mut Segment,
        mut mask: Option<&mut Segment>,
        output: &Output,
        (batch_row, room): (i64, usize),
    ) -> Result<usize, Fault> {
        let mut row = Row {
            count: None,
            first_value: segment.values.len(),
            first_index: segment.indices.len(),
            placed: false,
            out_of_bounds: false,
        };
        for field in &self.fields {
            let start = *cursor;
            let is_list = match field.list_nullable {
                None => true,
                Some(nullable) => nullable.is_value(cursor)?,
            };
            if !is_list && output.fill.is_none() {
                *cursor = start;
                return Err(null());
            }
            let count = match field.role {
                _ if !is_list => 0,
                Role::Values => field.read_values(
                    cursor,
                    &mut segment.values,
                    mask.as_deref_mut(),
                    (output, room),
                )?,
                Role::Indices(dimension) => self.read_indices(
                    cursor,
                    field,
                    dimension,
                    segment,
                    (batch_row, room),
                    &mut row,
                )?,
            };
            let expected = *row.count.get_or_insert(count);
            if count != expected {
                *cursor = start;
                return Err(different_lengths(expected, count));
            }
        }
        let mut dropped = 0;
        if row.out_of_bounds {
            dropped = self.drop_out_of_bounds(segment, mask, &row);
        }
        if self.out_of_bounds == OutOfBounds::Drop {
            self.raise_extents(segment, &row);
        }
        if self.layout == Layout::Ragged {
            segment.splits[0].push(segment.values.len() as i64);
        }
        Ok(dropped)
    }

    /// Reads the indices of a dimension. They are interleaved with those of the other dimensions:
    /// `[row, i0, i1..]`.
    #[inline]
    fn read_indices(
        &self,
        cursor: &mut Cursor<'_>,
        field: &SparseField,
        dimension: usize,
        segment: &mut Segment,
        (batch_row, room): (i64, usize),
        row: &mut Row,
    ) -> Result<usize, Fault> {
        let with_row = usize::from(self.layout == Layout::Coo);
        let stride = self.shape.len() + with_row;
        let column = dimension + with_row;
        let end = end_of(self.shape[dimension]);
        let mut extent = segment.extents[dimension];
        let allowed = self.out_of_bounds == OutOfBounds::Drop;
        let indices = &mut segment.indices;
        let is_int = matches!(field.source, Source::Plain(Leaf::Int));
        let count = array(cursor, field.min_item, Length::Any, |cursor, seen, n| {
            let entries = if row.placed {
                let expected = row.count.unwrap_or(0);
                if seen + n > expected {
                    return Err(different_lengths(expected, seen + n));
                }
                let start = row.first_index + seen * stride;
                &mut indices.as_mut_slice()[start..start + n * stride]
            } else {
                let needed = (seen + n).saturating_mul(stride * size_of::<i64>());
                if needed > room {
                    return Err(no_room(needed));
                }
                indices.append(n * stride)
            };
            for coordinates in entries.chunks_exact_mut(stride) {
                if let Some(nullable) = field.nullable {
                    let start = *cursor;
                    if !nullable.is_value(cursor)? {
                        *cursor = start;
                        return Err(null_index());
                    }
                }
                let start = *cursor;
                let index = if is_int {
                    i64::from(cursor.int()?)
                } else {
                    cursor.long()?
                };
                if index as u64 >= end {
                    if !allowed {
                        *cursor = start;
                        return Err(index_out_of_bounds(index, dimension, self.shape[dimension]));
                    }
                    row.out_of_bounds = true;
                } else if !allowed {
                    extent = extent.max(index + 1);
                }
                if with_row == 1 {
                    coordinates[0] = batch_row;
                }
                coordinates[column] = index;
            }
            Ok(())
        })?;
        segment.extents[dimension] = extent;
        row.placed = true;
        Ok(count)
    }

    /// Raises the extents to the row's entries, once dropped entries are removed.
    fn raise_extents(&self, segment: &mut Segment, row: &Row) {
        let with_row = usize::from(self.layout == Layout::Coo);
        let entries = &segment.indices.as_slice()[row.first_index..];
        for coordinates in entries.chunks_exact(self.shape.len() + with_row) {
            for (extent, index) in segment.extents.iter_mut().zip(&coordinates[with_row..]) {
                *extent = (*extent).max(index + 1);
            }
        }
    }

    /// Removes the row's entries with an index outside its dimension.
    #[cold]
    fn drop_out_of_bounds(
        &self,
        segment: &mut Segment,
        mask: Option<&mut Segment>,
        row: &Row,
    ) -> usize {
        let with_row = usize::from(self.layout == Layout::Coo);
        let stride = self.shape.len() + with_row;
        let rows = &mut segment.indices.as_mut_slice()[row.first_index..];
        let keep: Vec<bool> = rows
            .chunks_exact(stride)
            .map(|coordinates| {
                let mut bounds = coordinates[with_row..].iter().zip(&self.shape);
                bounds.all(|(&index, &size)| (index as u64) < end_of(size))
            })
            .collect();
        let mut kept = 0;
        for (i, _) in keep.iter().enumerate().filter(|(_, keep)| **keep) {
            rows.copy_within(i * stride..(i + 1) * stride, kept * stride);
            kept += 1;
        }
        segment.indices.set_len(row.first_index + kept * stride);
        segment.values.retain_from(row.first_value, &keep);
        if let Some(mask) = mask {
            let first = mask.values.len() - keep.len();
            mask.values.retain_from(first, &keep);
        }
        keep.len() - kept
    }
}

impl SparseField {
    /// Reads the array of values.
    #[inline]
    fn read_values(
        &self,
        cursor: &mut Cursor<'_>,
        values: &mut Values,
        mask: Option<&mut Segment>,
        (output, room): (&Output, usize),
    ) -> Result<usize, Fault> {
        let items = Items {
            min_item: self.min_item,
            length: Length::Any,
            slice: None,
            coding: Coding::Blocks,
        };
        let mut kernel = Kernel {
            source: &self.source,
            nullable: self.nullable,
            items: Some(&items),
            slice: None,
            room,
        };
        kernel.append(cursor, values, Mask::of_segment(mask), output.fill.as_ref())
    }
}

/// The smallest index beyond a dimension of `size`. As `u64`, negative indices are beyond it too.
#[inline]
pub(super) fn end_of(size: i64) -> u64 {
    match size {
        // The extent, an index + 1, must be an i64 too.
        UNKNOWN => i64::MAX as u64,
        size => size as u64,
    }
}

#[cold]
fn null_index() -> Fault {
    Box::new(DecodeErrorKind::NullIndex)
}

#[cold]
pub(super) fn different_lengths(expected: usize, actual: usize) -> Fault {
    Box::new(DecodeErrorKind::SparseLengths { expected, actual })
}

#[cold]
pub(super) fn index_out_of_bounds(index: i64, dimension: usize, size: i64) -> Fault {
    Box::new(DecodeErrorKind::IndexOutOfBounds {
        index,
        dimension,
        size,
    })
}
