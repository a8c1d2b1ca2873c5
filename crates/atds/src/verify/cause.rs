//! What has probably damaged a part of a file.

use std::fmt;

use atds_features::words::{are, counted};
use avro_block::{Found, SyncMarker};

use crate::FileFormat;

/// What has probably damaged a part of a file, as its bytes tell.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cause {
    /// The file was cut.
    Cut {
        /// Number of bytes that are missing at least.
        missing: u64,
    },
    /// The file is empty: it was created, but nothing was written.
    NeverWritten,
    /// Bytes were overwritten.
    Overwritten,
    /// A part was never written, or lost its contents: it is zeros.
    ZeroFilled {
        /// Offset in the file of the first zero.
        offset: u64,
        /// Number of zeros.
        bytes: u64,
    },
    /// Line feeds became carriage return and line feed, or the reverse.
    Newlines,
    /// The file was read and written as text: bytes that are no UTF-8 became U+FFFD.
    Text,
    /// Bytes are missing inside a block.
    Missing {
        /// Their number.
        bytes: u64,
    },
    /// Bytes were inserted into a block.
    Added {
        /// Their number.
        bytes: u64,
    },
    /// The size before a block's payload was overwritten; the payload is whole.
    WrongSize {
        /// The size that is written there.
        declared: u64,
        /// The size of the payload.
        found: u64,
    },
    /// The number of records before a block's payload is wrong; the payload is whole.
    WrongCount {
        /// The number that is written there.
        declared: u64,
        /// The number of records in the payload.
        found: u64,
    },
    /// The sync marker of a whole block was overwritten, or the block is of another file.
    Marker,
    /// Blocks of another file: they end with its sync marker.
    OtherFile {
        /// The marker of that file.
        marker: SyncMarker,
    },
    /// Another whole file was appended.
    SecondFile,
    /// Bytes that do not belong to the file follow its last block.
    AfterTheEnd {
        /// The format of the bytes.
        found: Found,
    },
    /// The program that wrote the file was at fault: it wrote what is there.
    Writer,
    /// The schema in the header was overwritten, or the program that wrote the file was at fault.
    Schema,
    /// The schema is read, but breaks the specification.
    Specification,
    /// The file is none of the format.
    NotOfFormat {
        /// The format that it was taken for.
        format: FileFormat,
    },
    /// A part is larger than a limit of this reader, or its codec is not compiled in: it is not checked.
    NotChecked,
    /// The system could not read the file.
    Unreadable,
}

impl Cause {
    /// A short name of the cause, for programs: `cut`, `zero-filled`.
    pub fn name(&self) -> &'static str {
        match self {
            Cause::Cut { .. } => "cut",
            Cause::NeverWritten => "never-written",
            Cause::Overwritten => "overwritten",
            Cause::ZeroFilled { .. } => "zero-filled",
            Cause::Newlines => "newlines",
            Cause::Text => "text",
            Cause::Missing { .. } => "missing",
            Cause::Added { .. } => "added",
            Cause::WrongSize { .. } => "wrong-size",
            Cause::WrongCount { .. } => "wrong-count",
            Cause::Marker => "marker",
            Cause::OtherFile { .. } => "other-file",
            Cause::SecondFile => "second-file",
            Cause::AfterTheEnd { .. } => "after-the-end",
            Cause::Writer => "writer",
            Cause::Schema => "schema",
            Cause::Specification => "specification",
            Cause::NotOfFormat { format } => match format {
                FileFormat::Avro => "not-avro",
                #[cfg(feature = "btable")]
                FileFormat::BTable => "not-btable",
                #[cfg(feature = "tfrecord")]
                FileFormat::TfRecord => "not-tfrecord",
            },
            Cause::NotChecked => "not-checked",
            Cause::Unreadable => "unreadable",
        }
    }
}

/// A sentence without its full stop.
impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Cause::Cut { missing } => {
                return write!(
                    f,
                    "the file was cut: at least {} {} missing at its end",
                    counted(*missing, "byte"),
                    are(*missing)
                );
            }
            Cause::NeverWritten => "the file was created, but nothing was written",
            Cause::Overwritten => "bytes were overwritten",
            Cause::ZeroFilled { offset, bytes } => {
                return write!(
                    f,
                    "{} from byte {offset} on {} zero: a part of the file was never written, as after \
                     a crash or with a full disk",
                    counted(*bytes, "byte"),
                    are(*bytes)
                );
            }
            Cause::Newlines => {
                "newlines were converted: the file was copied as if it were text, so copy it again as \
                 binary"
            }
            Cause::Text => {
                "the file was read and written as text: bytes that are no UTF-8 were replaced"
            }
            Cause::Missing { bytes } => {
                let missing = counted(*bytes, "byte");
                return write!(f, "{missing} {} missing inside the block", are(*bytes));
            }
            Cause::Added { bytes } => {
                return write!(f, "{} too many inside the block", counted(*bytes, "byte"));
            }
            Cause::WrongSize { declared, found } => {
                return write!(
                    f,
                    "the payload's size was overwritten: it is {declared}, but the payload has {}",
                    counted(*found, "byte")
                );
            }
            Cause::WrongCount { declared, found } => {
                return write!(
                    f,
                    "the record count is wrong: it is {declared}, but the block has {}",
                    counted(*found, "record")
                );
            }
            Cause::Marker => "the sync marker was overwritten, or the block is one of another file",
            Cause::OtherFile { marker } => {
                return write!(
                    f,
                    "blocks of another file were added: they end with its sync marker {marker}"
                );
            }
            Cause::SecondFile => "another Avro file was appended",
            Cause::AfterTheEnd { found } => {
                return write!(f, "bytes were added after the last block: {found}");
            }
            Cause::Writer => "the program that wrote the file was at fault",
            Cause::Schema => {
                "the schema was overwritten, or the program that wrote the file was at fault"
            }
            Cause::Specification => {
                "the program that wrote the schema does not keep to the specification"
            }
            Cause::NotOfFormat {
                format: FileFormat::Avro,
            } => "the file is no Avro file",
            #[cfg(any(feature = "btable", feature = "tfrecord"))]
            Cause::NotOfFormat { format } => {
                return write!(f, "the file is no {} file", format.title());
            }
            Cause::NotChecked => "no damage is known: this part was not checked",
            Cause::Unreadable => "the system could not read the file",
        };
        f.write_str(text)
    }
}
