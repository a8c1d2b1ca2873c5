//! The two inner loops, for the instructions that the processor has.
//!
//! [`Kernel::run`] does nothing but lookups, of several streams by turns; it decides nothing, so
//! that nothing is mispredicted. [`Kernel::split`] tells literals from lengths and distances.

mod generic;
#[cfg(target_arch = "x86_64")]
mod x86;

use crate::LANES;
use crate::bits::Window;
use crate::lane::Lane;
use crate::tokens::Tokens;

/// Lookups in the bits of one load: 57 are enough for any three.
const ROUND: usize = 3;
/// Rounds between two looks at whether a lane has halted.
const ROUNDS: usize = 16;
/// Lookups between two looks.
const SPRINT: usize = ROUND * ROUNDS;
/// Most sprints before what was looked up is written.
const SPRINTS: usize = 8;
/// Most lookups before what was looked up is written. What they leave fits the first-level cache
/// beside the tables.
pub(crate) const STEPS: usize = SPRINT * SPRINTS;

/// The rounds that make as many steps.
pub(crate) const MOST_ROUNDS: usize = ROUNDS * SPRINTS;

/// What a lane's lookups found.
#[derive(Clone, Debug)]
pub(crate) struct Steps {
    /// The entries.
    pub(crate) entries: [[u32; SPRINT]; SPRINTS],
    /// The bits of the stream from each entry's code on.
    pub(crate) words: [[u32; SPRINT]; SPRINTS],
}

impl Steps {
    pub(crate) const NONE: Self = Steps {
        entries: [[0; SPRINT]; SPRINTS],
        words: [[0; SPRINT]; SPRINTS],
    };
}

/// A way to run the inner loops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kernel {
    /// On any processor.
    Generic,
    /// With AVX2 and BMI2, which came together.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// With AVX-512 too, as processors have it that compress bytes and count bits with it.
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Kernel {
    /// The fastest that this processor has.
    pub(crate) fn detect() -> Self {
        Self::all().next().unwrap_or(Kernel::Generic)
    }

    /// All that this processor has, the fastest first.
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

    /// Looks up what comes next in all `lanes`, which read `windows`, until one halts or [`STEPS`]
    /// are done, and returns how many are.
    pub(crate) fn run(self, lanes: &mut [Lane], windows: &[&Window; LANES]) -> usize {
        match lanes.len() {
            1 => self.run_all::<1>(lanes, windows),
            2 => self.run_all::<2>(lanes, windows),
            3 => self.run_all::<3>(lanes, windows),
            _ => self.run_all::<4>(lanes, windows),
        }
    }

    fn run_all<const N: usize>(self, lanes: &mut [Lane], windows: &[&Window; LANES]) -> usize {
        let (Some(lanes), Some(windows)) = (lanes.first_chunk_mut(), windows.first_chunk::<N>())
        else {
            return 0;
        };
        match self {
            Kernel::Generic => generic::run(lanes, windows),
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx2 | Kernel::Avx512 => x86::run(lanes, windows),
        }
    }

    /// Sorts the first `count` of `steps` into `tokens`, behind the token that may be left of the
    /// steps before.
    pub(crate) fn split(self, steps: &Steps, count: usize, tokens: &mut Tokens) {
        match self {
            Kernel::Generic => generic::split(steps, count, tokens),
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx2 => x86::split(steps, count, tokens),
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx512 => x86::split_by_masks(steps, count, tokens),
        }
    }
}
