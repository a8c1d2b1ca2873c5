//! Identifies the format of bytes that should be Avro but are not.
//!
//! Runs on cold paths only: for the error of a header or a block that is already known to be bad.
//! The error names the format and a remedy.

mod text;

use std::fmt;
use std::path::Path;

use atds_codec::CompressedFormat;

use crate::header::MAGIC;

/// The format of a file, a payload, or the bytes after a block, where Avro was expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Found {
    /// A compressed format.
    Compressed(CompressedFormat),
    /// LZMA as written before xz (`.lzma`).
    Lzma,
    /// Brotli, recognised by the file's name: its data has no magic.
    Brotli,
    /// 7z.
    SevenZip,
    /// Tar.
    Tar,
    /// Parquet.
    Parquet,
    /// ORC.
    Orc,
    /// An Arrow IPC file (Feather version 2).
    ArrowFile,
    /// An Arrow IPC stream.
    ArrowStream,
    /// Feather version 1.
    Feather,
    /// A Hadoop SequenceFile.
    SequenceFile,
    /// A Hive RCFile.
    RcFile,
    /// A TFRecord file.
    TfRecord,
    /// HDF5.
    Hdf5,
    /// A NumPy array.
    Npy,
    /// A Python pickle.
    Pickle,
    /// An SQLite database.
    Sqlite,
    /// PDF.
    Pdf,
    /// A Hadoop checksum file.
    HadoopChecksums,
    /// A macOS AppleDouble file: attributes of another file.
    AppleDouble,
    /// A Git LFS pointer.
    GitLfsPointer,
    /// An Avro schema in JSON.
    AvroSchema,
    /// An Avro protocol in JSON.
    AvroProtocol,
    /// Avro IDL.
    AvroIdl,
    /// A single Avro message (single-object encoding).
    SingleObject,
    /// Possibly a single message in Confluent's wire format: a zero byte, a schema's number in a
    /// registry in four bytes, and a record.
    Confluent {
        /// The number of the schema.
        schema_id: u32,
    },
    /// An Avro file of a version before 1.3.
    OldAvro,
    /// An Avro file with other bytes before it.
    AvroAt {
        /// Number of bytes before the Avro file.
        offset: u64,
    },
    /// Base64 of an Avro file.
    Base64Avro,
    /// JSON.
    Json,
    /// XML.
    Xml,
    /// HTML.
    Html,
    /// Text in UTF-16 or UTF-32.
    Utf16,
    /// Other text.
    Text,
    /// NUL bytes.
    Zeros,
    /// A whole Avro file, after a block of another one.
    SecondFile,
    /// White space.
    Whitespace,
    /// One byte value, repeated.
    Padding {
        /// The byte.
        byte: u8,
    },
    /// Bytes that are no block and no known format.
    Unknown,
}

/// The first bytes of formats.
const MAGICS: [(&[u8], Found); 24] = [
    // Brotli's framing format, which few tools write.
    (b"\xce\xb2\xcf\x81", Found::Brotli),
    (b"7z\xbc\xaf\x27\x1c", Found::SevenZip),
    (b"PAR1", Found::Parquet),
    (b"PARE", Found::Parquet),
    (b"ORC", Found::Orc),
    (b"ARROW1", Found::ArrowFile),
    (b"FEA1", Found::Feather),
    (b"SEQ\x04", Found::SequenceFile),
    (b"SEQ\x05", Found::SequenceFile),
    (b"SEQ\x06", Found::SequenceFile),
    (b"RCF\x01", Found::RcFile),
    (b"\x89HDF\r\n\x1a\n", Found::Hdf5),
    (b"\x93NUMPY", Found::Npy),
    (b"SQLite format 3\0", Found::Sqlite),
    (b"%PDF-", Found::Pdf),
    (b"crc\0", Found::HadoopChecksums),
    (b"\0\x05\x16\x07", Found::AppleDouble),
    (b"version https://git-lfs", Found::GitLfsPointer),
    (b"\xc3\x01", Found::SingleObject),
    (b"Obj\0", Found::OldAvro),
    (b"T2JqA", Found::Base64Avro),
    (b"\0\0\xfe\xff", Found::Utf16),
    (b"\xff\xfe", Found::Utf16),
    (b"\xfe\xff", Found::Utf16),
];

/// Offset of the magic in a tar header, and the magic.
const TAR: (usize, &[u8]) = (257, b"ustar");

