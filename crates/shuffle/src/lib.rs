#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod hypergeometric;
mod limits;
mod order;
mod rng;
mod sampler;
mod state;
mod thinning;
mod window;

pub use limits::MAX_WINDOW_RECORDS;
pub use order::{block_order, file_order};
pub use sampler::Sampler;
pub use state::{ParseStateError, SamplerState};
pub use window::{take_in_order, window_target};
