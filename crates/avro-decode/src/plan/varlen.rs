//! Varlen features: arrays of any length, as coordinates or ragged.

use tensor_batch::{Buffer, Element, Layout, MAX_RANK, Segment, Slot, Values};

use super::cursor::{Cursor, Fault};
use super::items::{Append, AppendStrings, Primitive, Sink};
use super::nested::{Leaf, Level, Nested, Nullable, for_leaf, leaves};
use super::{SLOTS, STRINGS};

/// A varlen feature; reads a primitive nested in rank arrays, counts indices
/// in document order.
#[derive(Clone, Debug)]
pub(crate) struct Varlen {
    pub(crate) nested: Nested,
    pub(crate) layout: Layout,
}

impl Varlen {
    #[inline]
    pub(crate) fn read(
        &self,
        cursor: &mut Cursor<'_>,
        slot: &mut Slot<'_>,
        batch_row: usize,
    ) -> Result<(), Fault> {
        let Segment {
            values,
            indices,
            splits,
            extents,
        } = slot.segment().expect(SLOTS);
        let shape = Shape {
            layout: self.layout,
            batch_row: batch_row as i64,
            indices,
            splits,
            extents,
        };
        for_leaf!(self.nested.leaf, P => {
            let buffer = <P as Primitive>::Element::buffer_mut(values).expect(SLOTS);
            self.walk(cursor, shape, &mut Append::<P>::new(buffer))
        }, utf8 => {
            let Values::String(strings) = values else { panic!("{STRINGS}") };
            self.walk(cursor, shape, &mut AppendStrings { strings, utf8 })
        })
    }

    #[inline]
    fn walk<S: Sink>(
        &self,
        cursor: &mut Cursor<'_>,
        shape: Shape<'_>,
        sink: &mut S,
    ) -> Result<(), Fault> {
        let (levels, nullable) = (&self.nested.levels, self.nested.nullable);
        match (shape.layout, &**levels) {
            (Layout::Ragged, _) => ragged(cursor, levels, nullable, shape.splits, sink),
            (Layout::Coo, [level]) => {
                let length = level.array(cursor, |cursor, seen, n| {
                    leaves(cursor, nullable, n, sink)?;
                    let rows = shape.indices.append(2 * n).as_chunks_mut::<2>().0;
                    for (i, row) in rows.iter_mut().enumerate() {
                        *row = [shape.batch_row, (seen + i) as i64];
                    }
                    Ok(())
                })?;
                shape.extents[0] = shape.extents[0].max(length as i64);
                Ok(())
            }
            (Layout::Coo, levels) => {
                let mut path = [0; MAX_RANK];
                path[0] = shape.batch_row;
                let mut coo = Coo {
                    path,
                    nullable,
                    indices: shape.indices,
                    extents: shape.extents,
                };
                coo.walk(cursor, levels, 1, sink)
            }
        }
    }
}

/// Where the places of values go.
struct Shape<'a> {
    layout: Layout,
    batch_row: i64,
    indices: &'a mut Buffer<i64>,
    splits: &'a mut [Buffer<i64>],
    extents: &'a mut [i64],
}

/// Reads one array of `levels[0]`, ending a list in `splits[0]`.
fn ragged<S: Sink>(
    cursor: &mut Cursor<'_>,
    levels: &[Level],
    nullable: Option<Nullable>,
    splits: &mut [Buffer<i64>],
    sink: &mut S,
) -> Result<(), Fault> {
    let ([level, inner @ ..], [ends, inner_splits @ ..]) = (levels, splits) else {
        panic!("{SLOTS}");
    };
    let length = level.array(cursor, |cursor, _, n| {
        if inner.is_empty() {
            leaves(cursor, nullable, n, sink)
        } else {
            (0..n).try_for_each(|_| ragged(cursor, inner, nullable, inner_splits, sink))
        }
    })?;
    let before = ends.as_slice().last().copied().unwrap_or(0);
    ends.push(before + length as i64);
    Ok(())
}

/// A walk through arrays of rank 2 and more.
struct Coo<'a> {
    /// The row, then the index in each level above the one being read.
    path: [i64; MAX_RANK],
    nullable: Option<Nullable>,
    indices: &'a mut Buffer<i64>,
    extents: &'a mut [i64],
}

impl Coo<'_> {
    /// Reads one array of `levels[0]`; `path[..depth]` leads to it.
    fn walk<S: Sink>(
        &mut self,
        cursor: &mut Cursor<'_>,
        levels: &[Level],
        depth: usize,
        sink: &mut S,
    ) -> Result<(), Fault> {
        let Some((level, inner)) = levels.split_first() else {
            panic!("{SLOTS}");
        };
        let length = level.array(cursor, |cursor, seen, n| {
            if !inner.is_empty() {
                return (seen..seen + n).try_for_each(|i| {
                    self.path[depth] = i as i64;
                    self.walk(cursor, inner, depth + 1, sink)
                });
            }
            leaves(cursor, self.nullable, n, sink)?;
            let rows = self.indices.append((depth + 1) * n);
            for (i, row) in rows.chunks_exact_mut(depth + 1).enumerate() {
                row[..depth].copy_from_slice(&self.path[..depth]);
                row[depth] = (seen + i) as i64;
            }
            Ok(())
        })?;
        // Only values count towards the extents, not empty lists.
        if inner.is_empty() && length > 0 {
            let outer = self.path[1..depth].iter().map(|i| i + 1);
            let ends = outer.chain([length as i64]);
            for (extent, end) in self.extents.iter_mut().zip(ends) {
                *extent = (*extent).max(end);
            }
        }
        Ok(())
    }
}
