//! Sparse features: a record of `indices0..indicesN` and `values`.

use tensor_batch::{Element, Layout, Segment, Slot, UNKNOWN, Values};

use super::cursor::{Cursor, Fault};
use super::items::{Append, AppendStrings, Primitive};
use super::nested::{Leaf, Level, Nullable, for_leaf, leaves};
use super::{OutOfBounds, SLOTS, STRINGS};
use crate::DecodeErrorKind;

/// A sparse feature; entries keep document order.
#[derive(Clone, Debug)]
pub(crate) struct Sparse {
    /// The union around the record.
    pub(crate) nullable: Option<Nullable>,
    /// The arrays, in the order of the record's fields.
    pub(crate) fields: Box<[SparseField]>,
    /// The dimensions, or [`UNKNOWN`].
    pub(crate) shape: Box<[i64]>,
    pub(crate) layout: Layout,
    pub(crate) out_of_bounds: OutOfBounds,
}

/// An array of a sparse record.
#[derive(Clone, Debug)]
pub(crate) struct SparseField {
    pub(crate) role: Role,
    /// The array.
    pub(crate) level: Level,
    /// The union around each item.
    pub(crate) nullable: Option<Nullable>,
    pub(crate) leaf: Leaf,
}

/// What an array of a sparse record holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// The indices of a dimension.
    Indices(usize),
    Values,
}

/// The entries of the row being read.
struct Entries {
    /// Entries, known from the first array on.
    count: Option<usize>,
    /// Where the row's entries start in the segment's values.
    first_value: usize,
    /// Where they start in the segment's indices.
    first_index: usize,
    /// Whether the indices have been given room, with the row's number.
    placed: bool,
    /// Whether an index is outside its dimension.
    out_of_bounds: bool,
}

impl Sparse {
    /// Reads one row; returns how many entries were dropped.
    #[inline]
    pub(crate) fn read(
        &self,
        cursor: &mut Cursor<'_>,
        slot: &mut Slot<'_>,
        batch_row: usize,
    ) -> Result<usize, Fault> {
        if let Some(nullable) = self.nullable {
            nullable.expect_value(cursor)?;
        }
        let segment = slot.segment().expect(SLOTS);
        let mut entries = Entries {
            count: None,
            first_value: segment.values.len(),
            first_index: segment.indices.len(),
            placed: false,
            out_of_bounds: false,
        };
        for field in &self.fields {
            let start = *cursor;
            let count = match field.role {
                Role::Values => self.read_values(cursor, field, segment)?,
                Role::Indices(dimension) => {
                    self.read_indices(cursor, field, dimension, segment, batch_row, &mut entries)?
                }
            };
            let expected = *entries.count.get_or_insert(count);
            if count != expected {
                *cursor = start;
                return Err(different_lengths(expected, count));
            }
        }
        let mut dropped = 0;
        if entries.out_of_bounds {
            dropped = self.drop_out_of_bounds(segment, &entries);
        }
        if self.out_of_bounds == OutOfBounds::Drop {
            self.raise_extents(segment, &entries);
        }
        if self.layout == Layout::Ragged {
            segment.splits[0].push(segment.values.len() as i64);
        }
        Ok(dropped)
    }

    #[inline]
    fn read_values(
        &self,
        cursor: &mut Cursor<'_>,
        field: &SparseField,
        segment: &mut Segment,
    ) -> Result<usize, Fault> {
        for_leaf!(field.leaf, P => {
            let buffer = <P as Primitive>::Element::buffer_mut(&mut segment.values).expect(SLOTS);
            let mut sink = Append::<P>::new(buffer);
            field.level.array(cursor, |cursor, _, n| leaves(cursor, field.nullable, n, &mut sink))
        }, utf8 => {
            let Values::String(strings) = &mut segment.values else { panic!("{STRINGS}") };
            let mut sink = AppendStrings { strings, utf8 };
            field.level.array(cursor, |cursor, _, n| leaves(cursor, field.nullable, n, &mut sink))
        })
    }

