//! Cutting blocks into chunks: dear blocks by themselves, the others in
//! contiguous shares that are cut finer towards their ends.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::limits::{
    CUTS, DEAR, DEAR_MEANS, EVEN, FAIRLY_DEAR, FAIRLY_FEW_BLOCKS, FEW_BLOCKS, FINE_CUTS, FINE_NS,
    WORTH_NS,
};
use crate::partition::ranges;
use crate::schedule::Schedule;

/// Cuts one batch after another, in the same memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cutter {
    /// What each block costs in its thread's share: nothing if it is dear.
    common: Vec<f64>,
    /// The dear blocks with their costs, the dearest first.
    dear: Vec<(f64, usize)>,
    /// Of each dear block first its owner, then its chunk.
    places: Vec<usize>,
    /// What each thread's dear blocks cost.
    loads: Vec<f64>,
    /// The same, ascending.
    sorted: Vec<f64>,
    /// The threads, by the bits of their loads.
    least: BinaryHeap<Reverse<(u64, usize)>>,
}

impl Cutter {
    /// Cuts blocks of such costs, none negative, for `threads` threads.
    pub(crate) fn cut(&mut self, costs: &[f64], threads: usize, schedule: &mut Schedule) {
        schedule.clear(threads);
        if threads > 1 {
            self.set_apart(costs, threads);
            self.deal(threads);
            self.share_out(schedule);
        }
        match schedule.chunks.is_empty() {
            true => schedule.give_all(costs.len()),
            false => schedule.extend(costs.len()),
        }
    }

    /// Finds the dear blocks.
    fn set_apart(&mut self, costs: &[f64], threads: usize) {
        let limit = dear_limit(costs, threads);
        self.common.clear();
        self.dear.clear();
        for (block, &cost) in costs.iter().enumerate() {
            let apart = cost > limit;
            self.common.push(if apart { 0.0 } else { cost });
            if apart {
                self.dear.push((cost, block));
            }
        }
        let dearest_first =
            |a: &(f64, usize), b: &(f64, usize)| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1));
        self.dear.sort_unstable_by(dearest_first);
    }

    /// Deals the dear blocks out, each to the thread that has least of them.
    fn deal(&mut self, threads: usize) {
        self.loads.clear();
        self.loads.resize(threads, 0.0);
        self.places.clear();
        self.places.resize(self.common.len(), COMMON);
        self.least.clear();
        self.least
            .extend((0..threads).map(|thread| Reverse((0, thread))));
        for &(cost, block) in &self.dear {
            if let Some(mut least) = self.least.peek_mut() {
                let Reverse((load, thread)) = &mut *least;
                self.loads[*thread] += cost;
                // Floats that are not negative are ordered as their bits.
                *load = self.loads[*thread].to_bits();
                self.places[block] = *thread;
            }
        }
    }

    /// Gives each thread so much of the other blocks as brings it up to the
    /// level of all, and makes the chunks.
    fn share_out(&mut self, schedule: &mut Schedule) {
        let level = self.level();
        let share = level - self.sorted.first().unwrap_or(&0.0);
        let cuts = cuts(share);
        let parts: u32 = cuts.iter().sum();
        let parts_of = |load: &f64| {
            let part = (level - load).max(0.0) / f64::from(parts);
            cuts.iter().map(move |cut| part * f64::from(*cut))
        };
        let mut end = 0.0;
        let ends = self.loads.iter().flat_map(parts_of).map(|part| {
            end += part;
            end
        });
        // Rounding must not leave any behind the last.
        let ends = ends
            .take(self.loads.len() * cuts.len() - 1)
            .chain([f64::INFINITY]);
        for (i, range) in ranges(&self.common, ends).enumerate() {
            let owner = i / cuts.len();
            let (end, mut work) = (range.end, false);
            for block in range {
                match self.places[block] {
                    COMMON => work |= self.common[block] > 0.0,
                    dear_owner => {
                        schedule.push_rest(block, owner, work);
                        self.places[block] = schedule.push(block + 1, dear_owner);
                        work = false;
                    }
                }
            }
            schedule.push_rest(end, owner, work);
        }
        let chunks = self.dear.iter().map(|&(_, block)| self.places[block]);
        schedule.first.extend(chunks);
    }

    /// What each thread has to do in all, unless its dear blocks alone are more.
    fn level(&mut self) -> f64 {
        self.sorted.clear();
        self.sorted.extend_from_slice(&self.loads);
        self.sorted.sort_unstable_by(f64::total_cmp);
        let mut sum: f64 = self.common.iter().sum();
        let mut level = 0.0;
        for (threads, load) in (1..).zip(&self.sorted) {
            // The level up to here does not reach this thread.
            if threads > 1 && level <= *load {
                break;
            }
            sum += load;
            level = sum / f64::from(threads);
        }
        level
    }
}

/// Blocks that cost more are dear.
fn dear_limit(costs: &[f64], threads: usize) -> f64 {
    let total: f64 = costs.iter().sum();
    let blocks = costs.iter().filter(|cost| **cost > 0.0).count();
    let mean = total / blocks.max(1) as f64;
    let dearest = costs.iter().copied().fold(0.0, f64::max);
    if dearest > EVEN * mean {
        if blocks <= FEW_BLOCKS * threads {
            return 0.0;
        }
        if blocks <= FAIRLY_FEW_BLOCKS * threads {
            return (FAIRLY_DEAR * mean).max(WORTH_NS);
        }
    }
    let share = total / threads as f64;
    (share * DEAR).max(DEAR_MEANS * mean).max(WORTH_NS)
}

/// The parts to cut shares into, the largest of which takes `share_ns`.
fn cuts(share_ns: f64) -> &'static [u32] {
    if share_ns < FINE_NS { CUTS } else { FINE_CUTS }
}

/// The place of a block that is not dear.
const COMMON: usize = usize::MAX;
