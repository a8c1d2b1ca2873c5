//! Random words: independent streams of them, and bounded integers without bias.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Whose batches are drawn: each layer, rank and worker of an epoch draws with a stream of random
/// words of its own, independent of all others.
///
/// The default, all zeros, is the stream of a data set that is read as a whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Stream {
    /// Number of times that the records left of the epoch were shared out again.
    pub layer: u64,
    /// The rank of the process.
    pub rank: u64,
    /// The number of the worker in its process.
    pub worker: u64,
}

/// The purpose of a stream of random words. Streams of different purposes are
/// independent, so that drawing one order never changes another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// The draws from a window.
    Window(Stream),
    /// The order of the files.
    FileOrder,
    /// The order of the blocks in the file with this number.
    BlockOrder(u64),
    /// The order of runs of blocks of all files.
    RunOrder,
}

/// The stream of random words of `(seed, epoch)` for a purpose. Saved positions depend on it: it never
/// changes.
///
/// Each of the four words of the generator's state absorbs seed, epoch, and the tag and the numbers of
/// the purpose. It does so through the finaliser of SplitMix64 (Steele, Lea and Flood, "Fast
/// splittable pseudorandom number generators", OOPSLA 2014), from a start of its own. Each step is
/// a bijection of the number it absorbs. So streams that differ in a single number have different
/// starts.
pub(crate) fn words(seed: u64, epoch: u64, purpose: Purpose) -> Xoshiro256PlusPlus {
    let (tag, numbers) = match purpose {
        Purpose::Window(Stream {
            layer,
            rank,
            worker,
        }) => (1, &[layer, rank, worker][..]),
        Purpose::FileOrder => (2, &[0][..]),
        Purpose::BlockOrder(file) => (3, &[file][..]),
        Purpose::RunOrder => (4, &[0][..]),
    };
    let mut state = [0; 32];
    for (word, bytes) in (1..).zip(state.chunks_exact_mut(8)) {
        let hash = [seed, epoch, tag]
            .iter()
            .chain(numbers)
            .fold(mix(word), |hash, number| mix(hash ^ number));
        bytes.copy_from_slice(&hash.to_le_bytes());
    }
    Xoshiro256PlusPlus::from_seed(state)
}

/// A step of SplitMix64: a bijection of 64-bit words that looks random.
fn mix(word: u64) -> u64 {
    let z = word.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A uniform integer in `0..bound`, or 0 for a bound of 0. It takes one word, and
/// more with a chance of `bound / 2^64`.
///
/// Lemire, "Fast random integer generation in an interval", ACM TOMACS 29
/// (2019): the high half of `word * bound`. Words that would make some integers
/// more likely are rejected.
#[inline]
pub(crate) fn below<R: Rng>(bound: u64, rng: &mut R) -> u64 {
    let mut product = u128::from(rng.next_u64()) * u128::from(bound);
    if (product as u64) < bound {
        let surplus = bound.wrapping_neg() % bound;
        while (product as u64) < surplus {
            product = u128::from(rng.next_u64()) * u128::from(bound);
        }
    }
    (product >> 64) as u64
}

#[cfg(test)]
mod tests;
