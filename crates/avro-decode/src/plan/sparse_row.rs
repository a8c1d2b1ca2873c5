//! Fast path for a sparse record of rank 1 in the usual layout: both arrays in one block without a
//! size in bytes. For any other layout, or invalid data, the general path reads the record from its
//! start again.

use tensor_batch::{Element, Layout, Segment};

use super::cursor::Cursor;
use super::items::Primitive;
use super::leaf::{Leaf, for_leaf};
use super::prefetch::OutputPrefetch;
use super::sparse::{Role, SparseRecord, end_of};
use super::{OutOfBounds, SLOTS};
use crate::convert::Source;
use crate::varints::Kernels;

/// The fast path of a sparse record of rank 1.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SparseRow {
    indices_first: bool,
    /// Whether an index is an `int`; otherwise it is a `long`.
    is_int: bool,
    values: Leaf,
    /// The smallest index that is out of bounds.
    end: u64,
    layout: Layout,
}

impl SparseRow {
    /// The fast path for `sparse`; `None` if it has none.
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

    /// Reads a row if it is in the usual layout; returns whether it was. If not, `segment` is
    /// unchanged.
    #[inline]
    pub(crate) fn read(
        &self,
        cursor: &mut Cursor<'_>,
        segment: &mut Segment,
        (batch_row, room): (i64, usize),
        prefetch: OutputPrefetch,
    ) -> bool {
        let (values, indices) = (segment.values.len(), segment.indices.len());
        let begin = cursor.position();
        let read = if self.indices_first {
            self.read_indices(cursor, segment, (batch_row, room), prefetch)
                .filter(|(count, _)| {
                    self.read_values(cursor, segment, room, prefetch) == Some(*count)
                })
        } else {
            self.read_values(cursor, segment, room, prefetch)
                .and_then(|count| {
                    self.read_indices(cursor, segment, (batch_row, room), prefetch)
                        .filter(|(indices, _)| *indices == count)
                })
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

    /// Reads the indices. Returns their number, and the extent that includes them.
    #[inline]
    fn read_indices(
        &self,
        cursor: &mut Cursor<'_>,
        segment: &mut Segment,
        (row, room): (i64, usize),
        prefetch: OutputPrefetch,
    ) -> Option<(usize, i64)> {
        let mut extent = segment.extents[0];
        let count = cursor.whole_array()?;
        if count == 0 {
            return Some((0, extent));
        }
        if count.saturating_mul(2 * size_of::<i64>()) > room {
            // The general path finds whether there is memory.
            return None;
        }
        let (kernels, data, end) = (Kernels::fastest(), cursor.rest(), self.end);
        let len = match self.layout {
            Layout::Coo => {
                let target = segment.indices.append(2 * count).as_chunks_mut::<2>().0;
                prefetch.ask(target);
                if self.is_int {
                    kernels.coordinates::<true>(data, row, end, &mut extent, target)?
                } else {
                    kernels.coordinates::<false>(data, row, end, &mut extent, target)?
                }
            }
            Layout::Ragged => {
                let target = segment.indices.append(count);
                prefetch.ask(target);
                if self.is_int {
                    kernels.indices::<true>(data, end, &mut extent, target)?
                } else {
                    kernels.indices::<false>(data, end, &mut extent, target)?
                }
            }
            _ => unreachable!("every layout of this version is above"),
        };
        cursor.advance(len);
        cursor.ends_array().then_some((count, extent))
    }

    /// Reads the values and returns their number.
    #[inline]
    fn read_values(
        &self,
        cursor: &mut Cursor<'_>,
        segment: &mut Segment,
        room: usize,
        prefetch: OutputPrefetch,
    ) -> Option<usize> {
        let count = cursor.whole_array()?;
        if count == 0 {
            return Some(0);
        }
        if count.saturating_mul(size_of::<i64>()) > room {
            return None;
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
