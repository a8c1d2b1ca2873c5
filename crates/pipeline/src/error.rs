//! The error of the pipeline: its kind, and the place as far as it is known.

use std::error::Error as StdError;
use std::fmt;
use std::io;
use std::sync::Arc;

use atds_format::{Location, Place};
use tensor_batch::{BatchSpec, Disagreement, RowShape};

/// An error, and the place where it occurred.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Error {
    /// The kind of the error.
    pub kind: ErrorKind,
    /// The place, as far as it is known.
    pub place: Box<Place>,
}

/// The kind of an [`Error`].
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A file that cannot be opened or read.
    #[error("{0}")]
    Io(Arc<io::Error>),
    /// The system could not start a thread.
    #[error("a thread could not be started: {0}")]
    Thread(Arc<io::Error>),
    /// The format's own error.
    #[error("{0}")]
    Format(Arc<dyn StdError + Send + Sync>),
    /// A block claims more records than its bytes can hold.
    #[error("{records} records cannot be in a payload of {bytes} bytes")]
    TooManyRecords {
        /// Number of records that the block claims.
        records: u64,
        /// Size of the payload in bytes.
        bytes: u64,
    },
    /// The lists of a feature of fixed length differ in length between the records of a batch.
    #[error("the shape {shape} is not that of the rows before it in the batch")]
    ShapesDiffer {
        /// The shape of the record's lists.
        shape: RowShape,
        /// The first record of the batch, and its shape. `None` if the lists of the record itself
        /// differ, or do not have the feature's length.
        first: Option<Box<(Place, RowShape)>>,
    },
    /// A file is shorter than when the iteration opened it first.
    #[error("the file shrank from {before} to {now} bytes")]
    FileShrank {
        /// Its size in bytes then.
        before: u64,
        /// Its size in bytes now.
        now: u64,
    },
    /// A file whose records were counted has another number of them now.
    #[error("the file has {found} records now, and had {counted} when they were counted")]
    RecordsChanged {
        /// Its records when they were counted.
        counted: u64,
        /// Its records now.
        found: u64,
    },
    /// An iteration goes on after more batches than the epoch has.
    #[error("the epoch has fewer than the {batches} batches that were given out")]
    BeyondEpoch {
        /// Number of batches that were given out.
        batches: u64,
    },
    /// The window of blocks and one batch do not fit the memory limit.
    #[error(
        "`memory_limit` is {limit} bytes, but the window and a batch need {needed} or more: raise \
         it, or lower {}",
        memory_advice(*in_turns)
    )]
    MemoryLimit {
        /// The limit in bytes.
        limit: u64,
        /// The least limit that may suffice, as far as is known.
        needed: u64,
        /// Whether several files take turns. The window has blocks of each.
        in_turns: bool,
    },
    /// A block has too many records to be split by record.
    #[error(
        "a block of {records} records cannot be split by record: split by block, or write smaller blocks"
    )]
    BlockNotSplit {
        /// Number of records of the block.
        records: u64,
    },
    /// A block is larger than the option `max_block_bytes` allows.
    #[error("the block needs more than the {limit} bytes of `max_block_bytes`")]
    BlockTooLarge {
        /// The limit in bytes.
        limit: usize,
    },
}

impl Error {
    /// An error without a place.
    #[cold]
    pub fn new(kind: ErrorKind) -> Self {
        Error {
            kind,
            place: Box::default(),
        }
    }

    /// Adds the file.
    #[cold]
    #[must_use]
    pub fn in_file(mut self, location: &Location) -> Self {
        self.place.location = Some(location.clone());
        self
    }

    /// An error of reading the file at `location`.
    #[cold]
    pub(crate) fn io(error: io::Error, location: &Location) -> Self {
        Error::new(ErrorKind::Io(Arc::new(error))).in_file(location)
    }

    /// An error of a format or a source in the file at `location`.
    #[cold]
    pub fn of_format(error: atds_format::Error, location: &Location) -> Self {
        let kind = match error.kind {
            atds_format::ErrorKind::Io(error) => ErrorKind::Io(error),
            atds_format::ErrorKind::Format(error) => ErrorKind::Format(error),
            other => ErrorKind::Format(Arc::new(atds_format::Error::new(other))),
        };
        let place = error.place;
        Error { kind, place }.in_file(location)
    }

    /// The error of rows with different shapes; `first` is the place of the first row.
    #[cold]
    pub fn shapes_differ(spec: &BatchSpec, found: Disagreement, first: Place) -> Self {
        let first = found.first.map(|(_, shape)| Box::new((first, shape)));
        let shape = found.shape;
        let mut error = Error::new(ErrorKind::ShapesDiffer { shape, first });
        error.place.field = Some(spec.columns()[found.column].name.clone());
        error
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.place.locate(&self.kind))
    }
}

// No `source`: the message of the kind is part of this one's.
impl StdError for Error {}

/// The options to lower where memory is missing, by [`ErrorKind::MemoryLimit::in_turns`].
#[must_use]
pub fn memory_advice(in_turns: bool) -> &'static str {
    if in_turns {
        "`shuffle_buffer_size`, `batch_size` or the cycle length of `interleave`"
    } else {
        "`shuffle_buffer_size` or `batch_size`"
    }
}

/// Why a thread of the pipeline stops.
#[derive(Debug)]
pub(crate) enum Stop {
    /// The iteration was dropped or has failed elsewhere.
    Cancelled,
    /// An error of this thread.
    Failed(Error),
}

impl Stop {
    /// Adds the file to an error that does not name one.
    pub(crate) fn in_file(mut self, location: &Location) -> Self {
        if let Stop::Failed(error) = &mut self {
            error.place.location.get_or_insert_with(|| location.clone());
        }
        self
    }

    /// Adds the block that memory was missing for, unless another is named.
    pub(crate) fn in_block(mut self, index: u64, offset: Option<u64>) -> Self {
        if let Stop::Failed(error) = &mut self
            && matches!(error.kind, ErrorKind::MemoryLimit { .. })
            && error.place.block.is_none()
        {
            (error.place.block, error.place.offset) = (Some(index), offset);
        }
        self
    }
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Stop::Failed(error)
    }
}
