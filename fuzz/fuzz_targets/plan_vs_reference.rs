//! See [`PLAN_VS_REFERENCE`](atds_fuzz::properties::PLAN_VS_REFERENCE).
#![no_main]

atds_fuzz::target!(PLAN_VS_REFERENCE);
