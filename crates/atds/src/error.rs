//! The error of the facade: its kind, and the place as far as it is known.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use atds_features::FeatureError;
use atds_features::words;
use avro_decode::single_object::SingleObjectError;
use avro_decode::{DecodeError, LeftOut, ResolveError, Sampled, SchemaError};
use tensor_batch::{BatchSpec, Disagreement, RowShape};

use crate::features::FeaturesError;
use crate::files::{NotExpanded, NothingFound};
use crate::interface::printable;
use crate::unpack::{Packing, UnpackError};

#[doc(inline)]
pub use avro_block::{CompressedFormat, Found};
#[doc(inline)]
pub use avro_decode::{DecodeErrorKind, PlanError, PlanErrorKind};

/// An error, and the place where it occurred.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Error {
    /// The kind of the error.
    pub kind: ErrorKind,
    /// The place, as far as it is known.
    pub place: Box<Place>,
}

/// Whether `expression` leads to `field`, or through it.
fn is_on_way(field: &str, expression: &str) -> bool {
    let rest = expression.strip_prefix(field);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['[', '.', ':']))
}

/// A place in the files of a dataset, or in messages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Place {
    /// The file.
    pub file: Option<PathBuf>,
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
    /// The number of the record in the block, counted from 0; for messages, the index of the
    /// message.
    pub record: Option<u64>,
    /// The field, with dots for nested fields.
    pub field: Option<String>,
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
    /// A folder without any `.avro` file, or a pattern that no file matches.
    #[error("{0}")]
    NoAvroFiles(Box<NothingFound>),
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
    /// Framing or a payload is damaged.
    #[error("{0}")]
    Container(avro_block::ErrorKind),
    /// The schema in a file's header is not one.
    #[error("{0}")]
    Schema(SchemaError),
    /// Invalid features.
    #[error("{0}")]
    Feature(Box<FeatureError>),
    /// A features file that cannot be read.
    #[error("{0}")]
    Features(FeaturesError),
    /// A feature that does not fit the file's schema.
    #[error("{0}")]
    Plan(Box<PlanError>),
    /// A feature asks for a field or a union branch that the file's schema lacks, and has no
    /// default and no mask. Or all schemas lack it.
    #[error("{error}{}", Remedy(found_in))]
    MissingField {
        /// The error of the missing field or branch.
        error: Box<PlanError>,
        /// A file, or another origin, whose schema has the field.
        found_in: Option<String>,
    },
    /// Messages of one schema that cannot be read as another's.
    #[error("{0}")]
    Resolve(Box<ResolveError>),
    /// A message without the header of a single object.
    #[error("{0}")]
    SingleObject(SingleObjectError),
    /// The message's schema is none of the given schemas.
    #[error(
        "the message's schema has the fingerprint {fingerprint:016x}, which none of the writer \
         schemas has"
    )]
    UnknownSchema {
        /// The fingerprint in the message's header.
        fingerprint: u64,
    },
    /// Two writer schemas have the same fingerprint, which does not cover logical types, but differ
    /// in logical types.
    #[error(
        "two writer schemas have this fingerprint but differ in their logical types, and \
         messages do not say which one they have"
    )]
    SameFingerprint,
    /// A schema from which no feature can be inferred.
    #[error(
        "nothing can be inferred: the schema is {schema_type}{}",
        NothingIn(left_out)
    )]
    NoFeatures {
        /// The type of the schema.
        schema_type: String,
        /// The schema's values, each with the reason why it is no feature.
        left_out: Vec<LeftOut>,
    },
    /// A block claims more records than its bytes can hold.
    #[error("a payload of {} cannot hold {}", words::counted(*bytes, "byte"), words::counted(*records, "record"))]
    TooManyRecords {
        /// Number of records that the block claims.
        records: u64,
        /// Size of the payload in bytes.
        bytes: u64,
    },
    /// The schema has too many fields to infer features from.
    #[error("the schema has more than {limit} fields: name the `features` to read")]
    TooManyFields {
        /// The maximum number of fields.
        limit: usize,
    },
    /// A record does not fit its schema or a feature.
    #[error("{0}")]
    Decode(DecodeErrorKind),
    /// An array has another length than the arrays of the sample from which its feature was
    /// inferred.
    #[error(
        "an array of {actual} values; the feature was inferred as dense because all arrays \
         of the {records} sampled records have {expected}: name the column in `features`, as \
         varlen, or dense with `truncate` or a `default`"
    )]
    SampledLength {
        /// The length of the arrays in the sample.
        expected: usize,
        /// The length of this array; a lower bound if the array is too long.
        actual: usize,
        /// Number of records in the sample.
        records: u64,
    },
    /// A block's records end before its payload does.
    #[error(
        "the block's {} {} before its payload does; `tolerate` 'trailing-block-bytes' leaves {} \
         out",
        if *records == 1 { "1 record ends".to_owned() } else { format!("{records} records end") },
        words::counted(*left, "byte"),
        if *left == 1 { "it" } else { "them" }
    )]
    TrailingBytes {
        /// Number of records that the block claims.
        records: u64,
        /// Number of bytes after the last record.
        left: usize,
    },
    /// The lists of a feature of fixed length differ in length between the records of a batch, and
    /// the feature has no default and no mask.
    #[error(
        "the shape {shape} is {}: for lists of several lengths give a `default` or a `mask`",
        Other(first)
    )]
    ShapesDiffer {
        /// The shape of the record's lists.
        shape: RowShape,
        /// The first record of the batch, and its shape. `None` if the lists of the record itself
        /// differ, or do not have the feature's length.
        first: Option<Box<(Place, RowShape)>>,
    },
    /// A mapped file was truncated.
    #[error("the file shrank from {mapped} to {} while it was mapped", words::counted(*now, "byte"))]
    FileShrank {
        /// Its length when it was mapped.
        mapped: u64,
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
         it, or lower `shuffle_buffer_size` or `batch_size`",
        words::counted(*limit, "byte")
    )]
    MemoryLimit {
        /// The limit.
        limit: u64,
        /// The least limit that may suffice, as far as is known. Seven eighths of the limit are for
        /// the window and the batch.
        needed: u64,
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

/// Displays advice about a field that a schema lacks. Holds the file whose schema has the field, if
/// any.
struct Remedy<'a>(&'a Option<String>);

