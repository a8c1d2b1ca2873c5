//! See [`INFLATE_TWIN`](atds_fuzz::properties::INFLATE_TWIN).
#![no_main]

atds_fuzz::target!(INFLATE_TWIN);
