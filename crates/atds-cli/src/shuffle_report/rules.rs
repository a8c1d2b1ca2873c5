//! What other shuffles do: the rule of LinkedIn's ATDS, and a perfect shuffle.

use std::collections::HashMap;

use super::layout::Layout;
use super::measure::{BINS, Measured};

/// Number of records that the picture of a perfect shuffle shows.
const POINTS: u64 = 1_500;

/// Random numbers: SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`. Its bias is far below what a picture shows.
    fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(n)) >> 64) as u64
    }

    /// A number from 0 to 1.
    fn part(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// A block of the window: its next record, the one after its last, and how many it had.
struct Block {
    next: u64,
    end: u64,
    records: u64,
}

/// The batches of LinkedIn's ATDS, as tensorflow-io 0.37.1 draws them: the window is filled until it has a
/// batch and the buffer; then a block is picked at random, again and again, and gives its next record. A
/// block that has at most a tenth of its records left gives all of them.
pub(super) fn original(
    layout: &Layout,
    batch_size: usize,
    buffer: usize,
    seed: u64,
    mut give: impl FnMut(&[u64]),
) {
    let mut random = Random(seed);
    let mut blocks = layout.block_ranges();
    let (mut window, mut unread) = (Vec::<Block>::new(), 0_u64);
    let target = batch_size.saturating_add(buffer) as u64;
    let mut batch = Vec::with_capacity(batch_size);
    loop {
        while unread < target
            && let Some((start, end)) = blocks.next()
        {
            let (next, records) = (start, end - start);
            window.push(Block { next, end, records });
            unread += records;
        }
        if window.is_empty() {
            return;
        }
        batch.clear();
        while batch.len() < batch_size && !window.is_empty() {
            let picked = random.below(window.len() as u64) as usize;
            let block = &mut window[picked];
            let (left, free) = (block.end - block.next, (batch_size - batch.len()) as u64);
            let records = match left * 10 <= block.records {
                true => left.min(free),
                false => 1,
            };
            batch.extend(block.next..block.next + records);
            block.next += records;
            unread -= records;
            if block.next == block.end {
                window.swap_remove(picked);
            }
        }
        give(&batch);
    }
}

/// A uniformly random permutation: what is expected of it, and some records of one.
pub(super) fn perfect(layout: &Layout, batch_size: usize, seed: u64) -> Measured {
    let all = layout.records();
    let rows = (batch_size as u64).min(all);
    let mut random = Random(seed);
    // Both places are uniform and independent: the difference is at most d with 1 - (1 - d)².
    let below = |bin: usize| 1.0 - (1.0 - bin as f64 / BINS as f64).powi(2);
    let points = 0..POINTS.min(all);
    Measured {
        travels: (0..BINS).map(|bin| below(bin + 1) - below(bin)).collect(),
        mean: 1.0 / 3.0,
        files: expected(layout.file_lens(), all, rows),
        blocks: expected(
            layout.block_ranges().map(|(start, end)| end - start),
            all,
            rows,
        ),
        points: points.map(|_| (random.part(), random.part())).collect(),
    }
}

/// The expected number of groups of which `rows` records have one at least, that are drawn from all.
fn expected(groups: impl Iterator<Item = u64>, all: u64, rows: u64) -> f64 {
    let mut known = HashMap::new();
    let has = |records: u64| {
        // The chance that each of them is from elsewhere.
        let others = all - records;
        let none = (0..rows).map(|row| others.saturating_sub(row) as f64 / (all - row) as f64);
        1.0 - none.product::<f64>()
    };
    groups
        .map(|records| *known.entry(records).or_insert_with(|| has(records)))
        .sum()
}

#[cfg(test)]
mod tests {
    use super::super::measure::Measuring;
    use super::*;

    fn layout() -> Layout {
        let files = [[40, 30, 0, 30], [100, 1, 99, 50], [7, 3, 20, 20]];
        Layout::new(&files.map(|blocks| blocks.into()))
    }

    #[test]
    fn a_perfect_shuffle_is_as_expected() {
        let (layout, mut random) = (layout(), Random(1));
        let all = layout.records();
        assert_eq!((all, layout.blocks()), (400, 11));
        let expected = perfect(&layout, 10, 0);
        let (mut files, mut blocks, mut mean, mut median) = (0.0, 0.0, 0.0, 0.0);
        let rounds = 200;
        for _ in 0..rounds {
            let mut order: Vec<u64> = (0..all).collect();
            for last in (1..all).rev() {
                order.swap(last as usize, random.below(last + 1) as usize);
            }
            let mut measuring = Measuring::new(&layout, 10);
            order
                .chunks(10)
                .for_each(|batch| measuring.add(batch.iter().copied()));
            let found = measuring.finish();
            files += found.files / f64::from(rounds);
            blocks += found.blocks / f64::from(rounds);
            mean += found.mean / f64::from(rounds);
            median += found.quantile(0.5) / f64::from(rounds);
        }
        for (found, expected) in [
            (files, expected.files),
            (blocks, expected.blocks),
            (mean, expected.mean),
            (median, expected.quantile(0.5)),
        ] {
            assert!(
                (found / expected - 1.0).abs() < 0.01,
                "{found}, not {expected}"
            );
        }
        assert!((expected.quantile(0.5) - (1.0 - 0.5_f64.sqrt())).abs() < 1e-4);
    }

    #[test]
    fn the_original_reads_each_record_once_and_a_window_of_one_block_in_order() {
        let layout = layout();
        for (buffer, is_ordered) in [(0, true), (1, true), (300, false)] {
            let (mut found, mut lens) = (Vec::new(), Vec::new());
            let batch_size = if buffer == 0 { 1 } else { 7 };
            original(&layout, batch_size, buffer, 3, |batch| {
                found.extend_from_slice(batch);
                lens.push(batch.len());
            });
            assert_eq!(found.is_sorted(), is_ordered && buffer == 0, "{buffer}");
            found.sort_unstable();
            assert_eq!(found, (0..400).collect::<Vec<_>>());
            let last = lens.pop().unwrap_or(0);
            assert!(lens.iter().all(|&len| len == batch_size) && last <= batch_size);
        }
    }

    #[test]
    fn a_block_with_a_tenth_left_is_read_to_its_end() {
        let layout = Layout::new(&[[100].into(), [100].into()]);
        let mut found = Vec::new();
        original(&layout, 200, 0, 5, |batch| found.extend_from_slice(batch));
        let place = |record: u64| found.iter().position(|&found| found == record);
        for first in [90, 190] {
            let at = place(first).unwrap_or_default();
            assert_eq!(found[at..at + 10], (first..first + 10).collect::<Vec<_>>());
        }
    }
}
