//! See [`INFLATE_ZSTANDARD`](atds_fuzz::properties::INFLATE_ZSTANDARD).
#![no_main]

atds_fuzz::target!(INFLATE_ZSTANDARD);
