//! Cutting blocks into chunks: dear blocks by themselves, the others in
//! contiguous shares that are cut finer towards their ends.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::ops::Range;

use crate::limits::{
    CUTS, DEAR, DEAR_MEANS, EVEN, FAIRLY_DEAR, FAIRLY_FEW_BLOCKS, FEW_BLOCKS, FINE_CUTS, FINE_NS,
    MOVED, WORTH_NS,
};
use crate::partition::ranges;
use crate::schedule::{Schedule, Wishes};

/// Cuts one batch after another, in the same memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cutter {
    /// What each block costs in its thread's share: nothing if it is dear.
    common: Vec<f64>,
    /// The dear blocks with their costs, the dearest first.
    dear: Vec<(f64, usize)>,
    /// Of each dear block first its owner, then its chunk.
    places: Vec<usize>,
    /// Each thread's share of the other blocks.
    shares: Vec<Range<usize>>,
    /// What each thread's dear blocks cost.
    loads: Vec<f64>,
    /// The same, ascending.
    sorted: Vec<f64>,
    /// The threads, by the bits of their loads.
    least: BinaryHeap<Reverse<(u64, usize)>>,
    /// Of the other blocks those that are done faster together, in order.
    alike: Vec<usize>,
}

impl Cutter {
    /// Cuts blocks of such costs, none negative, for `threads` threads. Those that
    /// `are_alike` are what wishes for groups are about.
    pub(crate) fn cut(
        &mut self,
        costs: &[f64],
        are_alike: impl Fn(usize) -> bool,
        threads: usize,
        wishes: &Wishes,
        schedule: &mut Schedule,
    ) {
        schedule.clear(threads);
        if threads > 1 {
            self.set_apart(costs, threads);
            self.deal(threads);
            self.alike.clear();
            if wishes.together > 1 {
                self.alike.reserve(costs.len());
                let common = (0..costs.len()).filter(|&block| self.places[block] == COMMON);
                self.alike.extend(common.filter(|&block| are_alike(block)));
            }
            self.share_out(wishes, schedule);
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
    fn share_out(&mut self, wishes: &Wishes, schedule: &mut Schedule) {
        let level = self.level();
        let share = level - self.sorted.first().unwrap_or(&0.0);
        let cuts = cuts(share);
        let mut end = 0.0;
        let ends = self.loads.iter().map(|load| {
            end += (level - load).max(0.0);
            end
        });
        // Rounding must not leave any behind the last.
        let ends = ends.take(self.loads.len() - 1).chain([f64::INFINITY]);
        self.shares.clear();
        self.shares.extend(ranges(&self.common, ends));
        if let Some(block) = wishes.start {
            move_start(&mut self.shares, block);
        }
        for owner in 0..self.shares.len() {
            self.cut_share(owner, cuts, wishes.together, schedule);
        }
        let chunks = self.dear.iter().map(|&(_, block)| self.places[block]);
        schedule.first.extend(chunks);
    }

    /// Cuts a thread's share into parts of such proportions, each of whole groups
    /// of so many blocks `together`; what is left over is in the first that has any.
    fn cut_share(&mut self, owner: usize, cuts: &[u32], together: usize, schedule: &mut Schedule) {
        let share = self.shares[owner].clone();
        let groups = Groups::new(&self.alike, &share, together);
        let costs = &self.common[share.clone()];
        let part = costs.iter().sum::<f64>() / f64::from(cuts.iter().sum::<u32>());
        let ends = cuts.iter().scan(0.0, |end, cut| {
            *end += part * f64::from(*cut);
            Some(*end)
        });
        let ends = ends.take(cuts.len() - 1).chain([f64::INFINITY]);
        let mut start = share.start;
        for range in ranges(costs, ends) {
            let end = groups.nearest(share.start + range.end).max(start);
            let mut work = false;
            for block in start..end {
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
            start = end;
        }
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

/// Blocks of a share that are done faster together, so many at a time.
struct Groups<'a> {
    blocks: &'a [usize],
    together: usize,
}

impl<'a> Groups<'a> {
    /// Of the blocks `alike`, ascending, those in `share`.
    fn new(alike: &'a [usize], share: &Range<usize>, together: usize) -> Self {
        let [start, end] =
            [share.start, share.end].map(|end| alike.partition_point(|&block| block < end));
        Groups {
            blocks: &alike[start..end],
            together: together.max(1),
        }
    }

    /// The end nearest to `end` behind which there are whole groups, or all blocks.
    fn nearest(&self, end: usize) -> usize {
        let count = self.blocks.len();
        let before = self.blocks.partition_point(|&block| block < end);
        let behind = (count - before).saturating_add(self.together / 2);
        let behind = behind / self.together * self.together;
        let nearest = count - behind.min(count);
        match nearest.cmp(&before) {
            Ordering::Less => self.blocks[nearest],
            Ordering::Equal => end,
            Ordering::Greater => self.blocks[nearest - 1] + 1,
        }
    }
}

/// Has the share that starts nearest to `block` start with it, if that is not far
/// away. None is left without a block.
fn move_start(shares: &mut [Range<usize>], block: usize) {
    let blocks = shares.last().map_or(0, |share| share.end);
    let far = blocks / (shares.len() * MOVED);
    let nearest = (1..shares.len()).min_by_key(|&i| shares[i].start.abs_diff(block));
    if let Some(i) = nearest
        && shares[i].start.abs_diff(block) <= far
        && (shares[i - 1].start + 1..shares[i].end).contains(&block)
    {
        shares[i - 1].end = block;
        shares[i].start = block;
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
