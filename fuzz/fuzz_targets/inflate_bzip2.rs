//! See [`INFLATE_BZIP2`](atds_fuzz::properties::INFLATE_BZIP2).
#![no_main]

atds_fuzz::target!(INFLATE_BZIP2);
