//! The error of framing: what is wrong, at which byte, in which record.

use std::fmt;
use std::io;
use std::sync::Arc;

/// An error in a TFRecord file: its kind and its position.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Error {
    /// What is wrong.
    pub kind: ErrorKind,
    /// Offset in the file of the record's first byte.
    pub offset: u64,
    /// Number of the record in its file, from 0. After [damage](crate::Framer::resync), records are
    /// counted from those that were found.
    pub record: u64,
}

impl Error {
    /// An error of `kind` in record `record`, which begins at byte `offset` of the file.
    #[cold]
    pub fn new(kind: ErrorKind, offset: u64, record: u64) -> Self {
        Error {
            kind,
            offset,
            record,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Error {
            kind,
            offset,
            record,
        } = self;
        write!(f, "record {record} at byte {offset}: {kind}")
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        // This error's text already contains the kind's text.
        std::error::Error::source(&self.kind)
    }
}

/// What can be wrong with a TFRecord file.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The checksum of a record's length does not fit.
    #[error(
        "the length {length} has the checksum {computed:#010x}, but {stored:#010x} is stored: the \
         length is damaged, or the file is no TFRecord file"
    )]
    LengthChecksum {
        /// The length that is stored.
        length: u64,
        /// The masked checksum that is stored.
        stored: u32,
        /// The masked checksum of the length.
        computed: u32,
    },
    /// The checksum of a record's data does not fit.
    #[error("the data has the checksum {computed:#010x}, but {stored:#010x} is stored")]
    DataChecksum {
        /// The masked checksum that is stored.
        stored: u32,
        /// The masked checksum of the data.
        computed: u32,
    },
    /// A record is longer than [`Limits::max_record_bytes`](crate::Limits::max_record_bytes).
    #[error("the record has {length} bytes, above the limit of {limit}")]
    TooLarge {
        /// The length that is stored.
        length: u64,
        /// The limit that it exceeds.
        limit: u64,
    },
    /// The file ends inside a record.
    #[error("the file ends inside the record, {missing} or more bytes short")]
    Truncated {
        /// Minimum number of bytes that the record still needs.
        missing: u64,
    },
    /// The bytes of a block are not the records that were listed.
    #[error("the records are not those that were listed: the file has changed since")]
    BlockChanged,
    /// Reading, writing, or decompressing failed.
    #[error("{0}")]
    Io(#[source] Arc<io::Error>),
}

impl From<io::Error> for ErrorKind {
    fn from(error: io::Error) -> Self {
        ErrorKind::Io(Arc::new(error))
    }
}
