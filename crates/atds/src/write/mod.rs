//! New files, record by record.
//!
//! A file is written beside its path under a hidden name, and gets its name when it is complete and on the
//! disk: a reader never sees half a file, and a file that was there stays until then. After an error, or if
//! the writer is dropped, nothing is left.
//!
//! ```
//! use atds::write::{AvroFile, AvroOptions, Value};
//! use atds::{Dataset, Feature, DType};
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("ages.avro");
//! let schema = r#"{"type": "record", "name": "Person", "fields": [{"name": "age", "type": "int"}]}"#;
//! let mut file = AvroFile::create(&path, schema, &AvroOptions::default())?;
//! for age in [36, 7] {
//!     file.write(&Value::Record(vec![Value::Int(age)]))?;
//! }
//! assert_eq!(file.finish()?, 2);
//!
//! let ages = Feature::dense("age", &[], DType::Int32);
//! let mut batches = Dataset::builder(&path, 2).features([ages]).build()?.iter();
//! assert_eq!(batches.next().unwrap()?.dense::<i32>("age")?.to_vec(), [36, 7]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod avro;
#[cfg(feature = "tfrecord")]
mod tfrecord;

pub use avro::{AvroFile, AvroOptions};
#[cfg(feature = "tfrecord")]
pub use tfrecord::TfRecordFile;

#[cfg(feature = "tfrecord")]
#[doc(inline)]
pub use atds_tfrecord::{Compression, Example, ExampleEncoder, FeatureValues};
#[doc(inline)]
pub use avro_decode::{Value, ValueError};

pub(crate) use avro::container_error;
