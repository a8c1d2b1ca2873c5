//! See [`SCHEMA`](atds_fuzz::properties::SCHEMA).
#![no_main]

atds_fuzz::target!(SCHEMA);
