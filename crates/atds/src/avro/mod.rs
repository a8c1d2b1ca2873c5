//! Schemas, single records and messages: the part of this crate that knows Avro.
//!
//! | module | what it has |
//! |---|---|
//! | [`schema`] | Avro schemas, their paths, the schemas of files |
//! | [`inference`] | features inferred from a schema |
//! | [`inspect`](mod@inspect) | the contents of a file, by reading all of it |
//! | [`verify`](mod@verify) | verification of files: damage, its places and probable causes |
//! | [`repair`](mod@repair) | repair of files: the blocks without damage, in a new file |
//! | [`records`] | the records of a file one by one |
//! | [`messages`] | batches of records without a container |
//! | [`error`] | errors that only Avro has |

pub(crate) mod build;
pub mod error;
pub(crate) mod file_blocks;
pub mod inference;
pub mod inspect;
pub mod messages;
pub(crate) mod plans;
pub mod records;
pub mod repair;
mod sample;
pub mod schema;
pub mod verify;

#[doc(inline)]
pub use error::ErrorKind;
#[doc(inline)]
pub use inference::infer_features;
#[doc(inline)]
pub use inspect::inspect;
#[doc(inline)]
pub use schema::Schema;

pub(crate) use sample::{SampleOptions, sample_lengths};
