//! See [`DECOMPRESS_ZSTANDARD`](atds_fuzz::properties::DECOMPRESS_ZSTANDARD).
#![no_main]

atds_fuzz::target!(DECOMPRESS_ZSTANDARD);
