//! See [`INFLATE_DEFLATE`](atds_fuzz::properties::INFLATE_DEFLATE).
#![no_main]

atds_fuzz::target!(INFLATE_DEFLATE);
