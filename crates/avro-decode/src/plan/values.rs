//! Reads the values of a feature, one or an array of them, into the layout of its column.

use tensor_batch::{Buffer, Element, MAX_RANK, Segment, Slot, Values};

use super::blocks::each_block;
use super::cursor::{Cursor, Fault};
use super::item_slice::{ItemSlice, array_slice};
use super::leaf::{Leaf, Nullable, for_leaf, null};
use super::output::{Length, Output, OutputLayout};
use super::program::{Coding, Items, Read};
use super::run::Run;
use super::sink::{
    Append, AppendStrings, ConvertAppend, ConvertInPlace, InPlace, Mask, Sink, most_data,
    strings_of,
};
use super::skip::SkipTable;
use super::{SLOTS, items::Primitive};
use crate::DecodeErrorKind;
use crate::convert::Source;

impl<'x> Run<'x, '_, '_> {
    /// Reads a value, or an array of values, for a feature.
    #[inline]
    pub(super) fn read(
        &mut self,
        read: &'x Read,
        items: Option<&'x Items>,
        cursor: &mut Cursor<'x>,
    ) -> Result<(), Fault> {
        let output = &self.plan.outputs[read.output];
        if let OutputLayout::Dense { strides } = &output.layout {
            return self.read_dense(output, strides, read, items, cursor);
        }
        let (room, begin) = (self.slots.room(), cursor.position());
        let (values, mask) = columns(self.slots.columns(), output);
        let segment = values.segment().expect(SLOTS);
        let end = self.state.output_prefetch.end_of(segment);
        let mut mask = mask.map(|slot| slot.segment().expect(SLOTS));
        let skips = &self.plan.skips;
        let mut kernel = Kernel::new(read, items, skips, &mut self.state.truncated);
        kernel.room = room;
        let fill = output.fill.as_ref();
        let mask_values = Mask::of_segment(mask.as_deref_mut());
        let count = kernel.append(cursor, &mut segment.values, mask_values, fill)?;
        let list = (items.is_some() || read.source.width() > 1).then_some(count);
        match &output.layout {
            OutputLayout::Coo { by_values } => {
                let (row, mut path);
                let path = if read.registers.is_empty() {
                    row = [self.batch_row];
                    &row[..]
                } else {
                    path = [0; MAX_RANK + 1];
                    self.state.path(&mut path, self.batch_row, &read.registers)
                };
                let indices = (path.len() + 1).saturating_mul(size_of::<i64>());
                let indices = list.unwrap_or(0).saturating_mul(indices);
                if indices > room {
                    return Err(no_room(indices));
                }
                push_coordinates(&mut segment.indices, path, list);
                match list {
                    _ if *by_values => raise_to_values(&mut segment.extents, path, list),
                    Some(count) => raise(&mut segment.extents[path.len() - 1], count),
                    None => {}
                }
            }
            OutputLayout::Ragged => {
                if let Some(count) = list {
                    let depth = read.registers.len();
                    end_list(segment, depth, count);
                    if let Some(mask) = mask {
                        end_list(mask, depth, count);
                    }
                }
            }
            _ => {}
        }
        if let Some(end) = end {
            end.ask(segment);
        }
        self.count_bytes(cursor.position() - begin);
        self.count_items(count)
    }

