//! See [`PIPELINE`](atds_fuzz::properties::PIPELINE).
#![no_main]

atds_fuzz::target!(PIPELINE);
