//! Re-encodes messages by another schema.

use std::fmt;
use std::sync::Arc;

use avro_decode::{DecodeError, DecodeErrorKind, Resolution, Schema, Transcoder, single_object};

use super::Framing;
use super::writers::Writers;
use crate::{Error, avro};

/// Re-encodes messages of a writer's schema by a reader's schema, following Avro's schema
/// resolution. Fields that the writer lacks get the reader's defaults. Fields that the reader lacks
/// are left out. The other fields are renamed, reordered and promoted. No values are built in
/// between.
///
/// ```
/// use atds::avro::Schema;
/// use atds::avro::messages::Reencoder;
///
/// let old = Schema::parse(r#"{"type": "record", "name": "R", "fields": [
///     {"name": "gone", "type": "string"},
///     {"name": "n", "type": "int"}
/// ]}"#)?;
/// let new = Schema::parse(r#"{"type": "record", "name": "R", "fields": [
///     {"name": "n", "type": "long"},
///     {"name": "added", "type": "boolean", "default": true}
/// ]}"#)?;
/// let reencoder = Reencoder::new(old, new)?;
/// let mut out = Vec::new();
/// reencoder.reencode(&[2, b'x', 6], &mut out)?;
/// assert_eq!(out, [6, 1]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Reencoder {
    transcoders: Writers<Transcoder>,
    /// The first bytes of each message.
    header: Option<[u8; single_object::HEADER_LEN]>,
}

impl fmt::Debug for Reencoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reencoder").finish_non_exhaustive()
    }
}

impl Reencoder {
    /// A re-encoder from raw records of the schema `writer` to raw records of `reader`.
    ///
    /// # Errors
    /// The writer's schema cannot become the reader's.
    pub fn new(
        writer: impl Into<Arc<Schema>>,
        reader: impl Into<Arc<Schema>>,
    ) -> Result<Self, Error> {
        Reencoder::builder(writer, reader).build()
    }

    /// A builder, for options.
    pub fn builder(
        writer: impl Into<Arc<Schema>>,
        reader: impl Into<Arc<Schema>>,
    ) -> ReencoderBuilder {
        ReencoderBuilder {
            writers: vec![writer.into()],
            reader: reader.into(),
            input: Framing::default(),
            output: Framing::default(),
        }
    }

    /// Appends the record of `message`, by the reader's schema, to `out`.
    ///
    /// # Errors
    /// The message is not a record of its schema, does not fit the reader's schema, or has bytes
    /// after the record. The error gives the offset; `out` is unchanged.
    pub fn reencode(&self, message: &[u8], out: &mut Vec<u8>) -> Result<(), Error> {
        let message = self.transcoders.of(message)?;
        let start = out.len();
        out.extend(self.header.iter().flatten());
        transcode(message.reader, message.record, out).map_err(|error| {
            out.truncate(start);
            Error::decode_message(error, message.start()).of_schema(message.fingerprint)
        })
    }
}

/// Builds a [`Reencoder`]; every option has a default.
#[derive(Clone)]
#[must_use]
pub struct ReencoderBuilder {
    writers: Vec<Arc<Schema>>,
    reader: Arc<Schema>,
    input: Framing,
    output: Framing,
}

impl fmt::Debug for ReencoderBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReencoderBuilder")
            .field("writers", &self.writers.len())
            .field("input", &self.input)
            .field("output", &self.output)
            .finish_non_exhaustive()
    }
}

impl ReencoderBuilder {
    /// The framing of input messages; raw records by default.
    pub fn input_framing(mut self, framing: Framing) -> Self {
        self.input = framing;
        self
    }

    /// The framing of re-encoded messages; raw records by default.
    pub fn output_framing(mut self, framing: Framing) -> Self {
        self.output = framing;
        self
    }

    /// Adds another writer's schema. The messages must be single objects, which name their schema.
    pub fn writer_schema(mut self, schema: impl Into<Arc<Schema>>) -> Self {
        self.writers.push(schema.into());
        self
    }

    /// Resolves each writer's schema to the reader's.
    ///
    /// # Errors
    /// A writer's schema that cannot become the reader's; several writers' schemas for raw
    /// messages; or two schemas of one fingerprint that differ in logical types.
    pub fn build(self) -> Result<Reencoder, Error> {
        let transcoders = Writers::new(self.input, &self.writers, |writer| {
            Resolution::new(writer.clone(), self.reader.clone())
                .map(|resolution| Transcoder::new(&resolution))
                .map_err(|error| Error::new(avro::ErrorKind::Resolve(Box::new(error))))
        })?;
        let header = match self.output {
            Framing::Raw => None,
            Framing::SingleObject => Some(single_object::header(self.reader.fingerprint())),
        };
        Ok(Reencoder {
            transcoders,
            header,
        })
    }
}

/// Re-encodes a record and nothing else.
fn transcode(transcoder: &Transcoder, record: &[u8], out: &mut Vec<u8>) -> Result<(), DecodeError> {
    let read = transcoder.transcode(record, out)?;
    match record.len() - read {
        0 => Ok(()),
        left => Err(trailing_bytes(left, read)),
    }
}

#[cold]
fn trailing_bytes(left: usize, offset: usize) -> DecodeError {
    DecodeError::new(DecodeErrorKind::TrailingBytes { left }, offset)
}
