//! See [`FRAMER_CHUNKED`](atds_fuzz::properties::FRAMER_CHUNKED).
#![no_main]

atds_fuzz::target!(FRAMER_CHUNKED);