    #[inline]
    fn read_dense(
        &mut self,
        output: &'x Output,
        strides: &[usize],
        read: &'x Read,
        items: Option<&'x Items>,
        cursor: &mut Cursor<'x>,
    ) -> Result<(), Fault> {
        let row_len = strides[0];
        let position = self.state.positions[read.output];
        let start = self.slots.row() * row_len;
        let (here, end) = (start + position, start + row_len);
        let (room, begin) = (self.slots.room(), cursor.position());
        let (values, mask) = columns(self.slots.columns(), output);
        let mask = Mask::of_row(mask, here, end);
        let skips = &self.plan.skips;
        let mut kernel = Kernel::new(read, items, skips, &mut self.state.truncated);
        kernel.room = room;
        let fill = output.fill.as_ref();
        let done = match &read.source {
            Source::Plain(leaf) => for_leaf!(leaf, P => {
                let fill = fill.and_then(<P as Primitive>::Element::buffer);
                let fill = fill.map(|fill| fill.as_slice());
                let rows = values.dense::<<P as Primitive>::Element>().expect(SLOTS);
                let mut sink = InPlace::<P>::new(&mut rows[here..end], fill, mask);
                kernel.run_dense(cursor, &mut sink)?;
                row_len - sink.left()
            }, utf8 => {
                let fill = fill.and_then(|fill| fill.as_strings());
                let strings = strings_of(&mut values.segment().expect(SLOTS).values);
                let mut sink = AppendStrings { most: most_data(strings, room), strings, utf8, fill, position, mask };
                kernel.run_dense(cursor, &mut sink)?;
                sink.position
            }),
            Source::Other(conversion) => match values {
                Slot::Segment(segment) => {
                    let values = &mut segment.values;
                    let mut sink = ConvertAppend {
                        room,
                        values,
                        conversion,
                        fill,
                        position,
                        mask,
                    };
                    kernel.run_dense(cursor, &mut sink)?;
                    sink.position
                }
                slot => {
                    let next = here;
                    let mut sink = ConvertInPlace {
                        slot,
                        next,
                        position,
                        conversion,
                        fill,
                        mask,
                    };
                    kernel.run_dense(cursor, &mut sink)?;
                    sink.position
                }
            },
        };
        let column = &self.slots.columns()[output.column];
        self.state
            .output_prefetch
            .ask_slot(column, here..start + done);
        self.count_bytes(cursor.position() - begin);
        // The end of a row is the start of the next.
        self.state.positions[read.output] = if done == row_len { 0 } else { done };
        Ok(())
    }
}

/// The slots of a feature's values and mask.
pub(super) fn columns<'c, 's>(
    columns: &'c mut [Slot<'s>],
    output: &Output,
) -> (&'c mut Slot<'s>, Option<&'c mut Slot<'s>>) {
    match output.mask {
        None => (&mut columns[output.column], None),
        Some(mask) => {
            let both = columns.get_disjoint_mut([output.column, mask]);
            let [values, mask] = both.expect("columns of one feature are different");
            (values, Some(mask))
        }
    }
}

/// Appends the coordinates of a value at `path`, or of each value of a list there.
#[inline]
pub(super) fn push_coordinates(indices: &mut Buffer<i64>, path: &[i64], list: Option<usize>) {
    match (path, list) {
        (path, None) => indices.extend_from_slice(path),
        (&[row], Some(count)) => {
            let rows = indices.append(2 * count).as_chunks_mut::<2>().0;
            for (i, at) in rows.iter_mut().enumerate() {
                *at = [row, i as i64];
            }
        }
        (path, Some(count)) => {
            let depth = path.len();
            let rows = indices.append((depth + 1) * count);
            for (i, at) in rows.chunks_exact_mut(depth + 1).enumerate() {
                at[..depth].copy_from_slice(path);
                at[depth] = i as i64;
            }
        }
    }
}

/// Raises the extents to the indices + 1 of the appended values. An empty list raises none.
#[inline]
pub(super) fn raise_to_values(extents: &mut [i64], path: &[i64], list: Option<usize>) {
    if list != Some(0) {
        let ends = path[1..].iter().map(|index| index + 1);
        let ends = ends.chain(list.map(|count| count as i64));
        for (extent, end) in extents.iter_mut().zip(ends) {
            *extent = (*extent).max(end);
        }
    }
}

/// Raises an extent to at least `length`.
#[inline]
pub(super) fn raise(extent: &mut i64, length: usize) {
    *extent = (*extent).max(length as i64);
}

/// Ends a list of `count` items of dimension `depth`. The mask of ragged values is a segment
/// without lists.
#[inline]
pub(super) fn end_list(segment: &mut Segment, depth: usize, count: usize) {
    if let Some(ends) = segment.splits.get_mut(depth) {
        let before = ends.as_slice().last().copied().unwrap_or(0);
        ends.push(before + count as i64);
        raise(&mut segment.extents[depth], count);
    }
}

