//! Units of time, and what times count from.

use std::fmt;

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
    /// Billionths of a second.
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

    /// The unit with this name.
    pub fn from_name(name: &str) -> Option<TimeUnit> {
        TimeUnit::ALL.into_iter().find(|unit| unit.name() == name)
    }

    /// Nanoseconds in one unit.
    pub fn nanos(self) -> i64 {
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

/// The time from which times count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Clock {
    /// 1970-01-01 in the calendar, without a time zone.
    Date,
    /// Midnight.
    TimeOfDay,
    /// 1970-01-01 00:00 UTC.
    Timestamp,
    /// 1970-01-01 00:00 in an unknown time zone.
    LocalTimestamp,
}

impl Clock {
    /// Whether a time of this clock is a time of `other` once the units agree. A date converts to a
    /// local timestamp, its midnight. It does not convert to a timestamp, since the instant depends
    /// on the time zone.
    pub fn becomes(self, other: Clock) -> bool {
        self == other || (self == Clock::Date && other == Clock::LocalTimestamp)
    }

    /// Whether a feature's [unit](crate::Convert::Unit) makes times of both clocks comparable. All clocks but the time
    /// of day count from 1970-01-01, and a date has no time zone that could differ.
    pub fn meets(self, other: Clock) -> bool {
        use Clock::{Date, LocalTimestamp, Timestamp};
        matches!(
            (self, other),
            (Date, Timestamp | LocalTimestamp) | (Timestamp | LocalTimestamp, Date)
        ) || self == other
    }
}

impl fmt::Display for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Clock::Date => "dates",
            Clock::TimeOfDay => "times of day",
            Clock::Timestamp => "timestamps",
            Clock::LocalTimestamp => "local timestamps",
        })
    }
}
