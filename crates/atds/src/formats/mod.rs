//! The formats that the pipeline reads, a file each, and the choice of one.

pub(crate) mod avro;
#[cfg(feature = "btable")]
pub(crate) mod btable;
mod choice;
#[cfg(feature = "tfrecord")]
pub(crate) mod tfrecord;

pub use choice::FileFormat;
#[cfg(any(feature = "btable", feature = "tfrecord"))]
pub(crate) use choice::without_shard;
pub(crate) use choice::{Chosen, Counted, Counts, two_formats};

#[cfg(test)]
mod tests {
    #[cfg(feature = "btable")]
    mod btable;
    mod conformance;
    #[cfg(feature = "tfrecord")]
    mod tfrecord;
}
