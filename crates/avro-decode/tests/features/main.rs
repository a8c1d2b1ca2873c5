//! Corner cases of features, each with the tensor or the whole message that
//! comes of it.

#![allow(clippy::unwrap_used)]

mod absent;
mod defaults;
mod dense;
mod filters;
mod given;
mod harness;
mod hostile;
mod missing;
mod names;
mod slices;
mod sparse;
mod truncate;
