//! See [`TFRECORD_FRAMING`](atds_fuzz::properties::TFRECORD_FRAMING).
#![no_main]

atds_fuzz::target!(TFRECORD_FRAMING);
