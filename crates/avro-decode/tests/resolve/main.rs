//! Tests of schema resolution: each rule, each error, and random pairs of schemas. The random pairs
//! are also compared with the reference and with the `apache-avro` crate.

#![allow(clippy::unwrap_used)]

#[path = "../common/mod.rs"]
mod common;

mod agreement;
mod defaults;
mod errors;
#[allow(dead_code, reason = "the comparison with `apache-avro` uses the rest")]
mod evolved;
mod harness;
mod limits;
mod properties;
mod rules;
mod times;
mod unions;
