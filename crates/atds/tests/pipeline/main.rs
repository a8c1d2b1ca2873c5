//! Tests of the pipeline with valid files: order, shuffling, memory, figures, inspection.
#![allow(clippy::unwrap_used)]

#[path = "../common/mod.rs"]
mod common;

mod checks;
mod debug;
mod evolution;
mod inspect;
mod layers;
mod meanings;
mod memory;
mod names;
mod order;
mod provenance;
mod roots;
mod runs;
mod sampling;
mod shuffle;
mod slices;
mod splits;
mod splits_at_damage;
mod splits_by_field;
mod stats;
mod tolerate;
mod trace;
mod turns;
mod waiting;
