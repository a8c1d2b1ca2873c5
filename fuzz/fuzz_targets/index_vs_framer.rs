//! See [`INDEX_VS_FRAMER`](atds_fuzz::properties::INDEX_VS_FRAMER).
#![no_main]

atds_fuzz::target!(INDEX_VS_FRAMER);
