//! See [`FILTER`](atds_fuzz::properties::FILTER).
#![no_main]

atds_fuzz::target!(FILTER);
