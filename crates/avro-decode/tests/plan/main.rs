//! Compares the plan with the reference decoder, and tests its errors.

#[path = "../common/mod.rs"]
mod common;

mod agreement;
mod corruption;
mod data_errors;
mod examples;
mod harness;
mod inference;
mod made;
mod meanings;
mod properties;
mod schema_errors;
mod sorts;
mod sparse_errors;
