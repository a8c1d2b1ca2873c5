//! Sinks: they receive the values of a feature.

use std::marker::PhantomData;

use tensor_batch::{Buffer, Segment, Slot, Strings, Values};

use super::cursor::{Cursor, Fault};
use super::items::{Primitive, RawOf};
use super::strings::read_strings;
use super::values::no_room;
use super::{SLOTS, STRINGS};
use crate::DecodeErrorKind;
use crate::convert::{Conversion, Out};
use crate::utf8::{self, Utf8};

/// A receiver of runs of values.
pub(crate) trait Sink {
    /// Reads the next `n` values. `n` is at most the number of remaining bytes.
    fn take(&mut self, cursor: &mut Cursor<'_>, n: usize) -> Result<(), Fault>;

    /// Bytes that a value takes at least in memory that is made for it.
    #[inline]
    fn value_bytes(&self) -> usize {
        0
    }

    /// Whether strings have taken no more memory than they may.
    #[inline]
    fn has_room(&self) -> bool {
        true
    }

    /// Whether missing values can be filled.
    fn fills(&self) -> bool;

    /// Fills the next `n` elements, which are missing.
    fn fill(&mut self, n: usize);
}

/// The mask of a sink's elements.
pub(crate) enum Mask<'a> {
    None,
    /// The rest of a row.
    InPlace(&'a mut [u8]),
    /// The end of a segment.
    Append(&'a mut Buffer<u8>),
}

impl<'a> Mask<'a> {
    /// The mask of a dense row from `start` to `end`.
    pub(crate) fn of_row(slot: Option<&'a mut Slot<'_>>, start: usize, end: usize) -> Self {
        match slot {
            None => Mask::None,
            Some(Slot::Bool(rows)) => Mask::InPlace(&mut rows[start..end]),
            Some(_) => panic!("{SLOTS}"),
        }
    }

    /// The mask of values that are appended to a segment.
    pub(crate) fn of_segment(segment: Option<&'a mut Segment>) -> Self {
        match segment.map(|segment| &mut segment.values) {
            None => Mask::None,
            Some(Values::Bool(mask)) => Mask::Append(mask),
            Some(_) => panic!("{SLOTS}"),
        }
    }

    /// Marks the next `n` elements.
    #[inline]
    fn put(&mut self, n: usize, present: bool) {
        match self {
            Mask::None => {}
            Mask::InPlace(rest) => {
                let (now, later) = std::mem::take(rest).split_at_mut(n);
                now.fill(present.into());
                *rest = later;
            }
            Mask::Append(mask) => mask.append(n).fill(present.into()),
        }
    }
}

/// The rest of a row of a dense column, written in place.
pub(crate) struct InPlace<'a, P: Primitive> {
    rest: &'a mut [RawOf<P>],
    fill: Option<&'a [RawOf<P>]>,
    mask: Mask<'a>,
}

impl<'a, P: Primitive> InPlace<'a, P> {
    pub(crate) fn new(
        rest: &'a mut [RawOf<P>],
        fill: Option<&'a [RawOf<P>]>,
        mask: Mask<'a>,
    ) -> Self {
        InPlace { rest, fill, mask }
    }

    /// Number of values that the row still needs.
    pub(crate) fn left(&self) -> usize {
        self.rest.len()
    }

    #[inline]
    fn next(&mut self, n: usize) -> &'a mut [RawOf<P>] {
        // Every length was checked against the shape before.
        let (now, later) = std::mem::take(&mut self.rest).split_at_mut(n);
        self.rest = later;
        now
    }
}

impl<P: Primitive> Sink for InPlace<'_, P> {
    #[inline]
    fn take(&mut self, cursor: &mut Cursor<'_>, n: usize) -> Result<(), Fault> {
        self.mask.put(n, true);
        P::read(cursor, self.next(n))
    }

    #[inline]
    fn fills(&self) -> bool {
        self.fill.is_some()
    }

    fn fill(&mut self, n: usize) {
        self.mask.put(n, false);
        let left = self.left();
        match self.fill {
            Some([value]) => self.next(n).fill(*value),
            Some(row) => {
                let start = row.len() - left;
                self.next(n).copy_from_slice(&row[start..start + n]);
            }
            None => {}
        }
    }
}

/// Appends to a segment's values.
pub(crate) struct Append<'a, P: Primitive> {
    buffer: &'a mut Buffer<RawOf<P>>,
    fill: Option<RawOf<P>>,
    mask: Mask<'a>,
    primitive: PhantomData<P>,
}

impl<'a, P: Primitive> Append<'a, P> {
    pub(crate) fn new(
        buffer: &'a mut Buffer<RawOf<P>>,
        fill: Option<&[RawOf<P>]>,
        mask: Mask<'a>,
    ) -> Self {
        Append {
            buffer,
            fill: fill.and_then(|fill| fill.first().copied()),
            mask,
            primitive: PhantomData,
        }
    }
}

impl<P: Primitive> Sink for Append<'_, P> {
    #[inline]
    fn take(&mut self, cursor: &mut Cursor<'_>, n: usize) -> Result<(), Fault> {
        self.mask.put(n, true);
        P::read(cursor, self.buffer.append(n))
    }

    #[inline]
    fn value_bytes(&self) -> usize {
        size_of::<RawOf<P>>()
    }

    #[inline]
    fn fills(&self) -> bool {
        self.fill.is_some()
    }

    fn fill(&mut self, n: usize) {
        self.mask.put(n, false);
        if let Some(value) = self.fill {
            self.buffer.append(n).fill(value);
        }
    }
}

