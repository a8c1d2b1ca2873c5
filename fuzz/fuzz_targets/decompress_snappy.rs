//! See [`DECOMPRESS_SNAPPY`](atds_fuzz::properties::DECOMPRESS_SNAPPY).
#![no_main]

atds_fuzz::target!(DECOMPRESS_SNAPPY);
