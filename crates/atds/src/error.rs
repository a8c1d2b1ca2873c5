//! The error of the facade: its kind, and the place as far as it is known.

use std::error::Error as StdError;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use atds_features::FeatureError;
use atds_features::words;
use avro_block::DecompressError;
use tensor_batch::RowShape;

use crate::avro;
use crate::features::FeaturesError;
use crate::files::{NotExpanded, NothingFound};
use crate::formats::FileFormat;
use crate::index::IndexFault;
use crate::interface::printable;
use crate::source::Packing;
use crate::split::SplitFault;
use crate::state::{StateMismatch, Unmergeable};

#[doc(inline)]
pub use atds_format::{Location, Place};

/// An error, and the place where it occurred.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Error {
    /// The kind of the error.
    pub kind: ErrorKind,
    /// The place, as far as it is known.
    pub place: Box<Place>,
}

/// The kind of an error.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A file that cannot be found, opened or read.
    #[error("{}", of_the_system(.0))]
    Io(Arc<io::Error>),
    /// The system could not start a thread.
    #[error("a thread could not be started: {0}")]
    Thread(Arc<io::Error>),
    /// [`InspectOptions::cancelled`](crate::avro::inspect::InspectOptions::cancelled) was set.
    #[error("cancelled")]
    Cancelled,
    /// No files were given.
    #[error("no files were given")]
    NoFiles,
    /// A folder without any file of a format that is read, or a pattern that no file matches.
    #[error("{0}")]
    NothingFound(Box<NothingFound>),
    /// The files of a data set have two formats.
    #[error(
        "the file has the format {other}, and {} is {}: a data set has files of one format. Give files or \
         patterns of one, or set `format`",
        first.1.display(), first.0.title()
    )]
    TwoFormats {
        /// The format of the other files, and one of them.
        first: (FileFormat, PathBuf),
        /// The format of this file.
        other: FileFormat,
    },
    /// A file that would be written exists already.
    #[error("it exists already, and is not overwritten: give the name of a new file")]
    Exists,
    /// The new file would replace what is no ordinary file, such as a pipe or a device, or a link that leads
    /// nowhere.
    #[error(
        "it is no ordinary file, or a link that leads nowhere, and a new file does not replace it: give \
         another name"
    )]
    NotReplaced,
    /// The file to repair would be overwritten by the repaired one.
    #[error("it is the file to repair, which is not changed: give the name of a new file")]
    InPlace,
    /// A URL of a scheme that is not read.
    #[error("{0}:// is not read yet: copy or mount the files, and give their paths")]
    Scheme(String),
    /// A `file://` URL with the name of a machine.
    #[error(
        "files of other machines are not read, and this one is of '{host}': copy or mount it, and \
         give its path. If it is on this machine, give '{path}', or a URL with three slashes, 'file:///...'"
    )]
    Host {
        /// The machine.
        host: String,
        /// The path that may be meant, in which the machine's name is the first component.
        path: String,
    },
    /// An input that can be read only once, such as a pipe, would have to be read more often.
    #[error("this is {input}, which can be read only once: {reason}")]
    ReadOnce {
        /// The kind of input: `a pipe`.
        input: &'static str,
        /// The reason, and what to do.
        reason: &'static str,
    },
    /// A file is packed as a whole, but the options need a plain file.
    #[error(
        "the whole file is packed as {packing}, so it can be read from its start only: {reason}"
    )]
    Packed {
        /// The format of the packing.
        packing: Packing,
        /// The reason, and what to do.
        reason: &'static str,
    },
    /// The packing of a whole file cannot be unpacked.
    #[error("the {packing} around the file {message}")]
    Unpack {
        /// The format of the packing.
        packing: Packing,
        /// Number of bytes of the file that were read before the fault.
        packed_offset: u64,
        /// The fault and its place.
        message: String,
    },
    /// A path that does not exist, with braces or a `~`, which shells expand.
    #[error("no such file; {0}")]
    NotExpanded(NotExpanded),
    /// The path is no file and no valid pattern.
    #[error("no such file, and not a pattern: {0}")]
    Pattern(String),
    /// An option out of its range.
    #[error("`{option}` must be {must}")]
    Option {
        /// The option.
        option: &'static str,
        /// The valid values.
        must: &'static str,
    },
    /// Records that cannot be split so.
    #[error("{0}")]
    Split(SplitFault),
    /// A block has too many records to be split by record.
    #[error("{}", atds_pipeline::ErrorKind::BlockNotSplit { records: *records })]
    BlockNotSplit {
        /// Number of records of the block.
        records: u64,
    },
    /// A data set cannot go on from a state.
    #[error("the data set cannot go on from this state: {0}")]
    State(StateMismatch),
    /// States of several ranks cannot be merged.
    #[error("these states cannot be merged: {0}")]
    Merge(Unmergeable),
    /// A file that is no index, or a damaged one.
    #[error("{0}")]
    Index(IndexFault),
    /// An error that only Avro has.
    #[error("{0}")]
    Avro(Box<avro::ErrorKind>),
    /// The error of a BTable, or of a feature for it.
    #[cfg(feature = "btable")]
    #[error("{0}")]
    BTable(Box<crate::btable::ErrorKind>),
    /// The error of a conversion of files.
    #[cfg(any(feature = "btable", feature = "tfrecord"))]
    #[error("{0}")]
    Convert(Box<crate::convert::ConvertError>),
    /// The error of another format, or of a source of bytes.
    #[error("{0}")]
    Format(Arc<dyn StdError + Send + Sync>),
    /// Invalid features.
    #[error("{0}")]
    Feature(Box<FeatureError>),
    /// A features file that cannot be read.
    #[error("{0}")]
    Features(FeaturesError),
    /// A block claims more records than its bytes can hold.
    #[error("a payload of {} cannot hold {}", words::counted(*bytes, "byte"), words::counted(*records, "record"))]
    TooManyRecords {
        /// Number of records that the block claims.
        records: u64,
        /// Size of the payload in bytes.
        bytes: u64,
    },
    /// The lists of a feature of fixed length differ in length between the records of a batch, and
    /// the feature has no default and no mask.
    #[error(
        "the shape {shape} is {}: for lists of several lengths give a `default` or a `mask`",
        expected(first)
    )]
    ShapesDiffer {
        /// The shape of the record's lists.
        shape: RowShape,
        /// The first record of the batch, and its shape. `None` if the lists of the record itself
        /// differ, or do not have the feature's length.
        first: Option<Box<(Place, RowShape)>>,
    },
    /// More was left out of an epoch than [`max_skipped`](crate::DatasetBuilder::max_skipped) allows.
    #[error(
        "damage has cost {} of epoch {epoch} so far, of at most {max} by `max_skipped` (rank {rank})",
        words::counted(*skipped, "record")
    )]
    TooManySkipped {
        /// Number of records that were left out.
        skipped: u64,
        /// The most that may be.
        max: u64,
        /// The epoch.
        epoch: u64,
        /// The rank that reads.
        rank: u64,
    },
    /// No file is left, as all are damaged.
    #[error("all {files} files are damaged, and `on_error` is skip_file")]
    AllSkipped {
        /// Number of files.
        files: usize,
    },
    /// A file was truncated while it was read or mapped, or between two epochs of an iteration.
    #[error("the file shrank from {before} to {} while it was read", words::counted(*now, "byte"))]
    FileShrank {
        /// Its length when it was opened.
        before: u64,
        /// Its length now.
        now: u64,
    },
    /// The number of records of a file has changed since they were counted.
    #[error("the file has {} now, but had {counted} when they were counted", words::counted(*found, "record"))]
    RecordsChanged {
        /// Number of records when they were counted.
        counted: u64,
        /// Number of records now.
        found: u64,
    },
    /// The window of blocks, one batch, and memory for reading ahead do not fit the memory limit.
    #[error(
        "`memory_limit` is {}, but the window and a batch need {needed} or more: raise \
         it, or lower {}",
        words::counted(*limit, "byte"),
        atds_pipeline::memory_advice(*in_turns)
    )]
    MemoryLimit {
        /// The limit.
        limit: u64,
        /// The least limit that may suffice, as far as is known. Seven eighths of the limit are for
        /// the window and the batch.
        needed: u64,
        /// Whether files take turns, with blocks of each in the window: a shorter cycle of
        /// [`interleave`](crate::DatasetBuilder::interleave) needs less.
        in_turns: bool,
    },
    /// Records of a file that is inspected do not fit the memory limit.
    #[error(
        "`memory_limit` is {}, but to inspect the file {needed} or more are needed: raise it",
        words::counted(*limit, "byte")
    )]
    InspectMemory {
        /// The limit.
        limit: u64,
        /// Bytes that are needed, as far as is known.
        needed: u64,
    },
    /// A batch of messages does not fit the memory limit.
    #[error(
        "`memory_limit` is {}, but the batch needs {needed} or more: raise it, or decode fewer \
         messages at a time",
        words::counted(*limit, "byte")
    )]
    BatchTooLarge {
        /// The limit.
        limit: u64,
        /// Bytes that the batch takes, as far as is known.
        needed: u64,
    },
}

