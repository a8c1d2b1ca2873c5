//! What follows from measured costs. The crate's README derives it.

use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use crate::Costs;
use crate::costs::nanos;

/// The share of the best time that fewer workers may take longer: one twentieth.
const SLACK: u64 = 20;

impl Costs {
    /// The fewest of at most `most` workers that make rows within 5 % of the best time: no worker is
    /// added where the planning thread does not keep up.
    pub fn fewest_workers(&self, most: usize) -> usize {
        let work = self.rows_ns(1_000) + self.prepare_ns(1_000);
        let planning = self.planning_ns(1_000);
        if work == 0 {
            return most;
        }
        let best = planning.max(work / most.max(1) as u64).max(1);
        let fewest = work.div_ceil(best + best / SLACK);
        usize::try_from(fewest).map_or(most, |fewest| fewest.clamp(1, most))
    }

    /// The fewest workers that make a batch of `rows` rows in `pace`, the time that the consumer takes
    /// for a batch, with a quarter to spare, since both times vary.
    pub fn workers_for_pace(&self, rows: u64, pace: Duration) -> usize {
        let work = self.rows_ns(rows).saturating_add(self.prepare_ns(rows));
        let work = work.saturating_add(work / 4);
        usize::try_from(work / nanos(pace).max(1)).map_or(usize::MAX, |full| full + 1)
    }

    /// Work in ns that is to stand between the prepare of a block of `records` records and the first op
    /// that reads it: as much as `workers` workers do meanwhile.
    pub fn work_ahead_ns(&self, records: u64, finds_positions: bool, workers: usize) -> u64 {
        let mut prepare = self.prepare_ns(records);
        if finds_positions {
            // Skipping a record takes about five eighths of decoding it (`cargo bench --bench decode`).
            prepare = prepare.saturating_add(self.rows_ns(records) / 8 * 5);
        }
        let work = prepare.saturating_mul(workers as u64);
        self.work_ahead.store(work, Relaxed);
        work
    }

    /// The number of pieces of at least `piece` each that a batch of `rows` rows is cut into.
    pub fn pieces(&self, rows: u64, piece: Duration, most: u64) -> u64 {
        (rows / self.rows_in(piece)).clamp(1, most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn costs(row: u64, prepare: u64, planning: u64) -> Costs {
        let costs = Costs::default();
        let of = |ns: u64| Duration::from_nanos(1_000 * ns);
        costs.note_rows(1_000, 1_000, of(row));
        costs.note_prepared(1_000, 1_000, 1_000, of(prepare));
        costs.note_planned(1_000, of(planning));
        costs
    }

    #[test]
    fn workers_are_as_many_as_the_planning_thread_keeps_busy() {
        // Time in ns of decoding, preparing and planning a row, and the fewest of 64 workers.
        let cases = [
            (1_350, 0, 80, 17),
            (1_350, 3_000, 80, 52),
            (1_350, 0, 300, 5),
            (100, 0, 1_000, 1),
            (10_000, 10_000, 0, 61),
            (10_000, 10_000, 80, 61),
        ];
        for (row, prepare, planning, fewest) in cases {
            let found = costs(row, prepare, planning).fewest_workers(64);
            assert_eq!(found, fewest, "{row} {prepare} {planning}");
        }
        assert_eq!(Costs::default().fewest_workers(64), 64);
        assert_eq!(costs(1_350, 0, 80).fewest_workers(1), 1);
        assert_eq!(costs(1_350, 0, 80).fewest_workers(2), 2);
    }

    #[test]
    fn workers_follow_the_pace_of_the_consumer() {
        let costs = costs(1_000, 500, 0);
        let ms = Duration::from_millis;
        // A batch of 1,000 rows takes 1.5 ms.
        for (pace, workers) in [(ms(10), 1), (ms(2), 1), (ms(1), 2)] {
            assert_eq!(costs.workers_for_pace(1_000, pace), workers, "{pace:?}");
        }
        assert!(costs.workers_for_pace(1_000, Duration::ZERO) > 64);
    }

    #[test]
    fn blocks_are_prepared_as_early_as_all_workers_need() {
        let costs = costs(1_000, 500, 0);
        assert_eq!(costs.work_ahead_ns(100, false, 4), 4 * 50_000);
        assert_eq!(costs.work_ahead_ns(100, true, 4), 4 * 112_500);
    }

    #[test]
    fn batches_are_cut_into_pieces_that_take_long_enough() {
        let costs = costs(1_000, 0, 0);
        for (rows, pieces) in [(10, 1), (4_000, 1), (8_000, 2), (1_000_000, 32)] {
            let found = costs.pieces(rows, Duration::from_millis(4), 32);
            assert_eq!(found, pieces, "{rows}");
        }
    }
}
