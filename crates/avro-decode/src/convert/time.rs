//! Dates, times and timestamps in a chosen unit.

use atds_features::TimeUnit;
use tensor_batch::{Element, fixed_width_dtypes};

use super::Out;
use super::chunks::converted;
use super::numbers::Cast;
use crate::DecodeErrorKind;
use crate::plan::cursor::{Cursor, Fault};
use crate::plan::items::{Int, Long};

/// Converts times from one unit to another in two steps. The first goes from the unit of the data
/// to the unit of the reader's type, which is no coarser. The second goes to the unit of the
/// column. A time beyond int64 is an error at either step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rescale {
    data: TimeUnit,
    reader: TimeUnit,
    column: TimeUnit,
    /// The factor by which times are multiplied, and the divisor that follows, which rounds down.
    up: i64,
    down: i64,
}

impl Rescale {
    /// The change from the unit of the data to that of the reader, and to that of the column.
    ///
    /// # Panics
    /// If the reader's unit is coarser than that of the data: Avro's schema
    /// resolution refuses that.
    pub(crate) fn new(data: TimeUnit, reader: TimeUnit, column: TimeUnit) -> Rescale {
        assert!(Self::is_exact(data, reader), "the reader's unit is finer");
        let up = data.nanos() / reader.nanos();
        // Each unit is a whole number of any finer one.
        let (up, down) = match reader.nanos() / column.nanos() {
            0 => (up, column.nanos() / reader.nanos()),
            factor => (up * factor, 1),
        };
        Rescale {
            data,
            reader,
            column,
            up,
            down,
        }
    }

    /// Whether each time in the unit `from` is a whole number of `to` units.
    pub(crate) fn is_exact(from: TimeUnit, to: TimeUnit) -> bool {
        from.nanos() >= to.nanos()
    }

    /// Whether every time keeps its number.
    pub(crate) fn is_nothing(self) -> bool {
        self.up == 1 && self.down == 1
    }

    /// The time in the unit of the column.
    #[inline]
    pub(crate) fn apply(self, time: i64) -> Result<i64, Fault> {
        Ok(self.multiply(time)?.div_euclid(self.down))
    }

    #[inline]
    fn multiply(self, time: i64) -> Result<i64, Fault> {
        time.checked_mul(self.up).ok_or_else(|| self.overflow(time))
    }

    #[cold]
    fn overflow(self, value: i64) -> Fault {
        let Rescale {
            data,
            reader,
            column,
            ..
        } = self;
        let read = value.checked_mul(data.nanos() / reader.nanos());
        let (value, from, to) = match read {
            None => (value, data, reader),
            Some(read) => (read, reader, column),
        };
        Box::new(DecodeErrorKind::TimeOverflow { value, from, to })
    }
}

/// Reads times in the unit of a column, cast to its dtype.
#[derive(Clone, Copy, Debug)]
pub(super) struct Time {
    /// Whether the data has type `long`; otherwise it has type `int`.
    pub(super) long: bool,
    pub(super) rescale: Rescale,
}

impl Time {
    pub(super) fn read(self, cursor: &mut Cursor<'_>, out: Out<'_>) -> Result<(), Fault> {
        let rescale = self.rescale;
        macro_rules! read {
            ($($variant:ident: $element:ty, $raw:ty, $class:ident, $name:literal, $about:literal;)*) => {
                match out {
                    Out::Int64(out) if rescale.down == 1 => {
                        self.fill(cursor, out, |time| rescale.multiply(time))
                    }
                    Out::Int64(out) if rescale.up == 1 => {
                        self.fill(cursor, out, |time| Ok(time.div_euclid(rescale.down)))
                    }
                    $(Out::$variant(out) => self.cast::<$element>(cursor, out),)*
                }
            };
        }
        fixed_width_dtypes!(read)
    }

    fn cast<E: Element>(self, cursor: &mut Cursor<'_>, out: &mut [E::Raw]) -> Result<(), Fault>
    where
        i64: Cast<E>,
    {
        self.fill(cursor, out, |time| self.rescale.apply(time)?.cast())
    }

    fn fill<T>(
        self,
        cursor: &mut Cursor<'_>,
        out: &mut [T],
        convert: impl Fn(i64) -> Result<T, Fault>,
    ) -> Result<(), Fault> {
        if self.long {
            converted::<Long, _>(cursor, out, convert)
        } else {
            converted::<Int, _>(cursor, out, |time| convert(time.into()))
        }
    }
}
