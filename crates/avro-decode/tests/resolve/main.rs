//! Schema resolution: each rule and each error; pairs of schemas made by
//! evolving one, against the reference and against the `apache-avro` crate.

#![allow(clippy::unwrap_used)]

#[path = "../common/mod.rs"]
mod common;

mod agreement;
mod defaults;
mod errors;
#[allow(dead_code, reason = "some is for the comparison with `apache-avro`")]
mod evolved;
mod harness;
mod limits;
mod properties;
mod rules;
mod times;
mod unions;
