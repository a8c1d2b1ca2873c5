//! See [`RESOLVER`](atds_fuzz::properties::RESOLVER).
#![no_main]

atds_fuzz::target!(RESOLVER);