impl fmt::Display for Remedy<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(other) => write!(
                f,
                "; {other} has it: give the feature a `default` or a `mask`, or read all \
                 files with a `reader_schema` that has a default for the field",
            ),
            None => f.write_str(
                " (a `default` or a `mask` fills a field that some of the schemas lack, not one \
                 that all of them lack: a `reader_schema` can add the field)",
            ),
        }
    }
}

impl Error {
    /// An error without a place.
    #[cold]
    pub(crate) fn new(kind: ErrorKind) -> Self {
        Error {
            kind,
            place: Box::default(),
        }
    }

    #[cold]
    pub(crate) fn option(option: &'static str, must: &'static str) -> Self {
        Error::new(ErrorKind::Option { option, must })
    }

    #[cold]
    pub(crate) fn io(error: io::Error, file: &Path) -> Self {
        Error::new(ErrorKind::Io(Arc::new(error))).in_file(file)
    }

    #[cold]
    pub(crate) fn container(error: avro_block::Error, file: &Path) -> Self {
        let kind = match error.kind {
            avro_block::ErrorKind::Io(error) => match UnpackError::of(&error) {
                Some(error) => error.kind(),
                None => ErrorKind::Io(error),
            },
            avro_block::ErrorKind::NotAvro { found: None } => {
                let found = avro_block::Found::by_name(file);
                ErrorKind::Container(avro_block::ErrorKind::NotAvro { found })
            }
            kind => ErrorKind::Container(kind),
        };
        let is_folder = matches!(&kind, ErrorKind::Io(error) if is_folder(error));
        let mut located = Error::new(kind).in_file(file);
        if is_folder {
            return located;
        }
        located.place.offset = Some(error.offset);
        located.place.block = error.block;
        located
    }

    /// The error, with a hint if its feature was inferred from a sample.
    #[cold]
    pub(crate) fn of_sampled(mut self, sampled: &[Sampled]) -> Self {
        if let ErrorKind::Decode(DecodeErrorKind::ArrayLength { expected, actual }) = self.kind
            && let Some(field) = &self.place.field
            && let Some(sample) = sampled.iter().find(|one| is_on_way(field, &one.expression))
        {
            let records = sample.records;
            self.kind = ErrorKind::SampledLength {
                expected,
                actual,
                records,
            };
        }
        self
    }

    /// The error of a fault in a record. The record's number counts from `first_record`, the offset
    /// from the start of the decompressed block.
    #[cold]
    pub(crate) fn decode(error: DecodeError, first_record: u64) -> Self {
        let mut located = Error::new(ErrorKind::Decode(error.kind));
        located.place.decompressed_offset = Some(error.offset as u64);
        located.place.record = error.record.map(|record| first_record + record);
        located.place.field = error.field;
        located
    }

    /// A fault in a message, whose record starts at byte `start`.
    #[cold]
    pub(crate) fn decode_message(error: DecodeError, start: usize) -> Self {
        let mut located = Error::new(ErrorKind::Decode(error.kind));
        located.place.offset = Some((start + error.offset) as u64);
        located.place.field = error.field;
        located
    }

