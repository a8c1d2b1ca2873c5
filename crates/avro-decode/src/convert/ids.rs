//! Strings and numbers as ids, by hash or by vocabulary, without storing them.

use std::io::Write;
use std::sync::Arc;

use super::chunks::converted;
use super::farmhash::fingerprint64;
use super::out::integers;
use super::text::Text;
use super::time::Rescale;
use super::{Out, Vocabulary};
use crate::plan::cursor::{Cursor, Fault};
use crate::plan::items::{Int, Long};

/// What gives strings their ids.
#[derive(Clone, Debug)]
pub(super) enum Ids {
    /// The fingerprint modulo this many, from 1 to `i64::MAX`.
    Hash(u64),
    /// The place of the word.
    Vocabulary(Arc<Vocabulary>),
}

impl Ids {
    /// The id of a string.
    #[inline]
    pub(super) fn of(&self, string: &[u8]) -> i64 {
        match self {
            // Below a number that an i64 holds.
            Ids::Hash(buckets) => (fingerprint64(string) % buckets) as i64,
            Ids::Vocabulary(vocabulary) => vocabulary.id(string),
        }
    }

    /// The id of a number's decimal text.
    fn of_number(&self, number: i64) -> i64 {
        /// `-9223372036854775808`
        const MAX_LEN: usize = 20;
        let mut text = [0; MAX_LEN];
        let mut rest = &mut text[..];
        write!(rest, "{number}").expect("no i64 has more characters");
        let len = MAX_LEN - rest.len();
        self.of(&text[..len])
    }
}

/// The ids of strings, in the range of the dtype.
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

/// The ids of numbers, in the range of the dtype.
#[derive(Clone, Debug)]
pub(super) struct NumberIds {
    /// Whether the data has `long`, else it has `int`.
    pub(super) long: bool,
    /// For times that are of another unit than the column's.
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
