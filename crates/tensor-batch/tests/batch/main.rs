//! The contract of the crate: a batch depends on its rows alone, not on the number of runs and
//! threads, and not on its memory.

mod any;
mod buffers;
mod exact;
mod model;
mod owned;
mod padded;
mod recycling;
mod runs;
mod specs;
mod values;
mod views;
