//! What the pipeline promises of good files: order, shuffling, memory, figures.
#![allow(clippy::unwrap_used)]

#[path = "../common/mod.rs"]
mod common;

mod memory;
mod model;
mod order;
mod shuffle;
mod stats;
