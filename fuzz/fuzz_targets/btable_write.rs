//! See [`BTABLE_WRITE`](atds_fuzz::properties::BTABLE_WRITE).
#![no_main]

atds_fuzz::target!(BTABLE_WRITE);
