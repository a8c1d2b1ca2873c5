//! What was decided, for statistics.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use crate::Costs;

/// What was decided from the costs, and why.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Schedule {
    /// Number of threads that were asked for, or the most for an automatic number.
    pub available: usize,
    /// The most of these that work: all that do while the consumer waits.
    pub threads: usize,
    /// Number of threads that work while the consumer has a batch: at its pace, at most `threads`.
    pub workers: usize,
    /// Why no more than `workers` work.
    pub limit: WorkerLimit,
    /// Number of rows of a piece of work.
    pub op_rows: u64,
    /// Time from when a block is decompressed until it is needed, where that is done early.
    pub prepared_early: Option<Duration>,
    /// Time in ns that a row takes.
    pub row_ns: f64,
    /// Time in ns that preparing a record takes; 0 if nothing is prepared.
    pub prepare_ns: f64,
    /// Time in ns in which one thread plans a row.
    pub planning_ns: f64,
    /// The time that the consumer takes for a batch; `None` before it took the second.
    pub pace: Option<Duration>,
}

/// Why no more threads work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WorkerLimit {
    /// All threads work that were asked for.
    Asked,
    /// The number is automatic, and all work that may: one for each core.
    Cores,
    /// The one thread that plans batches keeps no more busy.
    Planning,
    /// The consumer takes no more batches.
    Consumer,
}

impl Costs {
    /// What follows for `threads` of `available` threads, ops that take `op_time`, and a consumer that
    /// takes `pace` for a batch of `batch_rows` rows; `None` before the first batch was measured.
    pub fn schedule(
        &self,
        (threads, available, is_automatic): (usize, usize, bool),
        op_time: Duration,
        batch_rows: u64,
        pace: Option<Duration>,
    ) -> Option<Schedule> {
        let for_pace = pace.map(|pace| self.workers_for_pace(batch_rows, pace));
        let workers = for_pace.unwrap_or(threads).min(threads);
        let limit = match is_automatic {
            _ if workers < threads => WorkerLimit::Consumer,
            false => WorkerLimit::Asked,
            true if threads < available => WorkerLimit::Planning,
            true => WorkerLimit::Cores,
        };
        let ahead = self.work_ahead.load(Relaxed) / available.max(1) as u64;
        let ns = |average: &AtomicU64| average.load(Relaxed) as f64 / 1024.0;
        self.is_measured().then(|| Schedule {
            available,
            threads,
            workers,
            limit,
            op_rows: self.rows_in(op_time),
            prepared_early: (ahead > 0).then(|| Duration::from_nanos(ahead)),
            row_ns: ns(&self.record_time),
            prepare_ns: ns(&self.prepare_time),
            planning_ns: ns(&self.planning_time),
            pace,
        })
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Schedule {
            available, workers, ..
        } = self;
        let us = |ns: f64| format!("{:.2} µs", ns / 1e3);
        let ms = |time: Duration| format!("{:.2} ms", time.as_secs_f64() * 1e3);
        if workers < available {
            write!(f, "{workers} of ")?;
        }
        let s = if *available == 1 { "" } else { "s" };
        let why = match self.limit {
            WorkerLimit::Asked => "as asked for",
            WorkerLimit::Cores => "one for each core",
            WorkerLimit::Planning => "all that planning keeps busy",
            WorkerLimit::Consumer => "enough for the consumer",
        };
        write!(f, "{available} thread{s}, {why}")?;
        write!(f, "; at least {} rows at a time", self.op_rows)?;
        if let Some(early) = self.prepared_early {
            write!(f, ", blocks decompressed {} early", ms(early))?;
        }
        write!(f, "; decoding a row takes {}", us(self.row_ns))?;
        if self.prepare_ns > 0.0 {
            write!(f, ", decompressing one {}", us(self.prepare_ns))?;
        }
        write!(f, ", planning one {}", us(self.planning_ns))?;
        if let Some(pace) = self.pace {
            write!(f, "; the consumer takes {} for a batch", ms(pace))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_says_what_was_decided_and_why() {
        let costs = Costs::default();
        let ms = Duration::from_millis;
        assert_eq!(costs.schedule((1, 1, false), ms(1), 10, None), None);
        costs.note_rows(1_000, 64_000, ms(2));
        costs.note_planned(1_000, Duration::from_micros(50));
        let text = |threads, pace| {
            let schedule = costs.schedule(threads, ms(1), 1_000, pace);
            schedule.map_or_else(String::new, |schedule| schedule.to_string())
        };
        let costs_are =
            "at least 500 rows at a time; decoding a row takes 2.00 µs, planning one 0.05 µs";
        for (threads, why) in [
            ((1, 1, false), "1 thread, as asked for"),
            ((2, 2, false), "2 threads, as asked for"),
            ((2, 2, true), "2 threads, one for each core"),
            (
                (39, 64, true),
                "39 of 64 threads, all that planning keeps busy",
            ),
        ] {
            assert_eq!(text(threads, None), format!("{why}; {costs_are}"));
        }
        costs.note_prepared(1_000, 2_000, 1_000, ms(1));
        costs.work_ahead_ns(4_000, false, 2);
        assert_eq!(
            text((2, 2, true), Some(ms(10))),
            "1 of 2 threads, enough for the consumer; at least 500 rows at a time, blocks decompressed \
             4.00 ms early; decoding a row takes 2.00 µs, decompressing one 1.00 µs, planning one 0.05 µs; \
             the consumer takes 10.00 ms for a batch"
        );
    }
}