/// Reads a value, or an array of them.
pub(super) struct Kernel<'x> {
    pub(super) source: &'x Source,
    /// The union around each value.
    pub(super) nullable: Option<Nullable>,
    /// The array, if it is an array of values.
    pub(super) items: Option<&'x Items>,
    /// The state for reading a slice of the array.
    pub(super) slice: Option<SliceKernel<'x>>,
    /// The most bytes of the values.
    pub(super) room: usize,
}

/// Reads a slice of an array.
pub(super) struct SliceKernel<'x> {
    slice: &'x ItemSlice,
    skips: &'x SkipTable,
    /// Number of lists that were cut.
    truncated: &'x mut u64,
}

impl<'x> Kernel<'x> {
    #[inline]
    fn new(
        read: &'x Read,
        items: Option<&'x Items>,
        skips: &'x SkipTable,
        truncated: &'x mut u64,
    ) -> Self {
        let (source, nullable) = (&read.source, read.nullable);
        let slice = items.and_then(|items| items.slice.as_deref());
        Kernel {
            source,
            nullable,
            items,
            slice: slice.map(|slice| SliceKernel {
                slice,
                skips,
                truncated,
            }),
            room: usize::MAX,
        }
    }

    /// Appends to `values`. Returns the number of elements in the innermost list.
    #[inline]
    pub(super) fn append(
        &mut self,
        cursor: &mut Cursor<'_>,
        values: &mut Values,
        mask: Mask<'_>,
        fill: Option<&Values>,
    ) -> Result<usize, Fault> {
        let position = 0;
        match self.source {
            Source::Plain(leaf) => for_leaf!(leaf, P => {
                let fill = fill.and_then(<P as Primitive>::Element::buffer);
                let fill = fill.map(|fill| fill.as_slice());
                let buffer = <P as Primitive>::Element::buffer_mut(values).expect(SLOTS);
                self.run(cursor, &mut Append::<P>::new(buffer, fill, mask))
            }, utf8 => {
                let fill = fill.and_then(|fill| fill.as_strings());
                let strings = strings_of(values);
                let most = most_data(strings, self.room);
                self.run(cursor, &mut AppendStrings { most, strings, utf8, fill, position, mask })
            }),
            Source::Other(conversion) => {
                let mut sink = ConvertAppend {
                    room: self.room,
                    values,
                    conversion,
                    fill,
                    position,
                    mask,
                };
                self.run(cursor, &mut sink)
            }
        }
    }

    #[inline]
    fn run<S: Sink>(&mut self, cursor: &mut Cursor<'_>, sink: &mut S) -> Result<usize, Fault> {
        let (nullable, width) = (self.nullable, self.source.width());
        let room = self.room;
        match (self.items, &mut self.slice) {
            (None, _) => {
                leaves(cursor, nullable, 1, width, sink)?;
                Ok(width)
            }
            (Some(items), slice) if items.coding != Coding::Blocks => {
                octets(cursor, items, slice.as_mut(), room, sink)
            }
            (Some(items), Some(kernel)) => {
                let mut seen = 0;
                let read = array_slice(cursor, items, kernel.slice, kernel.skips, |cursor, n| {
                    seen += n;
                    check_room(sink, seen, room)?;
                    leaves(cursor, nullable, n, width, sink)
                })?;
                *kernel.truncated += u64::from(read.is_cut);
                Ok(read.count)
            }
            (Some(items), None) => {
                array(cursor, items.min_item, items.length, |cursor, seen, n| {
                    check_room(sink, seen + n, room)?;
                    leaves(cursor, nullable, n, width, sink)
                })
            }
        }
    }

