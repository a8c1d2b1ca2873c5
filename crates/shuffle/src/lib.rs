#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod hypergeometric;
mod limits;
mod order;
mod rng;
mod window;

pub use limits::{MAX_WINDOW_RECORDS, RUN_BYTES};
pub use order::{block_order, file_order, run_order};
pub use rng::Stream;
pub use window::{Window, window_target};
