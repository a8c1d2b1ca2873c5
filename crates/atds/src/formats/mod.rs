//! The formats that the pipeline reads, a file each.

pub(crate) mod avro;