impl Found {
    /// The format of a file whose bytes begin with `first`, and not with Avro's magic.
    pub(crate) fn in_file(first: &[u8]) -> Option<Self> {
        if first.is_empty() {
            return None;
        }
        match CompressedFormat::detect(first) {
            // Zlib's two magic bytes are too few to identify a whole file.
            None | Some(CompressedFormat::Zlib) => {}
            Some(format) => return Some(Found::Compressed(format)),
        }
        let magic = MAGICS.iter().find(|(magic, _)| first.starts_with(magic));
        if let Some(&(_, found)) = magic {
            return Some(found);
        }
        if first
            .get(TAR.0..)
            .is_some_and(|rest| rest.starts_with(TAR.1))
        {
            return Some(Found::Tar);
        }
        if first.iter().all(|&byte| byte == 0) {
            return Some(Found::Zeros);
        }
        if is_arrow_stream(first) {
            return Some(Found::ArrowStream);
        }
        if is_pickle(first) {
            return Some(Found::Pickle);
        }
        if is_tfrecord(first) {
            return Some(Found::TfRecord);
        }
        if let Some(offset) = memchr::memmem::find(first, &MAGIC) {
            let offset = offset as u64;
            return Some(Found::AvroAt { offset });
        }
        if is_lzma(first) {
            return Some(Found::Lzma);
        }
        text::identify(first).or_else(|| confluent(first))
    }

    /// The format of a file by its name, for formats without a magic.
    pub fn by_name(path: &Path) -> Option<Self> {
        let extension = path.extension()?;
        let is = |name| extension.eq_ignore_ascii_case(name);
        if is("br") {
            Some(Found::Brotli)
        } else if is("lzma") {
            Some(Found::Lzma)
        } else if is("z") {
            Some(Found::Compressed(CompressedFormat::Compress))
        } else {
            None
        }
    }

    /// The format's name, with its article.
    pub fn name(self) -> &'static str {
        match self {
            Found::Compressed(format) => format.name(),
            Found::Lzma => "LZMA data (.lzma)",
            Found::Brotli => "brotli data",
            Found::SevenZip => "a 7z archive",
            Found::Tar => "a tar archive",
            Found::Parquet => "a Parquet file",
            Found::Orc => "an ORC file",
            Found::ArrowFile => "an Arrow IPC file (Feather)",
            Found::ArrowStream => "an Arrow IPC stream",
            Found::Feather => "a Feather file",
            Found::SequenceFile => "a Hadoop SequenceFile",
            Found::RcFile => "a Hive RCFile",
            Found::TfRecord => "a TFRecord file",
            Found::Hdf5 => "an HDF5 file",
            Found::Npy => "a NumPy file",
            Found::Pickle => "a Python pickle",
            Found::Sqlite => "an SQLite database",
            Found::Pdf => "a PDF document",
            Found::HadoopChecksums => "a Hadoop checksum file",
            Found::AppleDouble => "a macOS file of attributes (AppleDouble)",
            Found::GitLfsPointer => "a Git LFS pointer",
            Found::AvroSchema => "an Avro schema",
            Found::AvroProtocol => "an Avro protocol",
            Found::AvroIdl => "Avro IDL",
            Found::SingleObject => "a single Avro message",
            Found::Confluent { .. } => "possibly a Kafka message in Confluent's format",
            Found::OldAvro => "an Avro file of a version before 1.3",
            Found::AvroAt { .. } => "an Avro file with other bytes before it",
            Found::Base64Avro => "an Avro file in base64",
            Found::Json => "JSON text",
            Found::Xml => "XML",
            Found::Html => "an HTML page",
            Found::Utf16 => "text in UTF-16",
            Found::Text => "text",
            Found::Zeros => "NUL bytes",
            Found::SecondFile => "another Avro file",
            Found::Whitespace => "white space",
            Found::Padding { .. } => "padding",
            Found::Unknown => "unknown bytes",
        }
    }

    /// The remedy for a file of this format, if there is one.
    fn remedy(self) -> Option<&'static str> {
        Some(match self {
            Found::Compressed(CompressedFormat::Gzip) => "unpack it first (gunzip)",
            Found::Compressed(CompressedFormat::Zstandard) => "unpack it first (zstd -d)",
            Found::Compressed(CompressedFormat::Bzip2) => "unpack it first (bunzip2)",
            Found::Compressed(CompressedFormat::Xz) => "unpack it first (unxz)",
            Found::Lzma => "unpack it first (unlzma)",
            Found::Compressed(CompressedFormat::Compress) => "unpack it first (uncompress)",
            Found::Brotli => "unpack it first (brotli -d)",
            Found::Compressed(CompressedFormat::Lz4) => "unpack it first (lz4 -d)",
            Found::Compressed(CompressedFormat::Zip) => "unpack it first (unzip)",
            Found::Tar => "unpack it first (tar -x)",
            Found::Compressed(_) | Found::SevenZip => "unpack it first",
            Found::Parquet
            | Found::Orc
            | Found::ArrowFile
            | Found::ArrowStream
            | Found::Feather
            | Found::SequenceFile
            | Found::RcFile
            | Found::TfRecord
            | Found::Hdf5
            | Found::Npy
            | Found::Pickle
            | Found::Sqlite => "only Avro files are read; convert it",
            Found::Pdf => "only Avro files are read; give the data file",
            Found::Text | Found::Utf16 => {
                "only Avro files are read; look at the text, and give the data file, or convert the \
                 text with its schema"
            }
            Found::HadoopChecksums => "give the data file that it belongs to",
            Found::AppleDouble => "give the file of the same name without '._'",
            Found::GitLfsPointer => "fetch the file itself with 'git lfs pull'",
            Found::AvroSchema => {
                "it describes records but has none; give the data file. To read it with this schema, \
                 give the schema as `reader_schema`"
            }
            Found::AvroProtocol | Found::AvroIdl => {
                "it describes records but has none; give the data file"
            }
            Found::SingleObject => {
                "messages without a file are read by MessageDecoder, in Rust and Python"
            }
            Found::Confluent { .. } => {
                "messages without a file are read by MessageDecoder, in Rust and Python: give it the \
                 schema from the registry, and each message without its first 5 bytes"
            }
            Found::OldAvro => "rewrite it with Avro's tools of that version",
            Found::AvroAt { .. } => "cut off the bytes before it",
            Found::Base64Avro => "decode it first (base64 -d)",
            Found::Json => {
                "Avro in JSON is turned into a file by avro-tools fromjson, with its schema"
            }
            Found::Xml | Found::Html => {
                "a server may have answered with an error: look at the text, and download the \
                 file again"
            }
            Found::Zeros => {
                "the file was allocated but never written, or lost its contents; copy it again"
            }
            Found::SecondFile | Found::Whitespace | Found::Padding { .. } | Found::Unknown => {
                return None;
            }
        })
    }
}

