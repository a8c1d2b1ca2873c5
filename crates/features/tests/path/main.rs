//! Tests of path expressions: the steps of each form, errors, and parsing printed paths.

#![allow(clippy::unwrap_used)]

mod build;
mod errors;
mod forms;
mod made;
mod round_trip;
