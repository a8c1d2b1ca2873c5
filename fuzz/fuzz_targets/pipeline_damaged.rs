//! See [`PIPELINE_DAMAGED`](atds_fuzz::properties::PIPELINE_DAMAGED).
#![no_main]

atds_fuzz::target!(PIPELINE_DAMAGED);
