//! See [`HEADER`](atds_fuzz::properties::HEADER).
#![no_main]

atds_fuzz::target!(HEADER);
