//! See [`EXPRESSION`](atds_fuzz::properties::EXPRESSION).
#![no_main]

atds_fuzz::target!(EXPRESSION);
