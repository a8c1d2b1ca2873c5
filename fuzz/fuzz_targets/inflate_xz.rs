//! See [`INFLATE_XZ`](atds_fuzz::properties::INFLATE_XZ).
#![no_main]

atds_fuzz::target!(INFLATE_XZ);
