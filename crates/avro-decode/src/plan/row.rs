//! Fast path for values of a dense row in the usual layout: a value after its branch number, or an
//! array in one block without a size in bytes.
//!
//! Comparing both ends of such an array replaces the loop over its blocks. For any other layout, or
//! invalid data, the general path reads the value from its start again.

use atds_features::path::Slice;

use super::SLOTS;
use super::cursor::Cursor;
use super::items::Primitive;
use super::leaf::{Leaf, for_leaf};
use super::output::{Length, Output, OutputLayout};
use super::program::{Items, Read};
use super::run::Run;
use super::sink::{most_data, strings_of};
use super::strings::read_strings;
use crate::convert::Source;
use crate::encode::write_long;

/// Neighbouring values of a dense row.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    /// The general path.
    pub(crate) read: Read,
    pub(crate) items: Option<Items>,
    column: usize,
    leaf: Leaf,
    /// Number of values in a row of the column.
    row_len: usize,
    /// Number of values to read.
    count: usize,
    /// The bytes before the values.
    header: Header,
}

/// The encoded branch number, or number of items in a block.
#[derive(Clone, Copy, Debug)]
struct Header {
    bytes: [u8; 2],
    len: u8,
}

impl Header {
    /// Encodes `number`; `None` if it takes too many bytes.
    fn new(number: i64) -> Option<Self> {
        let mut encoded = Vec::new();
        write_long(&mut encoded, number);
        let mut bytes = [0; 2];
        bytes.get_mut(..encoded.len())?.copy_from_slice(&encoded);
        let len = encoded.len() as u8;
        Some(Header { bytes, len })
    }

    /// Moves past the header, if the data has exactly these bytes; returns whether it does.
    #[inline]
    fn pass(self, cursor: &mut Cursor<'_>) -> bool {
        let here = match self.len {
            0 => true,
            1 => cursor.rest().first() == Some(&self.bytes[0]),
            _ => cursor.rest().first_chunk() == Some(&self.bytes),
        };
        if here {
            cursor.advance(self.len.into());
        }
        here
    }
}

impl Row {
    /// The fast path for `read`; `None` if it has none.
    pub(crate) fn new(read: &Read, items: Option<&Items>, outputs: &[Output]) -> Option<Self> {
        let output = &outputs[read.output];
        let (OutputLayout::Dense { strides }, Source::Plain(leaf), None) =
            (&output.layout, &read.source, output.mask)
        else {
            return None;
        };
        let (count, header) = match (items, read.nullable) {
            (None, None) => (
                1,
                Header {
                    bytes: [0; 2],
                    len: 0,
                },
            ),
            (None, Some(nullable)) => (1, Header::new(nullable.value)?),
            // A slice may leave out some items of an array of this length.
            (
                Some(Items {
                    slice: Some(slice), ..
                }),
                _,
            ) if slice.bounds != Slice::default() => {
                return None;
            }
            (Some(items), None) => match items.length {
                Length::Exactly(n) | Length::AtMost(n) if n > 0 => (n, Header::new(n as i64)?),
                _ => return None,
            },
            (Some(_), Some(_)) => return None,
        };
        Some(Row {
            read: read.clone(),
            items: items.cloned(),
            column: output.column,
            leaf: *leaf,
            row_len: strides[0],
            count,
            header,
        })
    }

    /// Moves past the end of the array, if it is there; returns whether it is.
    #[inline]
    fn ends(&self, cursor: &mut Cursor<'_>) -> bool {
        self.items.is_none() || cursor.ends_array()
    }
}

impl Run<'_, '_, '_> {
    /// Reads the values if they are in the usual layout; returns whether they were.
    #[inline]
    pub(super) fn row(&mut self, row: &Row, cursor: &mut Cursor<'_>) -> bool {
        let (room, prefetch) = (self.slots.room(), self.state.output_prefetch);
        let position = &mut self.state.positions[row.read.output];
        let start = self.slots.row() * row.row_len + *position;
        let slot = &mut self.slots.columns()[row.column];
        let begin = cursor.position();
        let is_read = row.header.pass(cursor)
            && for_leaf!(row.leaf, P => {
                let rows = slot.dense::<<P as Primitive>::Element>().expect(SLOTS);
                let values = &mut rows[start..start + row.count];
                prefetch.ask(values);
                P::read(cursor, values).is_ok() && row.ends(cursor)
            }, utf8 => {
                let strings = strings_of(&mut slot.segment().expect(SLOTS).values);
                let first = strings.len();
                let most = most_data(strings, room);
                let is_read = read_strings(cursor, strings, row.count, utf8.is_checked(), most)
                        && row.ends(cursor);
                if !is_read {
                    strings.truncate(first);
                }
                is_read
            });
        if is_read {
            let end = *position + row.count;
            // The end of a row is the start of the next.
            *position = if end == row.row_len { 0 } else { end };
            self.count_bytes(cursor.position() - begin);
        } else {
            cursor.go_to(begin);
        }
        is_read
    }
}
