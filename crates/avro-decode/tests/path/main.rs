//! Path expressions: what each form parses to, what is said about texts that
//! are none, and that what is printed parses to the same.

#![allow(clippy::unwrap_used)]

mod build;
mod errors;
mod forms;
mod made;
mod round_trip;
