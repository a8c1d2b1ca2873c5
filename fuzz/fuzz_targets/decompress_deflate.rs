//! See [`DECOMPRESS_DEFLATE`](atds_fuzz::properties::DECOMPRESS_DEFLATE).
#![no_main]

atds_fuzz::target!(DECOMPRESS_DEFLATE);
