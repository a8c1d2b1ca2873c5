//! See [`DECOMPRESS_BZIP2`](atds_fuzz::properties::DECOMPRESS_BZIP2).
#![no_main]

atds_fuzz::target!(DECOMPRESS_BZIP2);
