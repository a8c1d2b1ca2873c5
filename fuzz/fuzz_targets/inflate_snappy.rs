//! See [`INFLATE_SNAPPY`](atds_fuzz::properties::INFLATE_SNAPPY).
#![no_main]

atds_fuzz::target!(INFLATE_SNAPPY);
