//! The cases.

use std::fmt;

/// What is measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Case {
    pub(crate) threads: usize,
    pub(crate) is_shuffled: bool,
    pub(crate) batch: usize,
    /// Number of records in a block.
    pub(crate) block: usize,
    pub(crate) kind: Kind,
}

/// How the sleeps are spread, and how bytes come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// All records sleep alike.
    Even,
    /// The records of a block sleep a quarter to three times as long as those of another.
    Uneven,
    /// One worker sleeps 50 ms more in each hundredth op.
    OneSlow,
    /// Each range of the file answers after 20 ms.
    LateRanges,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Even => "even",
            Kind::Uneven => "uneven",
            Kind::OneSlow => "one-slow",
            Kind::LateRanges => "late",
        })
    }
}

impl Case {
    /// All cases with this number of threads.
    pub(crate) fn all(threads: usize) -> Vec<Case> {
        let mut cases = Vec::new();
        for is_shuffled in [false, true] {
            for batch in [16, 1_024, 65_536] {
                for block in [9, 100, 10_000] {
                    for kind in [Kind::Even, Kind::Uneven, Kind::OneSlow, Kind::LateRanges] {
                        cases.push(Case {
                            threads,
                            is_shuffled,
                            batch,
                            block,
                            kind,
                        });
                    }
                }
            }
        }
        cases
    }

    pub(crate) fn name(&self) -> String {
        let order = if self.is_shuffled {
            "shuffled"
        } else {
            "in-order"
        };
        let Case {
            threads,
            batch,
            block,
            kind,
            ..
        } = self;
        format!("{threads}/{order}/batch-{batch}/block-{block}/{kind}")
    }

    /// The least share of the workers' time that is to be used.
    pub(crate) fn bound(&self) -> f64 {
        if self.is_shuffled { 0.8 } else { 0.9 }
    }

    /// Time in ns that a record sleeps when it is decoded, and again when it is prepared: so long
    /// that what 2 cores compute beside it does not count.
    pub(crate) fn record_ns(&self) -> u64 {
        // Small batches of small blocks take longest to compute, and reads of one record each.
        let is_small = match self.is_shuffled {
            false => self.batch < 64 && self.block < 1_000,
            true => self.batch < 64 && self.block < 1_000 || self.batch < 10_000 && self.block < 64,
        };
        let ns = if is_small { 2_500 } else { 625 };
        ns * self.threads as u64
    }

    /// Number of records that take `seconds`, and give each worker 20 ops.
    pub(crate) fn records(&self, seconds: f64) -> usize {
        let time = seconds * 1e9 * self.threads as f64 / (2 * self.record_ns()) as f64;
        // In file order, an op ends where a large block ends. Shuffled, a block has a prepare, and many
        // ops read it.
        let block = if self.is_shuffled {
            self.block / 2
        } else {
            self.block
        };
        let ops = 20 * self.threads * self.batch.min(4_096).max(block);
        (time as usize).max(ops).max(24 * self.batch)
    }
}
