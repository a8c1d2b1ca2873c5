//! Records without a container, as in the messages of a queue: batches of them,
//! and the same records by another schema.
//!
//! A message is one record. What a file's header says must be known otherwise:
//! the schema that wrote it. Either all messages are of one, or each has the
//! header of Avro's single-object encoding (Avro 1.12, "Single-object
//! encoding"), whose fingerprint says of which; see [`Framing`].
//!
//! - [`MessageDecoder`] makes a batch of messages, a row each, by the same plan
//!   and with the same features as a [`Dataset`](crate::Dataset).
//! - [`Reencoder`] makes a message of a message, by Avro's schema resolution: for
//!   readers that want whole records of one schema, whatever wrote them.

mod builder;
mod decoder;
mod reencoder;
mod writers;

pub use builder::MessageDecoderBuilder;
pub use decoder::MessageDecoder;
pub use reencoder::{Reencoder, ReencoderBuilder};

/// What a message is besides its record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Framing {
    /// Nothing: all messages are of one schema.
    #[default]
    Raw,
    /// The header of single-object encoding: a marker of two bytes, and the
    /// [fingerprint](crate::Schema::fingerprint) of the schema in eight.
    SingleObject,
}
