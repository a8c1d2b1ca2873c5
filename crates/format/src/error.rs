use std::error::Error as StdError;
use std::fmt;
use std::io;
use std::sync::Arc;

use crate::Place;

/// An error of a format or a byte source.
///
/// It says what is known here: the pipeline adds the file, the block, and the number of the block's
/// first record.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Error {
    /// The kind of the error.
    pub kind: ErrorKind,
    /// The place, as far as it is known: the number of the block only if the framing knows it.
    pub place: Box<Place>,
}

/// The kind of an [`Error`].
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The source could not read.
    #[error("{0}")]
    Io(Arc<io::Error>),
    /// A prepared block would be larger than the limit that the pipeline gave, or the columns of a
    /// record larger than [`RowSlots::room`](tensor_batch::RowSlots::room).
    #[error("the block is larger than its limit{}", needed.map_or_else(String::new, |bytes| format!(": it needs {bytes} bytes")))]
    Limit {
        /// The size in bytes that is needed, if it is known.
        needed: Option<u64>,
    },
    /// The format's own error.
    #[error("{0}")]
    Format(Arc<dyn StdError + Send + Sync>),
}

impl Error {
    /// An error without a position.
    #[cold]
    pub fn new(kind: ErrorKind) -> Self {
        Error {
            kind,
            place: Box::default(),
        }
    }

    /// A format's own error, without a position.
    #[cold]
    pub fn format(error: impl StdError + Send + Sync + 'static) -> Self {
        Error::new(ErrorKind::Format(Arc::new(error)))
    }

    /// Adds the byte offset in the file.
    #[cold]
    #[must_use]
    pub fn at(mut self, offset: u64) -> Self {
        self.place.offset = Some(offset);
        self
    }

    /// Adds the byte offset in the prepared block.
    #[cold]
    #[must_use]
    pub fn at_prepared(mut self, offset: u64) -> Self {
        self.place.decompressed_offset = Some(offset);
        self
    }

    /// Adds the number of the record in its block.
    #[cold]
    #[must_use]
    pub fn in_record(mut self, record: u64) -> Self {
        self.place.record = Some(record);
        self
    }

    /// Adds the field.
    #[cold]
    #[must_use]
    pub fn in_field(mut self, field: impl Into<String>) -> Self {
        self.place.field = Some(field.into());
        self
    }
}

impl From<io::Error> for Error {
    #[cold]
    fn from(error: io::Error) -> Self {
        Error::new(ErrorKind::Io(Arc::new(error)))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Place {
            offset,
            record,
            field,
            ..
        } = &*self.place;
        if let Some(offset) = offset {
            write!(f, "byte {offset}: ")?;
        }
        if let Some(record) = record {
            write!(f, "record {record}: ")?;
        }
        if let Some(field) = field {
            write!(f, "field '{}': ", field.escape_debug())?;
        }
        self.kind.fmt(f)
    }
}

// No `source`: the message of the kind is part of this one's.
impl StdError for Error {}
