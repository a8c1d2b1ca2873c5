//! The state of a sampler, to be saved and restored.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// The state of a [`Sampler`](crate::Sampler): three numbers, printed as one line
/// of text.
///
/// ```
/// use atds_shuffle::SamplerState;
///
/// let mut state = SamplerState::new(42, 3);
/// state.draws = 17;
/// assert_eq!(state.to_string(), "seed=42 epoch=3 draws=17");
/// assert_eq!("seed=42 epoch=3 draws=17".parse(), Ok(state));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct SamplerState {
    /// The seed.
    pub seed: u64,
    /// The epoch.
    pub epoch: u64,
    /// Number of draws made in this epoch.
    pub draws: u64,
}

impl SamplerState {
    /// The state at the start of an epoch.
    pub fn new(seed: u64, epoch: u64) -> Self {
        SamplerState {
            seed,
            epoch,
            draws: 0,
        }
    }
}

impl fmt::Display for SamplerState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SamplerState { seed, epoch, draws } = self;
        write!(f, "seed={seed} epoch={epoch} draws={draws}")
    }
}

/// A text that is not a [`SamplerState`].
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParseStateError {
    /// A part is missing, or not in its place.
    #[error("expected '{field}=' and a number")]
    Missing {
        /// The expected part: `seed`, `epoch` or `draws`.
        field: &'static str,
    },
    /// A part is not a number of 64 bits.
    #[error("'{field}' is not a number from 0 to {}", u64::MAX)]
    NotANumber {
        /// The part: `seed`, `epoch` or `draws`.
        field: &'static str,
    },
    /// There is text after the last part.
    #[error("something follows 'draws'")]
    Trailing,
}

impl FromStr for SamplerState {
    type Err = ParseStateError;

    fn from_str(text: &str) -> Result<Self, ParseStateError> {
        let mut parts = text.split_whitespace();
        let mut part = |field| {
            let number = parts
                .next()
                .and_then(|part| part.strip_prefix(field)?.strip_prefix('='))
                .ok_or(ParseStateError::Missing { field })?;
            number
                .parse()
                .map_err(|_| ParseStateError::NotANumber { field })
        };
        let state = SamplerState {
            seed: part("seed")?,
            epoch: part("epoch")?,
            draws: part("draws")?,
        };
        match parts.next() {
            Some(_) => Err(ParseStateError::Trailing),
            None => Ok(state),
        }
    }
}
