//! See [`DECOMPRESS_XZ`](atds_fuzz::properties::DECOMPRESS_XZ).
#![no_main]

atds_fuzz::target!(DECOMPRESS_XZ);
