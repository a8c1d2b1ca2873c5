//! See [`VARINTS`](atds_fuzz::properties::VARINTS).
#![no_main]

atds_fuzz::target!(VARINTS);