/// Whether the path is a folder. Opening a folder succeeds; only reading it fails.
fn is_folder(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::IsADirectory
}

fn of_the_system(error: &io::Error) -> String {
    if is_folder(error) {
        "it is a folder: give a file that is in it".to_owned()
    } else {
        error.to_string()
    }
}

impl ErrorKind {
    /// Whether the features of a data set ask for what files of a format beside Avro do not have.
    pub fn is_of_features(&self) -> bool {
        match self {
            #[cfg(feature = "tfrecord")]
            ErrorKind::Format(error) => error.is::<atds_tfrecord::PlanError>(),
            _ => false,
        }
    }

    /// The error that only Avro has, if it is one.
    ///
    /// ```
    /// use atds::{Dataset, avro};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("empty.avro");
    /// # std::fs::write(&path, "")?;
    /// let error = Dataset::builder(&path, 64).build().unwrap_err();
    /// assert!(matches!(error.kind.avro(), Some(avro::ErrorKind::Container(_))));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn avro(&self) -> Option<&avro::ErrorKind> {
        match self {
            ErrorKind::Avro(kind) => Some(kind),
            _ => None,
        }
    }

    /// The kind of an error of reading: that of the error inside it, if this crate made that.
    #[cold]
    pub(crate) fn of_reading(error: Arc<io::Error>) -> Self {
        let inner = error.get_ref();
        match inner.and_then(|inner| inner.downcast_ref::<ErrorKind>()) {
            Some(kind) => kind.clone(),
            None => ErrorKind::Io(error),
        }
    }
}