/// Appends to a segment's strings. `bytes` and `string` differ only in the check for UTF-8.
pub(crate) struct AppendStrings<'a> {
    pub(crate) strings: &'a mut Strings,
    /// The most bytes that the strings may have.
    pub(crate) most: usize,
    pub(crate) utf8: Utf8,
    pub(crate) fill: Option<&'a Strings>,
    /// The index in the row, for a fill with one value per element.
    pub(crate) position: usize,
    pub(crate) mask: Mask<'a>,
}

impl Sink for AppendStrings<'_> {
    #[inline]
    fn value_bytes(&self) -> usize {
        // The end of the string.
        size_of::<i64>()
    }

    #[inline]
    fn take(&mut self, cursor: &mut Cursor<'_>, n: usize) -> Result<(), Fault> {
        self.mask.put(n, true);
        self.position += n;
        let (start, first) = (*cursor, self.strings.len());
        if read_strings(cursor, self.strings, n, self.utf8.is_checked(), self.most) {
            return Ok(());
        }
        // Reread the strings to find the first that is invalid, or for which there is no room.
        *cursor = start;
        self.strings.truncate(first);
        for _ in 0..n {
            let start = *cursor;
            let length = cursor.length()?;
            let string = cursor.bytes(length)?;
            if self.strings.data().len() + length > self.most {
                return Err(no_room(length));
            }
            match self.utf8 {
                Utf8::Checked if !utf8::is_utf8(string) => {
                    *cursor = start;
                    return Err(invalid_utf8());
                }
                Utf8::Replaced if !utf8::is_utf8(string) => {
                    self.strings.push(utf8::replace(string).as_bytes());
                }
                _ => self.strings.push(string),
            }
        }
        Ok(())
    }

    #[inline]
    fn has_room(&self) -> bool {
        self.strings.data().len() <= self.most
    }

    #[inline]
    fn fills(&self) -> bool {
        self.fill.is_some()
    }

    fn fill(&mut self, n: usize) {
        self.mask.put(n, false);
        if let Some(fill) = self.fill {
            for position in self.position..self.position + n {
                let position = if fill.len() == 1 { 0 } else { position };
                self.strings.push(fill.get(position).unwrap_or_default());
            }
        }
        self.position += n;
    }
}

#[cold]
fn invalid_utf8() -> Fault {
    Box::new(DecodeErrorKind::InvalidUtf8)
}

/// The rest of a row of a dense column, for converted values.
pub(crate) struct ConvertInPlace<'a, 's> {
    pub(crate) slot: &'a mut Slot<'s>,
    /// Index in the slot of the next element.
    pub(crate) next: usize,
    /// Index in the row of the next element.
    pub(crate) position: usize,
    pub(crate) conversion: &'a Conversion,
    pub(crate) fill: Option<&'a Values>,
    pub(crate) mask: Mask<'a>,
}

impl ConvertInPlace<'_, '_> {
    fn next(&mut self, n: usize) -> std::ops::Range<usize> {
        let start = self.next;
        self.next += n;
        self.position += n;
        start..start + n
    }
}

impl Sink for ConvertInPlace<'_, '_> {
    fn take(&mut self, cursor: &mut Cursor<'_>, n: usize) -> Result<(), Fault> {
        let n = n * self.conversion.width();
        self.mask.put(n, true);
        let range = self.next(n);
        self.conversion.read(cursor, Out::of_slot(self.slot, range))
    }

    fn fills(&self) -> bool {
        self.fill.is_some()
    }

    fn fill(&mut self, n: usize) {
        self.mask.put(n, false);
        let position = self.position;
        let range = self.next(n);
        if let Some(fill) = self.fill {
            Out::of_slot(self.slot, range).fill(fill, position);
        }
    }
}

/// Appends to a segment's values, converted.
pub(crate) struct ConvertAppend<'a> {
    pub(crate) values: &'a mut Values,
    /// The most bytes that each call may append to strings.
    pub(crate) room: usize,
    pub(crate) conversion: &'a Conversion,
    pub(crate) fill: Option<&'a Values>,
    /// The index in the row, for a fill with one value per element.
    pub(crate) position: usize,
    pub(crate) mask: Mask<'a>,
}

impl Sink for ConvertAppend<'_> {
    #[inline]
    fn value_bytes(&self) -> usize {
        let size = self.values.dtype().size().unwrap_or(size_of::<i64>());
        size * self.conversion.width()
    }

    fn take(&mut self, cursor: &mut Cursor<'_>, n: usize) -> Result<(), Fault> {
        let elements = n * self.conversion.width();
        self.mask.put(elements, true);
        self.position += elements;
        match &mut *self.values {
            Values::String(strings) => {
                let most = most_data(strings, self.room);
                self.conversion.read_strings(cursor, n, (strings, most))
            }
            values => self.conversion.read(cursor, Out::append(values, elements)),
        }
    }

    fn fills(&self) -> bool {
        self.fill.is_some()
    }

    fn fill(&mut self, n: usize) {
        self.mask.put(n, false);
        if let Some(fill) = self.fill {
            for position in self.position..self.position + n {
                let position = if fill.len() == 1 { 0 } else { position };
                self.values.push_from(fill, position);
            }
        }
        self.position += n;
    }
}

/// The most bytes of strings to which `room` bytes are appended.
#[inline]
pub(crate) fn most_data(strings: &Strings, room: usize) -> usize {
    strings.data().len().saturating_add(room)
}

/// The strings of string values.
pub(crate) fn strings_of(values: &mut Values) -> &mut Strings {
    match values {
        Values::String(strings) => strings,
        _ => panic!("{STRINGS}"),
    }
}
