//! Records without a container, such as the messages of a queue: decoding them into batches, and
//! re-encoding them by another schema.
//!
//! A message is one record. There is no file header, so the writer's schema must be known. Either
//! all messages have one schema, or each has the header of Avro's single-object encoding (Avro
//! 1.12, "Single-object encoding"), whose fingerprint identifies the schema; see [`Framing`].
//!
//! - [`MessageDecoder`] decodes messages into a batch, a row each, with the same features as a
//!   [`Dataset`](crate::Dataset).
//! - [`Reencoder`] re-encodes messages by Avro's schema resolution, for readers that need whole
//!   records of one schema.

mod builder;
mod decoder;
mod reencoder;
mod writers;

pub use builder::MessageDecoderBuilder;
pub use decoder::MessageDecoder;
pub use reencoder::{Reencoder, ReencoderBuilder};

/// The framing of a message around its record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Framing {
    /// No framing: all messages have one schema.
    #[default]
    Raw,
    /// The header of single-object encoding: a marker of two bytes, and the
    /// [fingerprint](crate::avro::Schema::fingerprint) of the schema in eight.
    SingleObject,
}