impl From<avro::ErrorKind> for ErrorKind {
    #[cold]
    fn from(kind: avro::ErrorKind) -> Self {
        ErrorKind::Avro(Box::new(kind))
    }
}

impl Error {
    /// An error without a place.
    #[cold]
    pub(crate) fn new(kind: impl Into<ErrorKind>) -> Self {
        Error {
            kind: kind.into(),
            place: Box::default(),
        }
    }

    #[cold]
    pub(crate) fn option(option: &'static str, must: &'static str) -> Self {
        Error::new(ErrorKind::Option { option, must })
    }

    /// An error unless the option is in its range.
    pub(crate) fn check(
        is_right: bool,
        option: &'static str,
        must: &'static str,
    ) -> Result<(), Error> {
        match is_right {
            true => Ok(()),
            false => Err(Error::option(option, must)),
        }
    }

    #[cold]
    pub(crate) fn io(error: io::Error, file: &Path) -> Self {
        Error::new(ErrorKind::Io(Arc::new(error))).in_file(file)
    }

    #[cold]
    pub(crate) fn in_message(mut self, message: usize) -> Self {
        self.place.record = Some(message as u64);
        self
    }

    #[cold]
    pub(crate) fn in_file(self, file: &Path) -> Self {
        self.in_location(file.into())
    }