    /// As [`run`](Kernel::run), and fills the missing elements of an array that is too short.
    #[inline]
    fn run_dense<S: Sink>(&mut self, cursor: &mut Cursor<'_>, sink: &mut S) -> Result<(), Fault> {
        let count = self.run(cursor, sink)?;
        if let Some(&Items {
            length: Length::AtMost(length),
            ..
        }) = self.items
            && count < length
        {
            sink.fill(length - count);
        }
        Ok(())
    }
}

/// Reads bytes as a list of values. Returns the list's length.
fn octets<S: Sink>(
    cursor: &mut Cursor<'_>,
    items: &Items,
    slice: Option<&mut SliceKernel<'_>>,
    room: usize,
    sink: &mut S,
) -> Result<usize, Fault> {
    let start = *cursor;
    let there = match items.coding {
        Coding::Fixed(size) => size,
        _ => cursor.length()?,
    };
    let most = slice
        .as_ref()
        .map_or(usize::MAX, |kernel| kernel.slice.most);
    let count = there.min(most);
    let fits = match items.length {
        Length::Any => true,
        Length::Exactly(length) => count == length,
        Length::AtMost(length) => count <= length,
    };
    if !fits {
        *cursor = start;
        return Err(wrong_length(items.length.most(), there));
    }
    // The bytes are known to exist before anything is allocated for them.
    let mut end = *cursor;
    if let Err(fault) = end.bytes(there) {
        *cursor = start;
        return Err(fault);
    }
    check_room(sink, count, room)?;
    sink.take(cursor, count)?;
    *cursor = end;
    if let Some(kernel) = slice
        && count < there
    {
        *kernel.truncated += 1;
    }
    Ok(count)
}

/// An error if `n` values take more than `room` bytes: before memory is made for them.
#[inline]
fn check_room<S: Sink>(sink: &S, n: usize, room: usize) -> Result<(), Fault> {
    let needed = n.saturating_mul(sink.value_bytes());
    match needed > room {
        true => Err(no_room(needed)),
        false => Ok(()),
    }
}

/// A value needs `needed` bytes that are not there.
#[cold]
pub(super) fn no_room(needed: usize) -> Fault {
    Box::new(DecodeErrorKind::NoRoom { needed })
}

/// Reads `n` values.
#[inline]
fn leaves<S: Sink>(
    cursor: &mut Cursor<'_>,
    nullable: Option<Nullable>,
    n: usize,
    width: usize,
    sink: &mut S,
) -> Result<(), Fault> {
    let Some(nullable) = nullable else {
        return sink.take(cursor, n);
    };
    for _ in 0..n {
        let start = *cursor;
        if nullable.is_value(cursor)? {
            sink.take(cursor, 1)?;
        } else if sink.fills() {
            sink.fill(width);
            if !sink.has_room() {
                return Err(no_room(0));
            }
        } else {
            *cursor = start;
            return Err(null());
        }
    }
    Ok(())
}

/// Reads an array. For each block, `items` gets the number of items before the block and the number
/// in it. Returns the array's length.
#[inline]
pub(super) fn array(
    cursor: &mut Cursor<'_>,
    min_item: usize,
    length: Length,
    mut items: impl FnMut(&mut Cursor<'_>, usize, usize) -> Result<(), Fault>,
) -> Result<usize, Fault> {
    let start = *cursor;
    let most = length.most();
    let mut seen = 0;
    let mut too_long = false;
    let read = each_block(cursor, min_item, |cursor, n| {
        // An array that is too long is an error before the first surplus value is read.
        too_long = n > most - seen;
        if too_long {
            return Err(wrong_length(most, seen + n));
        }
        items(cursor, seen, n)?;
        seen += n;
        Ok(())
    });
    if too_long {
        *cursor = start;
    }
    read?;
    match length {
        Length::Exactly(length) if length != seen => {
            *cursor = start;
            Err(wrong_length(length, seen))
        }
        _ => Ok(seen),
    }
}

#[cold]
pub(super) fn wrong_length(expected: usize, at_least: usize) -> Fault {
    let actual = at_least;
    Box::new(DecodeErrorKind::ArrayLength { expected, actual })
}
