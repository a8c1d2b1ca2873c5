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
pub use rng::Stream;
#[doc(hidden)]
pub use sampler::Sampler;
#[doc(hidden)]
pub use state::{ParseStateError, SamplerState};
pub use window::{Window, take_in_order, window_target};
