//! Batches for simulated threads, and what they are compared with: for the
//! tables of the example and for the test of the same name.
#![allow(dead_code, reason = "neither reads all of an outcome")]

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use atds_sched::{BlockWork, Machine, Observed, RunReport, Schedule, Scheduler, Threads, simulate};

pub(crate) const THREADS: [usize; 4] = [4, 16, 64, 128];
pub(crate) const BATCHES: [u64; 3] = [1_024, 8_192, 65_536];
/// Records of a block of 16,000 bytes.
pub(crate) const BLOCK: u64 = 8;

/// Records of each block of a batch.
pub(crate) struct Shape {
    pub(crate) name: &'static str,
    pub(crate) blocks: fn(u64) -> Vec<u64>,
}

pub(crate) const SHAPES: [Shape; 5] = [
    Shape {
        name: "even",
        blocks: |batch| vec![BLOCK; (batch / BLOCK) as usize],
    },
    Shape {
        name: "1 to 15 records",
        blocks: |batch| {
            let mut noise = Noise::new(batch);
            let blocks = std::iter::repeat_with(|| 1 + (noise.next() * 15.0) as u64);
            cut_off(batch, blocks)
        },
    },
    Shape {
        name: "one in 20 is 100 times the others",
        blocks: |batch| {
            let blocks = (0..).map(|i| if i % 20 == 7 { 100 * BLOCK } else { BLOCK });
            cut_off(batch, blocks)
        },
    },
    Shape {
        name: "one is half of all",
        blocks: |batch| {
            let mut blocks = vec![BLOCK; (batch / 2 / BLOCK) as usize];
            blocks.insert(blocks.len() / 3, batch / 2);
            blocks
        },
    },
    Shape {
        name: "Zipf",
        blocks: |batch| {
            let count = batch / BLOCK;
            let harmonic: f64 = (1..=count).map(|rank| 1.0 / rank as f64).sum();
            // Ranks in an order without a pattern.
            let rank = |i: u64| i * 7_919 % count + 1;
            let size = |rank: u64| (batch as f64 / harmonic / rank as f64).ceil() as u64;
            (0..count).map(|i| size(rank(i))).collect()
        },
    },
];

/// The first of `blocks`, as far as `batch` records go.
fn cut_off(batch: u64, blocks: impl Iterator<Item = u64>) -> Vec<u64> {
    let mut left = batch;
    let take = |block: u64| {
        let taken = block.min(left);
        left -= taken;
        (taken > 0).then_some(taken)
    };
    blocks.map_while(take).collect()
}

/// How the costs of a batch differ from what they are taken to be.
#[derive(Clone, Copy)]
pub(crate) struct Surprise {
    /// Each block costs up to this part more or less.
    pub(crate) noise: f64,
    /// The last thread is half as fast as the others.
    pub(crate) slow: bool,
}

pub(crate) const NO_SURPRISE: Surprise = Surprise {
    noise: 0.0,
    slow: false,
};

/// A run and what it is compared with, in nanoseconds.
pub(crate) struct Outcome {
    pub(crate) makespan: u64,
    /// An equal part for each thread, or the dearest block where that is more.
    /// No schedule can do better.
    pub(crate) ideal: f64,
    /// What the blocks would take if each began by itself, the dearest first, on
    /// the thread that would be done with it first, at no cost but the work.
    pub(crate) dearest_first: u64,
    /// The dearest block.
    pub(crate) dearest: f64,
    /// An equal part for each thread, if all are equally fast.
    pub(crate) share: f64,
    pub(crate) chunks: usize,
}

/// A batch of such blocks on simulated threads, `record_ns` a record.
pub(crate) fn outcome(
    blocks: &[u64],
    record_ns: u64,
    threads: usize,
    mut machine: Machine,
    surprise: Surprise,
) -> Outcome {
    machine.slow = surprise.slow.then(|| threads - 1);
    let schedule = plan(blocks, record_ns, threads);
    let mut noise = Noise::new(1);
    let actual = |records: &u64| {
        let factor = 1.0 + surprise.noise * (2.0 * noise.next() - 1.0);
        ((record_ns * records) as f64 * factor) as u64
    };
    let actual: Vec<u64> = blocks.iter().map(actual).collect();
    let chunks = schedule.chunks.iter().cloned();
    let chunks: Vec<u64> = chunks.map(|chunk| actual[chunk].iter().sum()).collect();
    let speed = threads as f64 - if surprise.slow { 0.5 } else { 0.0 };
    let total: u64 = actual.iter().sum();
    let dearest = actual.iter().max().copied().unwrap_or(0);
    Outcome {
        makespan: simulate(&schedule, &chunks, machine),
        ideal: (total as f64 / speed).max(dearest as f64),
        dearest_first: dearest_first(actual, threads, surprise.slow),
        dearest: dearest as f64,
        share: total as f64 / threads as f64,
        chunks: chunks.len(),
    }
}

/// What the scheduler plans once it has measured the costs.
fn plan(blocks: &[u64], record_ns: u64, threads: usize) -> Schedule {
    let mut scheduler = Scheduler::new(Threads::Fixed(threads));
    let decode = |&records: &u64| BlockWork {
        records_to_decompress: 0,
        records_to_decode: records,
    };
    let work: Vec<BlockWork> = blocks.iter().map(decode).collect();
    scheduler.plan(&work);
    let observed = Observed {
        records_decoded: 1,
        decode_ns: record_ns,
        ..Observed::default()
    };
    scheduler.record(&RunReport::default(), &observed);
    scheduler.plan(&work)
}

fn dearest_first(mut blocks: Vec<u64>, threads: usize, slow: bool) -> u64 {
    blocks.sort_unstable_by_key(|&ns| Reverse(ns));
    // When each thread is free; of equally fast ones only the first can be best.
    let fast = threads - usize::from(slow);
    let mut fast: BinaryHeap<_> = vec![Reverse(0); fast].into();
    let (mut slow_free, mut end) = (if slow { 0 } else { u64::MAX }, 0);
    for ns in blocks {
        let slow_done = slow_free.saturating_add(2 * ns);
        let done = match fast.peek_mut() {
            Some(mut free) if free.0 + ns <= slow_done => {
                free.0 += ns;
                free.0
            }
            _ => {
                slow_free = slow_done;
                slow_done
            }
        };
        end = end.max(done);
    }
    end
}

/// Numbers from 0 to below 1, the same for the same seed (xorshift).
struct Noise(u64);

impl Noise {
    fn new(seed: u64) -> Self {
        Noise(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn next(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }
}
