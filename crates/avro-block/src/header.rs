//! The file header: magic, metadata map, sync marker.
//!
//! Avro 1.12 specification, "Object Container Files". The map is Avro's `map<bytes>`: a series of
//! blocks of entries. Each block begins with its count, and a count of zero ends the map. After a
//! negative count comes the block's size in bytes.

mod parser;

use atds_codec::Codec;
use bytes::Bytes;

use crate::sync::SyncMarker;

pub(crate) use parser::{HeaderParser, Progress};

/// The four bytes every Avro object container file begins with.
pub const MAGIC: [u8; 4] = *b"Obj\x01";

/// Metadata key of the schema.
pub(crate) const SCHEMA_KEY: &str = "avro.schema";
/// Metadata key of the codec's name.
pub(crate) const CODEC_KEY: &str = "avro.codec";
/// Prefix of the keys that the specification reserves.
pub(crate) const RESERVED_PREFIX: &str = "avro.";

/// A file's header, read and checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    schema: String,
    codec: Codec,
    pub(crate) sync: SyncMarker,
    metadata: Vec<(String, Bytes)>,
    len: u64,
}

impl Header {
    /// The writer's schema: its JSON text as in the file, not parsed.
    pub fn schema(&self) -> &str {
        &self.schema
    }

    /// The codec of every payload in the file; [`Codec::Null`] if the header names none.
    pub fn codec(&self) -> Codec {
        self.codec
    }

    /// The marker that ends the header and every block.
    pub fn sync(&self) -> SyncMarker {
        self.sync
    }

    /// All metadata, `avro.schema` and `avro.codec` included, in file order.
    ///
    /// A key that occurs twice is listed twice; all other methods use its last value.
    pub fn metadata(&self) -> &[(String, Bytes)] {
        &self.metadata
    }

    /// The metadata value under `key`.
    pub fn get(&self, key: &str) -> Option<&[u8]> {
        let entry = self.metadata.iter().rev().find(|(k, _)| k == key);
        entry.map(|(_, value)| value.as_ref())
    }

    /// Bytes of the header, which is also the file offset of the first block.
    #[allow(clippy::len_without_is_empty)] // A header is never empty.
    pub fn len(&self) -> u64 {
        self.len
    }
}
