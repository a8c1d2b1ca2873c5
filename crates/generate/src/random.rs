//! Random numbers, determined by a seed and a record's number.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::{SplitMix64, Xoshiro256PlusPlus};

/// Random numbers, the same on every platform.
#[derive(Clone, Debug)]
pub(crate) struct Random(Xoshiro256PlusPlus);

impl Random {
    /// The numbers of stream `index` under `seed`: each record has its own stream, so that it does
    /// not depend on the file in which it is written.
    pub(crate) fn new(seed: u64, index: u64) -> Self {
        let mixed = SplitMix64::seed_from_u64(seed).next_u64();
        Random(Xoshiro256PlusPlus::seed_from_u64(mixed ^ index))
    }

    /// 64 random bits.
    #[inline]
    pub(crate) fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number below `n`, by Lemire's multiplication without the rejection: no number is likelier
    /// than another by more than `n` in 2^64.
    #[inline]
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(n)) >> 64) as u64
    }
}
