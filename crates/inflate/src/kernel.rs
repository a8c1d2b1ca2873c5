//! The two inner loops, for the instructions that the processor has.
//!
//! [`Kernel::run`] makes the lookups of several streams by turns, without a branch that could be
//! mispredicted. [`Kernel::split`] separates literals from lengths and distances.

mod generic;
#[cfg(target_arch = "x86_64")]
mod x86;

use crate::LANES;
use crate::bits::Span;
use crate::lane::Lane;
use crate::tokens::Tokens;

/// Lookups from the bits of one load. The 57 bits are enough for any three.
const LOOKUPS_PER_ROUND: usize = 3;
/// Rounds between two checks whether a lane has halted.
const ROUNDS_PER_CHECK: usize = 16;
/// Lookups between two checks.
const LOOKUPS_PER_CHECK: usize = LOOKUPS_PER_ROUND * ROUNDS_PER_CHECK;
/// Maximum number of checks before the lookups are written.
const MAX_CHECKS: usize = 8;
/// Maximum number of lookups before they are written. Their results and the tables fit the
/// first-level cache together.
pub(crate) const MAX_LOOKUPS: usize = LOOKUPS_PER_CHECK * MAX_CHECKS;

/// Rounds of that many lookups.
pub(crate) const MAX_ROUNDS: usize = ROUNDS_PER_CHECK * MAX_CHECKS;

/// The lookups of a lane.
#[derive(Clone, Debug)]
pub(crate) struct Lookups {
    /// The entries.
    pub(crate) entries: [[u32; LOOKUPS_PER_CHECK]; MAX_CHECKS],
    /// For each entry: the bits of the stream from its code on.
    pub(crate) words: [[u32; LOOKUPS_PER_CHECK]; MAX_CHECKS],
}

impl Lookups {
    pub(crate) const NONE: Self = Lookups {
        entries: [[0; LOOKUPS_PER_CHECK]; MAX_CHECKS],
        words: [[0; LOOKUPS_PER_CHECK]; MAX_CHECKS],
    };
}

/// An implementation of the inner loops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kernel {
    /// On any processor.
    Generic,
    /// With AVX2 and BMI2, which came together.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// With AVX-512 VBMI2 and BITALG as well, which compress bytes and count bits.
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Kernel {
    /// The fastest kernel of this processor.
    pub(crate) fn detect() -> Self {
        Self::all().next().unwrap_or(Kernel::Generic)
    }

    /// All kernels of this processor, the fastest first.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        #[cfg(target_arch = "x86_64")]
        let those_of_machine = [
            x86::has_masks().then_some(Kernel::Avx512),
            x86::is_supported().then_some(Kernel::Avx2),
        ];
        #[cfg(not(target_arch = "x86_64"))]
        let those_of_machine: [Option<Self>; 0] = [];
        let those_of_machine = those_of_machine.into_iter().flatten();
        those_of_machine.chain([Kernel::Generic])
    }

    /// Makes lookups in all `lanes`, which read `spans`, until a lane halts or [`MAX_LOOKUPS`] are
    /// done. Returns the number of lookups of each lane.
    pub(crate) fn run(self, lanes: &mut [Lane], spans: &[&Span; LANES]) -> usize {
        match lanes.len() {
            1 => self.run_all::<1>(lanes, spans),
            2 => self.run_all::<2>(lanes, spans),
            3 => self.run_all::<3>(lanes, spans),
            _ => self.run_all::<4>(lanes, spans),
        }
    }

    fn run_all<const N: usize>(self, lanes: &mut [Lane], spans: &[&Span; LANES]) -> usize {
        let (Some(lanes), Some(spans)) = (lanes.first_chunk_mut(), spans.first_chunk::<N>()) else {
            return 0;
        };
        match self {
            Kernel::Generic => generic::run(lanes, spans),
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx2 | Kernel::Avx512 => x86::run(lanes, spans),
        }
    }

    /// Sorts the first `count` of `lookups` into `tokens`, after the token that may be left of the
    /// lookups before.
    pub(crate) fn split(self, lookups: &Lookups, count: usize, tokens: &mut Tokens) {
        match self {
            Kernel::Generic => generic::split(lookups, count, tokens),
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx2 => x86::split(lookups, count, tokens),
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx512 => x86::split_by_masks(lookups, count, tokens),
        }
    }
}
