//! The contract of the crate: a batch is what its rows say, however many runs
//! and threads wrote it and whatever memory it was given.

mod any;
mod buffers;
mod exact;
mod model;
mod padded;
mod recycling;
mod runs;
mod specs;
mod values;
mod views;