    #[cold]
    pub(crate) fn in_location(mut self, location: Location) -> Self {
        self.place.location = Some(location);
        self
    }
}

/// The expected shape, in the message about the shape of a record.
fn expected(first: &Option<Box<(Place, RowShape)>>) -> String {
    let Some((place, shape)) = first.as_deref() else {
        return "not that of the feature".to_owned();
    };
    let place = match place.location {
        None => format!(", message {}", place.record.unwrap_or(0)),
        Some(_) => format!(" ({place})"),
    };
    format!("not {shape}, the shape of the first record of the batch{place}")
}

/// Text from data is shown as [`printable`].
impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&printable(&self.place.locate(&self.kind)))
    }
}

// No `source`: the message already contains the message of the inner error.
impl StdError for Error {}

impl From<FeatureError> for Error {
    fn from(error: FeatureError) -> Self {
        Error::new(ErrorKind::Feature(Box::new(error)))
    }
}

impl From<FeaturesError> for Error {
    fn from(error: FeaturesError) -> Self {
        Error::new(ErrorKind::Features(error))
    }
}

impl From<atds_pipeline::Error> for Error {
    /// The pipeline does not know whether a file is packed as a whole: `unpacked` is false.
    #[cold]
    fn from(error: atds_pipeline::Error) -> Self {
        let mut place = error.place;
        let kind = kind(error.kind, place.location.as_ref());
        if matches!(&kind, ErrorKind::Io(error) if is_folder(error)) {
            (place.offset, place.block) = (None, None);
        }
        Error { kind, place }
    }
}

fn kind(kind: atds_pipeline::ErrorKind, location: Option<&Location>) -> ErrorKind {
    use atds_pipeline::ErrorKind as Kind;
    match kind {
        Kind::Io(error) => ErrorKind::of_reading(error),
        Kind::Thread(error) => ErrorKind::Thread(error),
        Kind::Format(error) => of_format(error, location),
        Kind::TooManyRecords { records, bytes } => ErrorKind::TooManyRecords { records, bytes },
        Kind::ShapesDiffer { shape, first } => ErrorKind::ShapesDiffer { shape, first },
        Kind::FileShrank { before, now } => ErrorKind::FileShrank { before, now },
        Kind::RecordsChanged { counted, found } => ErrorKind::RecordsChanged { counted, found },
        Kind::BeyondEpoch { batches } => ErrorKind::State(StateMismatch::Batches { batches }),
        Kind::MemoryLimit {
            limit,
            needed,
            in_turns,
        } => ErrorKind::MemoryLimit {
            limit,
            needed,
            in_turns,
        },
        Kind::BlockNotSplit { records } => ErrorKind::BlockNotSplit { records },
        Kind::BlockTooLarge { limit } => {
            let error = DecompressError::TooLarge { limit };
            avro::ErrorKind::Container(error.into()).into()
        }
        other => ErrorKind::Format(Arc::new(other)),
    }
}

/// The kind of an error of a format or a source: Avro, or a kind of the facade, as it is.
fn of_format(error: Arc<dyn StdError + Send + Sync>, location: Option<&Location>) -> ErrorKind {
    if let Some(kind) = error.downcast_ref::<avro::ErrorKind>() {
        return kind.clone().in_file(location);
    }
    #[cfg(feature = "btable")]
    if let Some(kind) = error.downcast_ref::<crate::btable::ErrorKind>() {
        return ErrorKind::BTable(Box::new(kind.clone()));
    }
    match error.downcast_ref::<ErrorKind>() {
        Some(kind) => kind.clone(),
        None => ErrorKind::Format(error),
    }
}

#[cfg(all(test, feature = "deflate"))]
mod tests;
