//! The file header: magic, metadata map, sync marker.
//!
//! Avro 1.12 specification, "Object Container Files". The map is Avro's `map<bytes>`: blocks of
//! entries, each block after its count, ended by a count of zero; a negative count is followed by
//! the block's size in bytes.

mod parser;

use bytes::Bytes;

use crate::codec::Codec;
use crate::sync::SyncMarker;

pub(crate) use parser::{HeaderParser, Progress};

/// The four bytes every Avro object container file begins with.
pub const MAGIC: [u8; 4] = *b"Obj\x01";

/// Metadata key of the schema.
pub(crate) const SCHEMA_KEY: &str = "avro.schema";
/// Metadata key of the codec's name.
pub(crate) const CODEC_KEY: &str = "avro.codec";
/// What the keys begin with that the specification keeps for itself.
pub(crate) const RESERVED_PREFIX: &str = "avro.";

/// A file's header, read and checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    schema: String,
    codec: Codec,
    sync: SyncMarker,
    metadata: Vec<(String, Bytes)>,
    len: u64,
}

impl Header {
    /// The writer's schema: the JSON text as it stands in the file, not looked into.
    pub fn schema(&self) -> &str {
        &self.schema
    }

    /// The codec of every payload in the file; [`Codec::Null`] where the header names none.
    pub fn codec(&self) -> Codec {
        self.codec
    }

    /// The marker that ends the header and every block.
    pub fn sync(&self) -> SyncMarker {
        self.sync
    }

    /// All metadata, `avro.schema` and `avro.codec` included, in file order.
    ///
    /// A key that stands twice is here twice; everywhere else its last value counts.
    pub fn metadata(&self) -> &[(String, Bytes)] {
        &self.metadata
    }

    /// The metadata value under `key`.
    pub fn get(&self, key: &str) -> Option<&[u8]> {
        let entry = self.metadata.iter().rev().find(|(k, _)| k == key);
        entry.map(|(_, value)| value.as_ref())
    }

    /// Bytes the header takes: the offset in the file of its first block.
    #[allow(clippy::len_without_is_empty)] // A header is never empty.
    pub fn len(&self) -> u64 {
        self.len
    }
}
