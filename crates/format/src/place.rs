use std::fmt;

use crate::Location;

/// A place in the files of a dataset, or in messages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Place {
    /// The file: a path or a URL.
    pub location: Option<Location>,
    /// The fingerprint of the writer's schema, if messages are single objects.
    pub schema: Option<u64>,
    /// The byte offset in the file: of the fault, or of its block if the block is compressed. For
    /// messages, the offset in the message.
    pub offset: Option<u64>,
    /// Whether the file is packed as a whole, by gzip or zstandard: offsets then count in the
    /// unpacked file.
    pub unpacked: bool,
    /// The number of the block in the file, counted from 0.
    pub block: Option<u64>,
    /// The byte offset in the decompressed block, if the block is compressed.
    pub decompressed_offset: Option<u64>,
    /// The number of the record in the block, counted from 0; without a block, in the file; for messages,
    /// the index of the message.
    pub record: Option<u64>,
    /// The field, with dots for nested fields.
    pub field: Option<String>,
}

impl Place {
    /// The place and what is wrong there, `message`. Text from data is not escaped.
    pub fn locate(&self, message: &dyn fmt::Display) -> String {
        let mut text = self.to_string();
        if !text.is_empty() {
            text += ": ";
        }
        if let Some(field) = &self.field {
            text += &format!("field '{field}': ");
        }
        text += &message.to_string();
        if let Some(offset) = self.decompressed_offset {
            text += &format!(" (byte {offset} of the decompressed block)");
        }
        text
    }
}

/// Writes the place down to the record: `x.avro: block 0 at byte 139: record 1`.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        parts.extend(self.location.as_ref().map(ToString::to_string));
        parts.extend(self.schema.map(|schema| format!("schema {schema:016x}")));
        // Records without a file are messages. A file that is read as a whole may have no blocks.
        let noun = if self.location.is_some() {
            "record"
        } else {
            "message"
        };
        let (number, record) = match (self.block, self.record) {
            (Some(block), record) => (Some(format!("block {block}")), record),
            (None, record) => (record.map(|record| format!("{noun} {record}")), None),
        };
        let of = if self.unpacked {
            " of the unpacked file"
        } else {
            ""
        };
        let byte = self.offset.map(|offset| format!("byte {offset}{of}"));
        parts.extend(match (number, byte) {
            (Some(number), Some(byte)) => Some(format!("{number} at {byte}")),
            (number, byte) => number.or(byte),
        });
        parts.extend(record.map(|record| format!("record {record}")));
        f.write_str(&parts.join(": "))
    }
}
