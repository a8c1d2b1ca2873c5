//! Draws the counts of many small blocks together: takes each record with a chance
//! somewhat too low, 64 records at a time, then adds the missing records one by one.
//! `DESIGN.md` says why that is exact.

use rand_core::Rng;

use crate::limits::{MAX_THINNED, MIN_THINNED_BLOCKS, SPARSEST_LATTICE};
use crate::rng::below;

/// Whether the counts of `blocks` blocks are drawn faster together than block after
/// block. All blocks have `total` records, the largest has `most`.
pub(crate) fn pays(blocks: usize, total: u64, most: u64) -> bool {
    blocks >= MIN_THINNED_BLOCKS
        && most <= MAX_THINNED
        && blocks as u64 * most <= SPARSEST_LATTICE * total
}

/// Draws `draws` of all `total` records without replacement. `counts[i]` becomes the
/// number of them among the `unread[i]` records of block `i`. The largest block has
/// `most` records, at most [`MAX_THINNED`].
pub(crate) fn draw<R: Rng>(
    unread: &[u64],
    total: u64,
    most: u64,
    draws: u64,
    counts: &mut [u64],
    rng: &mut R,
) {
    let few = draws.min(total - draws);
    let mut taken = thin(unread, chance(total, few), counts, rng);
    let blocks = unread.len() as u64;
    let lattice = Lattice { blocks, most };
    while taken < few {
        let (block, position) = lattice.pick(rng);
        if (counts[block]..unread[block]).contains(&position) {
            counts[block] += 1;
            taken += 1;
        }
    }
    while taken > few {
        let (block, position) = lattice.pick(rng);
        if position < counts[block] {
            counts[block] -= 1;
            taken -= 1;
        }
    }
    if few < draws {
        // The records taken are the ones to leave.
        let both = counts.iter_mut().zip(unread);
        both.for_each(|(count, unread)| *count = unread - *count);
    }
}

/// Number of bits of a chance.
const CHANCE_BITS: u32 = 8;

/// The chance of a record, in 256ths, with which seldom more than `few` of `total`
/// records are taken. The mean is two standard deviations below `few`, because adding
/// a record costs less than putting one back.
fn chance(total: u64, few: u64) -> u64 {
    let aim = few.saturating_sub(2 * few.isqrt());
    (aim << CHANCE_BITS).checked_div(total).unwrap_or(0)
}

/// Takes each record with a chance of `chance` 256ths. Returns the number of records
/// taken.
fn thin<R: Rng>(unread: &[u64], chance: u64, counts: &mut [u64], rng: &mut R) -> u64 {
    if chance == 0 {
        counts.fill(0);
        return 0;
    }
    // The lowest `left` bits of `word` belong to the next records.
    let (mut word, mut left) = (0_u64, 0);
    let mut all = 0;
    for (count, &unread) in counts.iter_mut().zip(unread) {
        if unread < u64::from(SMALL) && unread <= left {
            let bits = word & ((1 << unread) - 1);
            *count = ONES[bits as usize].into();
            (word, left) = (word >> unread, left - unread);
            all += *count;
            continue;
        }
        let mut needed = unread;
        let mut taken = 0;
        while needed > left {
            taken += word.count_ones();
            needed -= left;
            (word, left) = (coins(chance, rng), u64::BITS.into());
        }
        let others = u64::MAX.unbounded_shl(needed as u32);
        taken += (word & !others).count_ones();
        (word, left) = (word.unbounded_shr(needed as u32), left - needed);
        *count = taken.into();
        all += *count;
    }
    all
}

/// Blocks of fewer records use a table: x86-64 without extensions has no instruction
/// to count bits.
const SMALL: u32 = 9;

/// For each number: its number of set bits.
const ONES: [u8; 1 << (SMALL - 1)] = {
    let mut ones = [0; 1 << (SMALL - 1)];
    let mut number = 0;
    while number < ones.len() {
        ones[number] = number.count_ones() as u8;
        number += 1;
    }
    ones
};

/// 64 independent bits, each set with a chance of `chance` 256ths. A bit says whether
/// a number of eight random bits is below `chance`, compared from the last bit on.
fn coins<R: Rng>(chance: u64, rng: &mut R) -> u64 {
    let first = chance.trailing_zeros();
    (first..CHANCE_BITS).fold(0, |below, bit| {
        let random = rng.next_u64();
        if chance >> bit & 1 == 0 {
            below & random
        } else {
            below | random
        }
    })
}

/// Positions of records, with as many in each block as the largest block has.
#[derive(Clone, Copy, Debug)]
struct Lattice {
    blocks: u64,
    most: u64,
}

impl Lattice {
    /// A block and a position in it, uniformly.
    fn pick<R: Rng>(self, rng: &mut R) -> (usize, u64) {
        (below(self.blocks, rng) as usize, below(self.most, rng))
    }
}

#[cfg(test)]
mod tests;
