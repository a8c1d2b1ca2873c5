//! Converts strings and numbers to ids, by hash or by vocabulary, without storing them.

use atds_features::Ids;

use super::Out;
use super::chunks::converted;
use super::out::integers;
use super::text::Text;
use super::time::Rescale;
use crate::plan::cursor::{Cursor, Fault};
use crate::plan::items::{Int, Long};

/// Reads strings as ids in the range of the dtype.
#[derive(Clone, Debug)]
pub(super) struct TextIds {
    pub(super) text: Text,
    pub(super) ids: Ids,
}

impl TextIds {
    pub(super) fn read(&self, cursor: &mut Cursor<'_>, out: Out<'_>) -> Result<(), Fault> {
        let TextIds { text, ids } = self;
        integers!(out, out: Integer => text.fill(cursor, out, |text| ids.of(text) as Integer))
    }
}

/// Reads numbers as ids in the range of the dtype.
#[derive(Clone, Debug)]
pub(super) struct NumberIds {
    /// Whether the data has type `long`; otherwise it has type `int`.
    pub(super) long: bool,
    /// Set for times whose unit differs from the column's.
    pub(super) rescale: Option<Rescale>,
    pub(super) ids: Ids,
}

impl NumberIds {
    pub(super) fn read(&self, cursor: &mut Cursor<'_>, out: Out<'_>) -> Result<(), Fault> {
        integers!(out, out: Integer => self.fill(cursor, out, |id| id as Integer))
    }

    fn fill<T>(
        &self,
        cursor: &mut Cursor<'_>,
        out: &mut [T],
        element: impl Fn(i64) -> T,
    ) -> Result<(), Fault> {
        let id = |number| element(self.ids.of_number(number));
        let rescaled = |rescale: Rescale, time| Ok(id(rescale.apply(time)?));
        match (self.long, self.rescale) {
            (true, None) => converted::<Long, T>(cursor, out, |number| Ok(id(number))),
            (false, None) => converted::<Int, T>(cursor, out, |number| Ok(id(number.into()))),
            (true, Some(rescale)) => {
                converted::<Long, T>(cursor, out, |time| rescaled(rescale, time))
            }
            (false, Some(rescale)) => {
                converted::<Int, T>(cursor, out, |time| rescaled(rescale, time.into()))
            }
        }
    }
}
