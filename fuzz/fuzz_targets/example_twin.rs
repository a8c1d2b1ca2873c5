//! See [`EXAMPLE_TWIN`](atds_fuzz::properties::EXAMPLE_TWIN).
#![no_main]

atds_fuzz::target!(EXAMPLE_TWIN);
