//! See [`BTABLE_READ`](atds_fuzz::properties::BTABLE_READ).
#![no_main]

atds_fuzz::target!(BTABLE_READ);
