//! How far records travel, and how mixed batches are.

use super::layout::Layout;

/// Number of bins of the distribution of travels.
pub(super) const BINS: usize = 10_000;

/// Number of records that a picture shows.
const POINTS: u64 = 1_500;

/// What was measured of an epoch.
#[derive(Clone, Debug, Default)]
pub(super) struct Measured {
    /// Number of records that travel by each ten-thousandth of the data set; as shares, if it is computed.
    pub(super) travels: Vec<f64>,
    /// The mean travel, as a part of the data set.
    pub(super) mean: f64,
    /// Mean number of files, and of blocks, that a batch has records of.
    pub(super) files: f64,
    pub(super) blocks: f64,
    /// Places of some records in the files and in the epoch, as parts of the data set.
    pub(super) points: Vec<(f64, f64)>,
}

impl Measured {
    /// The travel that a part of the records does not exceed, as a part of the data set.
    pub(super) fn quantile(&self, part: f64) -> f64 {
        let goal = part * self.travels.iter().sum::<f64>();
        let mut sum = 0.0;
        for (bin, share) in self.travels.iter().enumerate() {
            if sum + share >= goal {
                let within = if *share > 0.0 {
                    (goal - sum) / share
                } else {
                    0.0
                };
                return (bin as f64 + within) / BINS as f64;
            }
            sum += share;
        }
        1.0
    }

    /// The parts of the records that travel by `0`, `1 / steps`, … of the data set at most.
    pub(super) fn shares(&self, steps: usize) -> Vec<f64> {
        let all = self.travels.iter().sum::<f64>().max(f64::MIN_POSITIVE);
        let mut sum = 0.0;
        let bins = self.travels.chunks((BINS / steps).max(1));
        let sums = bins.map(|bins| {
            sum += bins.iter().sum::<f64>();
            sum / all
        });
        std::iter::once(0.0).chain(sums).collect()
    }
}

/// Measures the batches of an epoch, one after another.
pub(super) struct Measuring<'a> {
    layout: &'a Layout,
    batch_size: usize,
    /// The place of the next record in the epoch.
    next: u64,
    travels: Vec<u64>,
    sum: f64,
    batches: u64,
    /// For each file and block, the last batch that had a record of it.
    last: [Vec<u64>; 2],
    /// Sums over batches of the numbers of files, and of blocks.
    sums: [u64; 2],
    points: Vec<(f64, f64)>,
}

impl<'a> Measuring<'a> {
    pub(super) fn new(layout: &'a Layout, batch_size: usize) -> Self {
        Measuring {
            layout,
            batch_size,
            next: 0,
            travels: vec![0; BINS],
            sum: 0.0,
            batches: 0,
            last: [vec![0; layout.files()], vec![0; layout.blocks() as usize]],
            sums: [0; 2],
            points: Vec::new(),
        }
    }

    /// Adds a batch, by the numbers of its records in file order.
    pub(super) fn add(&mut self, records: impl ExactSizeIterator<Item = u64>) {
        let all = self.layout.records().max(1);
        let every = all.div_ceil(POINTS);
        // The last batch may be smaller, and has fewer of all.
        let counts = records.len() == self.batch_size || self.batches == 0;
        self.batches += u64::from(counts);
        let batch = self.batches;
        for record in records {
            let travel = record.abs_diff(self.next);
            self.sum += travel as f64;
            let bin = u128::from(travel) * BINS as u128 / u128::from(all);
            self.travels[(bin as usize).min(BINS - 1)] += 1;
            // Others than every n-th, which might be the first of each block.
            if record.wrapping_mul(0x9e37_79b9_7f4a_7c15) % every == 0 {
                let part = |place: u64| place as f64 / all as f64;
                self.points.push((part(record), part(self.next)));
            }
            self.next += 1;
            if counts {
                let of = [self.layout.file_of(record), self.layout.block_of(record)];
                for ((last, sum), number) in self.last.iter_mut().zip(&mut self.sums).zip(of) {
                    *sum += u64::from(last[number] != batch);
                    last[number] = batch;
                }
            }
        }
    }

    pub(super) fn finish(self) -> Measured {
        let each = |sum: u64| sum as f64 / self.batches.max(1) as f64;
        let records = self.next.max(1) as f64;
        Measured {
            travels: self.travels.iter().map(|&number| number as f64).collect(),
            mean: self.sum / records / self.layout.records().max(1) as f64,
            files: each(self.sums[0]),
            blocks: each(self.sums[1]),
            points: self.points,
        }
    }
}