    /// Indices stand between those of the other dimensions: `[row, i0, i1..]`.
    #[inline]
    fn read_indices(
        &self,
        cursor: &mut Cursor<'_>,
        field: &SparseField,
        dimension: usize,
        segment: &mut Segment,
        batch_row: usize,
        entries: &mut Entries,
    ) -> Result<usize, Fault> {
        let with_row = usize::from(self.layout == Layout::Coo);
        let stride = self.shape.len() + with_row;
        let column = dimension + with_row;
        let end = end_of(self.shape[dimension]);
        let mut extent = segment.extents[dimension];
        let allowed = self.out_of_bounds == OutOfBounds::Drop;
        let indices = &mut segment.indices;
        let count = field.level.array(cursor, |cursor, seen, n| {
            let rows = if entries.placed {
                let expected = entries.count.unwrap_or(0);
                if seen + n > expected {
                    return Err(different_lengths(expected, seen + n));
                }
                let start = entries.first_index + seen * stride;
                &mut indices.as_mut_slice()[start..start + n * stride]
            } else {
                indices.append(n * stride)
            };
            for row in rows.chunks_exact_mut(stride) {
                if let Some(nullable) = field.nullable {
                    nullable.expect_value(cursor)?;
                }
                let start = *cursor;
                let index = match field.leaf {
                    Leaf::Int => i64::from(cursor.int()?),
                    _ => cursor.long()?,
                };
                if index as u64 >= end {
                    if !allowed {
                        *cursor = start;
                        return Err(index_out_of_bounds(index, dimension, self.shape[dimension]));
                    }
                    entries.out_of_bounds = true;
                } else if !allowed {
                    extent = extent.max(index + 1);
                }
                if with_row == 1 {
                    row[0] = batch_row as i64;
                }
                row[column] = index;
            }
            Ok(())
        })?;
        segment.extents[dimension] = extent;
        entries.placed = true;
        Ok(count)
    }

    /// Counts the row's entries towards the extents, once it is known which of
    /// them stay.
    fn raise_extents(&self, segment: &mut Segment, entries: &Entries) {
        let with_row = usize::from(self.layout == Layout::Coo);
        let rows = &segment.indices.as_slice()[entries.first_index..];
        for row in rows.chunks_exact(self.shape.len() + with_row) {
            for (extent, index) in segment.extents.iter_mut().zip(&row[with_row..]) {
                *extent = (*extent).max(index + 1);
            }
        }
    }

    /// Removes the row's entries with an index outside its dimension.
    #[cold]
    fn drop_out_of_bounds(&self, segment: &mut Segment, entries: &Entries) -> usize {
        let with_row = usize::from(self.layout == Layout::Coo);
        let stride = self.shape.len() + with_row;
        let rows = &mut segment.indices.as_mut_slice()[entries.first_index..];
        let keep: Vec<bool> = rows
            .chunks_exact(stride)
            .map(|row| {
                let mut bounds = row[with_row..].iter().zip(&self.shape);
                bounds.all(|(&index, &size)| (index as u64) < end_of(size))
            })
            .collect();
        let mut kept = 0;
        for (i, _) in keep.iter().enumerate().filter(|(_, keep)| **keep) {
            rows.copy_within(i * stride..(i + 1) * stride, kept * stride);
            kept += 1;
        }
        segment.indices.set_len(entries.first_index + kept * stride);
        segment.values.retain_from(entries.first_value, &keep);
        keep.len() - kept
    }
}

/// The first index outside a dimension of `size`; negative ones are larger as
/// `u64`.
#[inline]
fn end_of(size: i64) -> u64 {
    match size {
        // The extent, an index + 1, must fit, too.
        UNKNOWN => i64::MAX as u64,
        size => size as u64,
    }
}

#[cold]
fn different_lengths(expected: usize, actual: usize) -> Fault {
    Box::new(DecodeErrorKind::SparseLengths { expected, actual })
}

#[cold]
fn index_out_of_bounds(index: i64, dimension: usize, size: i64) -> Fault {
    Box::new(DecodeErrorKind::IndexOutOfBounds {
        index,
        dimension,
        size,
    })
}
