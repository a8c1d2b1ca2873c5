//! Corner cases of features, each with its tensor or its whole error message.

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