    /// The error of rows with different shapes. The place of the first row has its number in the
    /// batch as the record; the caller replaces it.
    #[cold]
    pub(crate) fn shapes_differ(spec: &BatchSpec, found: Disagreement) -> Self {
        let first = found.first.map(|(row, shape)| {
            let place = Place {
                record: Some(row as u64),
                ..Place::default()
            };
            Box::new((place, shape))
        });
        let shape = found.shape;
        let mut error = Error::new(ErrorKind::ShapesDiffer { shape, first });
        error.place.field = Some(spec.columns()[found.column].name.clone());
        error
    }

    #[cold]
    pub(crate) fn in_message(mut self, message: usize) -> Self {
        self.place.record = Some(message as u64);
        self
    }

    /// Adds the fingerprint of the message's schema, if messages have one.
    #[cold]
    pub(crate) fn of_schema(mut self, fingerprint: Option<u64>) -> Self {
        self.place.schema = fingerprint;
        self
    }

    #[cold]
    pub(crate) fn in_file(mut self, file: &Path) -> Self {
        self.place.file = Some(file.to_owned());
        self
    }

    /// Adds whether the file is packed as a whole.
    #[cold]
    pub(crate) fn unpacked(mut self, unpacked: bool) -> Self {
        self.place.unpacked = unpacked;
        self
    }

    /// Adds the number `block` of the block, and the `offset` at which it begins.
    #[cold]
    pub(crate) fn in_block(mut self, block: u64, offset: u64) -> Self {
        self.place.block = Some(block);
        self.place.offset = Some(offset);
        self
    }
}

/// The expected shape, in the message about the shape of a record.
struct Other<'a>(&'a Option<Box<(Place, RowShape)>>);

impl fmt::Display for Other<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_deref() {
            None => f.write_str("not that of the feature"),
            Some((place, shape)) => {
                write!(f, "not {shape}, the shape of the first record of the batch")?;
                match place.file {
                    None => write!(f, ", message {}", place.record.unwrap_or(0)),
                    Some(_) => write!(f, " ({})", At(place)),
                }
            }
        }
    }
}

/// Text from data is shown as [`printable`].
impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&printable(&Located(self).to_string()))
    }
}

/// The place, then the message, without escaping.
struct Located<'a>(&'a Error);

impl fmt::Display for Located<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Located(Error { kind, place }) = self;
        let place = &**place;
        let at = At(place).to_string();
        if !at.is_empty() {
            write!(f, "{at}: ")?;
        }
        if let Some(field) = &place.field {
            write!(f, "field '{field}': ")?;
        }
        kind.fmt(f)?;
        if let Some(offset) = place.decompressed_offset {
            write!(f, " (byte {offset} of the decompressed block)")?;
        }
        Ok(())
    }
}

/// A place down to the record: `x.avro: block 0 at byte 139: record 1`.
struct At<'a>(&'a Place);

impl fmt::Display for At<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let At(place) = self;
        let mut before = "";
        let mut part = |f: &mut fmt::Formatter<'_>, part: fmt::Arguments<'_>| {
            write!(f, "{before}{part}")?;
            before = ": ";
            Ok(())
        };
        if let Some(file) = &place.file {
            part(f, format_args!("{}", file.display()))?;
        }
        if let Some(schema) = place.schema {
            part(f, format_args!("schema {schema:016x}"))?;
        }
        // Records without blocks are messages.
        let (number, record) = match (place.block, place.record) {
            (Some(block), record) => (Some(("block", block)), record),
            (None, Some(message)) => (Some(("message", message)), None),
            (None, None) => (None, None),
        };
        let of = if place.unpacked {
            " of the unpacked file"
        } else {
            ""
        };
        match (number, place.offset) {
            (Some((what, number)), Some(offset)) => {
                part(f, format_args!("{what} {number} at byte {offset}{of}"))?;
            }
            (None, Some(offset)) => part(f, format_args!("byte {offset}{of}"))?,
            (Some((what, number)), None) => part(f, format_args!("{what} {number}"))?,
            (None, None) => {}
        }
        if let Some(record) = record {
            part(f, format_args!("record {record}"))?;
        }
        Ok(())
    }
}

// No `source`: the message already contains the message of the inner error.
impl std::error::Error for Error {}

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

/// Maximum number of listed values; the others are counted.
const MAX_LISTED: usize = 8;

/// The values of a schema without any feature.
struct NothingIn<'a>(&'a [LeftOut]);

impl fmt::Display for NothingIn<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, left_out) in self.0.iter().take(MAX_LISTED).enumerate() {
            let before = if i == 0 { "; in it " } else { ", " };
            write!(f, "{before}{}", left_out.in_words())?;
        }
        match self.0.len() {
            0 => f.write_str(", which holds no value"),
            len if len > MAX_LISTED => write!(f, " and {} more", len - MAX_LISTED),
            _ => Ok(()),
        }
    }
}
