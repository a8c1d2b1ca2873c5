//! A sparse record of rank 1 as nearly every writer lays it out: both arrays in
//! one block that does not say its size. Whatever is laid out in another way,
//! or is at fault, is left to the general way, which starts over.

use tensor_batch::{Element, Layout, Segment};

use super::cursor::Cursor;
use super::items::Primitive;
use super::leaf::{Leaf, for_leaf};
use super::prefetch::OutputPrefetch;
use super::sparse::{Role, SparseRecord, end_of};
use super::{OutOfBounds, SLOTS};
use crate::convert::Source;
use crate::varints::Kernels;

/// What a sparse record of rank 1 is read as.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SparseRow {
    indices_first: bool,
    /// Whether an index is an `int`, else a `long`.
    is_int: bool,
    values: Leaf,
    /// The first index that is too large.
    end: u64,
    layout: Layout,
}

impl SparseRow {
    /// The row that `sparse` is, if it is one.
    pub(crate) fn new(sparse: &SparseRecord, has_mask: bool) -> Option<Self> {
        let [first, second] = &*sparse.fields else {
            return None;
        };
        let nullable = |field: &super::sparse::SparseField| {
            field.list_nullable.is_some() || field.nullable.is_some()
        };
        let is_plain = !has_mask
            && !nullable(first)
            && !nullable(second)
            && sparse.out_of_bounds == OutOfBounds::Error;
        let indices_first = first.role != Role::Values;
        let (indices, values) = if indices_first {
            (first, second)
        } else {
            (second, first)
        };
        let (Source::Plain(index), Source::Plain(value)) = (&indices.source, &values.source) else {
            return None;
        };
        let is_wide = matches!(value, Leaf::Bytes | Leaf::String | Leaf::ReplacedString);
        (is_plain && !is_wide).then_some(SparseRow {
            indices_first,
            is_int: *index == Leaf::Int,
            values: *value,
            end: end_of(sparse.shape[0]),
            layout: sparse.layout,
        })
    }

    /// Reads a row, if it is laid out as most are; whether it was. If not,
    /// `segment` is as it was before.
    #[inline]
    pub(crate) fn read(
        &self,
        cursor: &mut Cursor<'_>,
        segment: &mut Segment,
        batch_row: i64,
        prefetch: OutputPrefetch,
    ) -> bool {
        let (values, indices) = (segment.values.len(), segment.indices.len());
        let begin = cursor.position();
        let read = match self.indices_first {
            true => self
                .read_indices(cursor, segment, batch_row, prefetch)
                .filter(|(count, _)| self.read_values(cursor, segment, prefetch) == Some(*count)),
            false => self
                .read_values(cursor, segment, prefetch)
                .and_then(|count| {
                    self.read_indices(cursor, segment, batch_row, prefetch)
                        .filter(|(indices, _)| *indices == count)
                }),
        };
        let Some((_, extent)) = read else {
            segment.values.truncate(values);
            segment.indices.set_len(indices);
            cursor.go_to(begin);
            return false;
        };
        segment.extents[0] = extent;
        if self.layout == Layout::Ragged {
            segment.splits[0].push(segment.values.len() as i64);
        }
        true
    }

    /// Gives the number of indices, and the extent with them.
    #[inline]
    fn read_indices(
        &self,
        cursor: &mut Cursor<'_>,
        segment: &mut Segment,
        row: i64,
        prefetch: OutputPrefetch,
    ) -> Option<(usize, i64)> {
        let mut extent = segment.extents[0];
        let count = cursor.whole_array()?;
        if count == 0 {
            return Some((0, extent));
        }
        let (kernels, data, end) = (Kernels::fastest(), cursor.rest(), self.end);
        let len = match self.layout {
            Layout::Coo => {
                let places = segment.indices.append(2 * count).as_chunks_mut::<2>().0;
                prefetch.ask(places);
                if self.is_int {
                    kernels.coordinates::<true>(data, row, end, &mut extent, places)?
                } else {
                    kernels.coordinates::<false>(data, row, end, &mut extent, places)?
                }
            }
            Layout::Ragged => {
                let places = segment.indices.append(count);
                prefetch.ask(places);
                if self.is_int {
                    kernels.indices::<true>(data, end, &mut extent, places)?
                } else {
                    kernels.indices::<false>(data, end, &mut extent, places)?
                }
            }
            _ => unreachable!("every layout of this version is above"),
        };
        cursor.advance(len);
        cursor.ends_array().then_some((count, extent))
    }

    /// Gives the number of values.
    #[inline]
    fn read_values(
        &self,
        cursor: &mut Cursor<'_>,
        segment: &mut Segment,
        prefetch: OutputPrefetch,
    ) -> Option<usize> {
        let count = cursor.whole_array()?;
        if count == 0 {
            return Some(0);
        }
        for_leaf!(self.values, P => {
            let values = &mut segment.values;
            let buffer = <P as Primitive>::Element::buffer_mut(values).expect(SLOTS);
            let values = buffer.append(count);
            prefetch.ask(values);
            P::read(cursor, values).ok()?;
        }, _utf8 => return None);
        cursor.ends_array().then_some(count)
    }
}
