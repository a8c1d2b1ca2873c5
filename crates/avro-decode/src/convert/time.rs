//! Dates, times and timestamps in a chosen unit.

use std::fmt;

use super::chunks::converted;
use super::{Out, other_dtype};
use crate::DecodeErrorKind;
use crate::plan::cursor::{Cursor, Fault};
use crate::plan::items::{Int, Long};
use crate::schema::LogicalType;

/// A unit of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TimeUnit {
    /// 24 hours.
    Days,
    /// 60 minutes.
    Hours,
    /// 60 seconds.
    Minutes,
    /// Seconds.
    Seconds,
    /// Thousandths of a second.
    Millis,
    /// Millionths of a second.
    Micros,
    /// Thousand-millionths of a second.
    Nanos,
}

impl TimeUnit {
    /// Every unit, the coarsest first.
    pub const ALL: [TimeUnit; 7] = [
        TimeUnit::Days,
        TimeUnit::Hours,
        TimeUnit::Minutes,
        TimeUnit::Seconds,
        TimeUnit::Millis,
        TimeUnit::Micros,
        TimeUnit::Nanos,
    ];

    /// The name: `days`, `hours`, `minutes`, `seconds`, `millis`, `micros` or
    /// `nanos`.
    pub fn name(self) -> &'static str {
        match self {
            TimeUnit::Days => "days",
            TimeUnit::Hours => "hours",
            TimeUnit::Minutes => "minutes",
            TimeUnit::Seconds => "seconds",
            TimeUnit::Millis => "millis",
            TimeUnit::Micros => "micros",
            TimeUnit::Nanos => "nanos",
        }
    }

    /// The unit of a name.
    pub fn from_name(name: &str) -> Option<TimeUnit> {
        TimeUnit::ALL.into_iter().find(|unit| unit.name() == name)
    }

    /// Nanoseconds in one.
    fn nanos(self) -> i64 {
        match self {
            TimeUnit::Days => 86_400_000_000_000,
            TimeUnit::Hours => 3_600_000_000_000,
            TimeUnit::Minutes => 60_000_000_000,
            TimeUnit::Seconds => 1_000_000_000,
            TimeUnit::Millis => 1_000_000,
            TimeUnit::Micros => 1_000,
            TimeUnit::Nanos => 1,
        }
    }
}

impl fmt::Display for TimeUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The unit that a logical type counts in, if it is a time.
pub(super) fn time_unit(logical: &LogicalType) -> Option<TimeUnit> {
    match logical {
        LogicalType::Date => Some(TimeUnit::Days),
        LogicalType::TimeMillis
        | LogicalType::TimestampMillis
        | LogicalType::LocalTimestampMillis => Some(TimeUnit::Millis),
        LogicalType::TimeMicros
        | LogicalType::TimestampMicros
        | LogicalType::LocalTimestampMicros => Some(TimeUnit::Micros),
        LogicalType::TimestampNanos | LogicalType::LocalTimestampNanos => Some(TimeUnit::Nanos),
        _ => None,
    }
}

/// Times in another unit, int64.
#[derive(Clone, Copy, Debug)]
pub(super) struct Time {
    /// Whether the data has `long`, else it has `int`.
    pub(super) long: bool,
    pub(super) from: TimeUnit,
    pub(super) to: TimeUnit,
}

impl Time {
    pub(super) fn read(self, cursor: &mut Cursor<'_>, out: Out<'_>) -> Result<(), Fault> {
        let Out::Int64(out) = out else { other_dtype() };
        // Each unit is a whole number of any finer one.
        let (from, to) = (self.from.nanos(), self.to.nanos());
        if from < to {
            let divisor = to / from;
            self.fill(cursor, out, |time| Ok(time.div_euclid(divisor)))
        } else {
            let factor = from / to;
            self.fill(cursor, out, |time| {
                time.checked_mul(factor).ok_or_else(|| self.overflow(time))
            })
        }
    }

    fn fill(
        self,
        cursor: &mut Cursor<'_>,
        out: &mut [i64],
        convert: impl Fn(i64) -> Result<i64, Fault>,
    ) -> Result<(), Fault> {
        if self.long {
            converted::<Long, _>(cursor, out, convert)
        } else {
            converted::<Int, _>(cursor, out, |time| convert(time.into()))
        }
    }

    #[cold]
    fn overflow(self, value: i64) -> Fault {
        let Time { from, to, .. } = self;
        Box::new(DecodeErrorKind::TimeOverflow { value, from, to })
    }
}
