//! The crate's error: what is wrong, at which byte, in which block.

use std::fmt;
use std::io;
use std::sync::Arc;

use atds_codec::{Codec, CompressError, DecompressError};

use crate::diagnose::{Found, InsteadOfAvro};
use crate::sync::SyncMarker;

/// An error in a container file: its kind and its position.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Error {
    /// What is wrong.
    pub kind: ErrorKind,
    /// Offset in the file of the first wrong byte.
    pub offset: u64,
    /// Index of the block, as in [`Block::index`](crate::Block::index); `None` for the header and
    /// for the file as a whole.
    pub block: Option<u64>,
}

impl Error {
    /// An error of `kind` at byte `offset` of the file, in `block` if it lies in one.
    #[cold]
    pub fn new(kind: impl Into<ErrorKind>, offset: u64, block: Option<u64>) -> Self {
        Self {
            kind: kind.into(),
            offset,
            block,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.block {
            Some(block) => write!(f, "block {block} at byte {}: {}", self.offset, self.kind),
            None => write!(f, "byte {}: {}", self.offset, self.kind),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        // This error's text already contains the kind's text.
        std::error::Error::source(&self.kind)
    }
}

/// What can be wrong with a container file, or with writing one.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The file has no bytes.
    #[error("the file is empty")]
    Empty,
    /// The first four bytes are not Avro's magic.
    #[error("{}", InsteadOfAvro(*.found))]
    NotAvro {
        /// The file's format, if it is known.
        found: Option<Found>,
    },
    /// The bytes after a whole block, or after the header, begin no block. They need not belong to
    /// the file. [`TrailingBytes::LeaveOut`](crate::TrailingBytes::LeaveOut) leaves them out if
    /// that is certain.
    #[error("{}", not_a_block(*.found, .cause))]
    NotABlock {
        /// The format of the bytes.
        found: Found,
        /// The error of reading the bytes as a block.
        cause: Box<ErrorKind>,
    },
    /// The file ends inside the header or inside a block.
    #[error("the file ends inside {part}, {missing} or more bytes short")]
    Truncated {
        /// The part inside which, or before which, the file ends.
        part: ContainerPart,
        /// Minimum number of bytes that the part still needs.
        missing: u64,
    },
    /// A variable-length integer longer than ten bytes, or above 64 bits.
    #[error("{part} is not a variable-length integer of 64 bits")]
    BadVarint {
        /// The part that the integer encodes.
        part: ContainerPart,
    },
    /// A block's record count below zero.
    #[error("the record count is negative: {0}")]
    NegativeCount(i64),
    /// A size in bytes below zero.
    #[error("{part} is negative: {value}")]
    NegativeSize {
        /// The part that the size belongs to.
        part: ContainerPart,
        /// The size.
        value: i64,
    },
    /// A declared count or size above its limit in [`Limits`](crate::Limits).
    #[error("{part} is {value}, above the limit of {limit}{}", raise(*.part))]
    TooLarge {
        /// The part whose value was declared.
        part: ContainerPart,
        /// The declared value.
        value: u64,
        /// The limit it exceeds.
        limit: u64,
    },
    /// The sixteen bytes after a block's payload are not the file's sync marker.
    #[error("the sync marker does not match: expected {expected}, found {found}")]
    SyncMismatch {
        /// The file's marker.
        expected: SyncMarker,
        /// The bytes in the marker's place.
        found: SyncMarker,
    },
    /// The bytes of a block are not the block that was indexed.
    #[error("the block is not the one that was indexed: the file has changed since")]
    BlockChanged,
    /// A key of the metadata map is not UTF-8.
    #[error("a metadata key is not UTF-8")]
    KeyNotUtf8,
    /// The header has no `avro.schema`.
    #[error("the header has no schema (no entry avro.schema)")]
    MissingSchema,
    /// The schema is not UTF-8.
    #[error("the schema is not UTF-8")]
    SchemaNotUtf8,
    /// The header names a codec that Avro does not define.
    #[error("{}", unknown_codec(.0))]
    UnknownCodec(String),
    /// A payload that its codec cannot decompress.
    #[error(transparent)]
    Decompress(#[from] DecompressError),
    /// A payload that could not be compressed.
    #[error(transparent)]
    Compress(#[from] CompressError),
    /// A key of user metadata that the specification reserves.
    #[error("metadata key {0:?}: keys that begin with avro. are reserved")]
    ReservedKey(String),
    /// Reading or writing failed.
    #[error("{0}")]
    Io(#[source] Arc<io::Error>),
}

impl From<io::Error> for ErrorKind {
    fn from(error: io::Error) -> Self {
        Self::Io(Arc::new(error))
    }
}

/// The error text for bytes after a block that begin no block.
fn not_a_block(found: Found, cause: &ErrorKind) -> String {
    const OPTION: &str = "`tolerate` 'trailing-file-bytes'";
    match found {
        Found::SecondFile => format!(
            "another Avro file begins after the last block, as if written by 'cat a.avro \
             b.avro': keep the files apart, or leave out all but the first with {OPTION}"
        ),
        Found::Unknown => {
            format!("{cause}; if these bytes are no part of the file, {OPTION} leaves them out")
        }
        found => format!(
            "{found} where a block should begin: cut off the bytes after the last block, or leave \
             them out with {OPTION}"
        ),
    }
}

/// The advice to raise the option of this limit, if it has one.
fn raise(part: ContainerPart) -> &'static str {
    match part {
        ContainerPart::PayloadSize => ": raise `max_block_bytes` if the file is whole",
        _ => "",
    }
}

/// The error text for an unknown codec.
fn unknown_codec(name: &str) -> String {
    let read = Codec::enabled_names();
    let name = name.escape_debug();
    let meant = Codec::suggest(&name.to_string());
    let meant = meant.map_or(String::new(), |codec| {
        format!(" (Avro's name may be '{codec}')")
    });
    format!(
        "codec '{name}' is not read{meant}; the codecs read are {read}. Rewrite the file with the program that wrote \
         it, or with 'avro-tools recodec --codec deflate OLD NEW' if that reads it"
    )
}

/// A part of a container file, as errors name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ContainerPart {
    /// The four bytes the file begins with.
    Magic,
    /// The header as a whole.
    Header,
    /// The number of entries in a block of the metadata map.
    MetadataCount,
    /// The size in bytes of a block of the metadata map.
    MetadataBlockSize,
    /// The length of a metadata key.
    MetadataKeyLength,
    /// A metadata key.
    MetadataKey,
    /// The length of a metadata value.
    MetadataValueLength,
    /// A metadata value.
    MetadataValue,
    /// The number of records in a block.
    RecordCount,
    /// The size in bytes of a block's payload.
    PayloadSize,
    /// A block's payload.
    Payload,
    /// The sync marker that ends the header or a block.
    SyncMarker,
}

impl fmt::Display for ContainerPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Magic => "the magic bytes",
            Self::Header => "the header's size",
            Self::MetadataCount => "the metadata's entry count",
            Self::MetadataBlockSize => "the size of a metadata block",
            Self::MetadataKeyLength => "the length of a metadata key",
            Self::MetadataKey => "a metadata key",
            Self::MetadataValueLength => "the length of a metadata value",
            Self::MetadataValue => "a metadata value",
            Self::RecordCount => "the record count",
            Self::PayloadSize => "the payload's size",
            Self::Payload => "the payload",
            Self::SyncMarker => "the sync marker",
        })
    }
}
