//! Draws the records of a batch from a window, as a count for each block.

use rand_core::Rng;

use crate::SamplerState;
use crate::hypergeometric::hypergeometric;
use crate::limits::MAX_WINDOW_RECORDS;
use crate::rng::{Purpose, words};
use crate::thinning;

/// Draws batches from a window of blocks, uniformly without replacement.
///
/// `(seed, epoch)`, the number of earlier draws and the unread counts fix a draw,
/// on every platform. Each draw has a stream of random words of its own. So three
/// numbers, the [`SamplerState`], restore a sampler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sampler {
    state: SamplerState,
}

impl Sampler {
    /// A sampler at the start of an epoch.
    pub fn new(seed: u64, epoch: u64) -> Self {
        Self::from_state(SamplerState::new(seed, epoch))
    }

    /// A sampler that continues from `state`.
    pub fn from_state(state: SamplerState) -> Self {
        Sampler { state }
    }

    /// The state of the sampler.
    pub fn state(&self) -> SamplerState {
        self.state
    }

    /// Draws `draws` of the window's unread records, or all if there are fewer.
    /// `counts[i]` becomes the number of drawn records among the `unread[i]`
    /// records of block `i`.
    ///
    /// The counts have exactly the multivariate hypergeometric distribution, as if
    /// records were drawn one by one, each time uniformly from the records that are
    /// left. The expected time is proportional to the number of blocks. Nothing is
    /// allocated.
    ///
    /// Records beyond [`MAX_WINDOW_RECORDS`] are left for later draws.
    ///
    /// # Panics
    /// If `unread` and `counts` differ in length.
    pub fn draw(&mut self, unread: &[u64], draws: u64, counts: &mut [u64]) {
        assert_eq!(unread.len(), counts.len(), "one count for each block");
        let SamplerState {
            seed,
            epoch,
            draws: number,
        } = self.state;
        let mut rng = words(seed, epoch, Purpose::Draw(number));
        self.state.draws = number.wrapping_add(1);
        draw(unread, draws, counts, &mut rng);
    }
}

/// Draws all blocks together if they are many and small, else one after another.
pub(crate) fn draw<R: Rng>(unread: &[u64], draws: u64, counts: &mut [u64], rng: &mut R) {
    let considered = |total: u64, unread: u64| unread.min(MAX_WINDOW_RECORDS - total);
    let (mut total, mut most) = (0, 0);
    for &unread in unread {
        total += considered(total, unread);
        most = unread.max(most);
    }
    let mut draws = draws.min(total);
    if thinning::pays(unread.len(), total, most) {
        return thinning::draw(unread, total, most, draws, counts, rng);
    }
    // A block draws from the draws that the blocks before it left: the chain rule of
    // the multivariate hypergeometric distribution.
    let mut seen = 0;
    for (count, &unread) in counts.iter_mut().zip(unread) {
        let good = considered(seen, unread);
        seen += good;
        *count = hypergeometric(total, good, draws, rng);
        total -= good;
        draws -= *count;
    }
}

#[cfg(test)]
mod tests;
