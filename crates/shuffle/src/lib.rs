#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod hypergeometric;
mod limits;
mod order;
mod rng;
mod window;

pub use limits::MAX_WINDOW_RECORDS;
pub use order::{block_order, file_order};
pub use rng::Stream;
pub use window::{Window, window_target};
