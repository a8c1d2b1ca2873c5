//! Dense features: every array has the length its dimension says.

use tensor_batch::{Slot, Values};

use super::cursor::{Cursor, Fault};
use super::items::{AppendStrings, InPlace, Sink};
use super::nested::{Leaf, Level, Nested, Nullable, for_leaf, leaves};
use super::{SLOTS, STRINGS};

/// A dense feature; reads a primitive nested in rank arrays and writes its
/// values in row-major order.
#[derive(Clone, Debug)]
pub(crate) struct Dense {
    pub(crate) nested: Nested,
    /// Values of a row.
    pub(crate) row_len: usize,
}

impl Dense {
    #[inline]
    pub(crate) fn read(
        &self,
        cursor: &mut Cursor<'_>,
        slot: &mut Slot<'_>,
        row: usize,
    ) -> Result<(), Fault> {
        let Nested {
            levels,
            nullable,
            leaf,
        } = &self.nested;
        for_leaf!(leaf, P => {
            let rows = slot.dense::<<P as super::items::Primitive>::Element>().expect(SLOTS);
            let row = &mut rows[row * self.row_len..][..self.row_len];
            nest(cursor, levels, *nullable, &mut InPlace::<P>::new(row))
        }, utf8 => {
            let Values::String(strings) = &mut slot.segment().expect(SLOTS).values else {
                panic!("{STRINGS}")
            };
            nest(cursor, levels, *nullable, &mut AppendStrings { strings, utf8 })
        })
    }
}

#[inline]
fn nest<S: Sink>(
    cursor: &mut Cursor<'_>,
    levels: &[Level],
    nullable: Option<Nullable>,
    sink: &mut S,
) -> Result<(), Fault> {
    match levels {
        [] => leaves(cursor, nullable, 1, sink),
        [level] => level
            .array(cursor, |cursor, _, n| leaves(cursor, nullable, n, sink))
            .map(drop),
        [level, inner @ ..] => nest_deeper(cursor, level, inner, nullable, sink),
    }
}

/// Apart from [`nest`], so that recursion does not keep that from inlining.
fn nest_deeper<S: Sink>(
    cursor: &mut Cursor<'_>,
    level: &Level,
    inner: &[Level],
    nullable: Option<Nullable>,
    sink: &mut S,
) -> Result<(), Fault> {
    level
        .array(cursor, |cursor, _, n| {
            (0..n).try_for_each(|_| nest(cursor, inner, nullable, sink))
        })
        .map(drop)
}