/// The format's name and its details.
impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Found::AvroAt { offset: 1 } => f.write_str("an Avro file after 1 other byte"),
            Found::AvroAt { offset } => write!(f, "an Avro file after {offset} other bytes"),
            Found::Confluent { schema_id } => {
                write!(f, "{} (schema {schema_id})", self.name())
            }
            Found::Padding { byte } => write!(f, "padding (bytes {byte:#04x})"),
            found => f.write_str(found.name()),
        }
    }
}

/// The error text for a file that is not Avro: its format and the remedy.
pub(crate) struct InsteadOfAvro(pub(crate) Option<Found>);

impl fmt::Display for InsteadOfAvro {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(found) = self.0 else {
            return f.write_str(
                "not an Avro object container file: it does not begin with \"Obj\" and 1. Records \
                 without a file are read by MessageDecoder, with their schema",
            );
        };
        write!(f, "not an Avro object container file but {found}")?;
        match found.remedy() {
            Some(remedy) => write!(f, ": {remedy}"),
            None => Ok(()),
        }
    }
}

/// Whether the file begins with an Arrow message: a continuation marker and a length below 16 MiB.
fn is_arrow_stream(first: &[u8]) -> bool {
    let Some(rest) = first.strip_prefix(b"\xff\xff\xff\xff") else {
        return false;
    };
    matches!(rest, [_, _, _, 0, ..])
}

/// Whether the file begins like LZMA: the usual properties, a usual dictionary size, and a length
/// that is unknown or below 1 TiB.
fn is_lzma(first: &[u8]) -> bool {
    let Some((&0x5d, rest)) = first.split_first() else {
        return false;
    };
    let (Some(dictionary), Some(length)) = (rest.first_chunk::<4>(), rest.get(4..12)) else {
        return false;
    };
    let dictionary = u32::from_le_bytes(*dictionary);
    let is_size = dictionary.count_ones() <= 2 && dictionary >= 1 << 12;
    is_size && (length == [0xff; 8] || length[5..] == [0; 3])
}

/// A Confluent message: a zero byte and a schema's number from 1 to 2^24 - 1. Images, fonts and
/// films that begin with the same bytes are excluded.
fn confluent(first: &[u8]) -> Option<Found> {
    let header = first.first_chunk::<5>()?;
    let schema_id = u32::from_be_bytes([header[1], header[2], header[3], header[4]]);
    let is_other = first[4..].starts_with(b"ftyp")
        || [&b"\0\0\x01\0"[..], b"\0\0\x02\0", b"\0\x01\0\0"]
            .iter()
            .any(|magic| first.starts_with(magic));
    let is_it = header[0] == 0 && (1..1 << 24).contains(&schema_id) && !is_other;
    is_it.then_some(Found::Confluent { schema_id })
}

/// Whether the file is a pickle of protocol 2 to 5; earlier protocols have no magic.
fn is_pickle(first: &[u8]) -> bool {
    matches!(first, [0x80, 2..=5, ..])
}

/// Whether the file begins with a record's length in 64 bits and the masked CRC-32C of these eight
/// bytes.
fn is_tfrecord(first: &[u8]) -> bool {
    let Some((length, rest)) = first.split_first_chunk::<8>() else {
        return false;
    };
    let Some(stored) = rest.first_chunk::<4>() else {
        return false;
    };
    let masked = crc32c(length).rotate_right(15).wrapping_add(0xa282_ead8);
    masked == u32::from_le_bytes(*stored)
}

/// CRC-32C, bit by bit: it is computed for eight bytes, once per bad file.
fn crc32c(bytes: &[u8]) -> u32 {
    const POLYNOMIAL: u32 = 0x82f6_3b78;
    let mut crc = u32::MAX;
    for &byte in bytes {
        crc ^= u32::from(byte);
        for _ in 0..8 {
            let low = crc & 1;
            crc = (crc >> 1) ^ (POLYNOMIAL * low);
        }
    }
    !crc
}
