//! What decoding costs, as measured: from this follow the sizes of ops.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Measurements of the last ops.
///
/// Threads write them at the same time; a measurement that is lost then does no harm.
#[derive(Debug, Default)]
pub struct Costs {
    /// Time of a record in 1/1024 ns; 0 before the first.
    pub(crate) record_time: AtomicU64,
    /// Time to prepare a record in 1/1024 ns.
    pub(crate) prepare_time: AtomicU64,
    /// Time in which a row is planned in 1/1024 ns.
    pub(crate) planning_time: AtomicU64,
    /// Bytes of a batch's row in 1/1024.
    row_bytes: AtomicU64,
    /// Bytes of prepared blocks for 1024 bytes of their payloads.
    expansion: AtomicU64,
    /// The work in ns that was last decided to stand between a prepare and the first op that needs it.
    pub(crate) work_ahead: AtomicU64,
}

impl Costs {
    /// Notes that making `rows` rows of `bytes` bytes took `time`.
    pub fn note_rows(&self, rows: u64, bytes: u64, time: Duration) {
        blend_time(&self.record_time, per_1024(nanos(time), rows));
        blend(&self.row_bytes, per_1024(bytes, rows));
    }

    /// Notes that preparing a payload of `bytes` bytes and `records` records took `time`, and that it
    /// takes `prepared` bytes now.
    pub fn note_prepared(&self, bytes: u64, prepared: u64, records: u64, time: Duration) {
        blend(&self.expansion, per_1024(prepared, bytes));
        blend_time(&self.prepare_time, per_1024(nanos(time), records));
    }

    /// Notes that one thread planned `rows` rows in `time`.
    pub fn note_planned(&self, rows: u64, time: Duration) {
        blend_time(&self.planning_time, per_1024(nanos(time), rows));
    }

    /// Whether the first batch was measured.
    pub fn is_measured(&self) -> bool {
        self.record_time.load(Relaxed) > 0
    }

    /// Number of rows that take `time`; 1 before the first is measured.
    pub fn rows_in(&self, time: Duration) -> u64 {
        let rows = nanos(time).saturating_mul(1024);
        let rows = rows.checked_div(self.record_time.load(Relaxed));
        rows.unwrap_or(1).max(1)
    }

    /// Number of records that are prepared in `time`; no number is as large before the first.
    pub fn prepared_in(&self, time: Duration) -> u64 {
        let records = nanos(time).saturating_mul(1024);
        let records = records.checked_div(self.prepare_time.load(Relaxed));
        records.unwrap_or(u64::MAX)
    }

    /// Time in ns to make `rows` rows.
    pub fn rows_ns(&self, rows: u64) -> u64 {
        rows.saturating_mul(self.record_time.load(Relaxed)) / 1024
    }

    /// Time in ns to prepare `records` records.
    pub fn prepare_ns(&self, records: u64) -> u64 {
        records.saturating_mul(self.prepare_time.load(Relaxed)) / 1024
    }

    /// Time in ns in which the planning thread plans `rows` rows.
    pub fn planning_ns(&self, rows: u64) -> u64 {
        rows.saturating_mul(self.planning_time.load(Relaxed)) / 1024
    }

    /// Bytes of a batch of `rows` rows, as far as is known.
    pub fn batch_bytes(&self, rows: u64) -> u64 {
        rows.saturating_mul(self.row_bytes.load(Relaxed)) / 1024
    }

    /// Bytes of prepared blocks whose payloads have `bytes` bytes, as far as is known.
    pub fn prepared_bytes(&self, bytes: u64) -> u64 {
        let expansion = self.expansion.load(Relaxed).max(1024);
        bytes.saturating_mul(expansion) / 1024
    }
}

pub(crate) fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// 1024 times `amount / units`; 0 without units.
fn per_1024(amount: u64, units: u64) -> u64 {
    let amount = amount.saturating_mul(1024);
    amount.checked_div(units).unwrap_or(0)
}

/// As [`blend`], for a time: one that is much longer than the average counts as twice as long. With more
/// threads than cores, a thread that loses its core in the middle takes many times as long.
fn blend_time(average: &AtomicU64, new: u64) {
    let old = average.load(Relaxed);
    let most = if old == 0 { new } else { 1_024.max(2 * old) };
    blend(average, new.min(most));
}

/// Moves an average an eighth of the way to a new value.
fn blend(average: &AtomicU64, new: u64) {
    let old = average.load(Relaxed);
    let blended = match old {
        0 => new,
        old => old - old / 8 + new / 8,
    };
    average.store(blended.max(1), Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_that_lose_their_core_hardly_count() {
        let costs = Costs::default();
        let note = |time| costs.note_rows(1_000, 0, time);
        // Each third op takes 20 times as long.
        for op in 0..100 {
            let times = if op % 3 == 0 && op > 0 { 20 } else { 1 };
            note(times * Duration::from_micros(1_000));
        }
        let ns = costs.rows_ns(1_000);
        assert!((1_000_000..2_500_000).contains(&ns), "{ns}");
        // All that take longer do count.
        for _ in 0..100 {
            note(Duration::from_micros(20_000));
        }
        assert!(costs.rows_ns(1_000) > 15_000_000);
    }
}
