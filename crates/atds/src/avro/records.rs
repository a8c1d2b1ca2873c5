//! A file's records one by one, of every type, as JSON.

use std::path::Path;

use avro_decode::limits::MAX_DECODE_DEPTH;
use avro_decode::{DecodeOptions, Schema, Value, reference, to_json};

pub use crate::avro::encoded::EncodedRecords;
use crate::avro::record_reader::RecordReader;
use crate::limits::{DEFAULT_READER_BUFFER_SIZE, MAX_BLOCK_BYTES};
use crate::stats::Tolerated;
use crate::tolerate::Lenience;
use crate::{Error, Tolerate};

/// Options for reading the records of a file one by one.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RecordOptions {
    /// Bytes read from the file at a time; 128 KiB by default.
    pub buffer_size: usize,
    /// Faults of the file that are tolerated; none by default. They are logged at the end of the
    /// file.
    pub tolerate: Tolerate,
    /// Maximum size of a block in bytes, compressed and decompressed; 1 GiB by default.
    pub max_block_bytes: usize,
    /// Whether the file's schema must follow the specification, see
    /// [`DatasetBuilder::strict`](crate::DatasetBuilder::strict); false by default.
    pub strict: bool,
    /// Maximum nesting of records, arrays, maps and unions in a value; 100 by default, at most
    /// [`DEEPEST`](avro_decode::limits::DEEPEST).
    pub max_depth: usize,
}

impl Default for RecordOptions {
    fn default() -> Self {
        RecordOptions {
            buffer_size: DEFAULT_READER_BUFFER_SIZE,
            tolerate: Tolerate::nothing(),
            max_block_bytes: MAX_BLOCK_BYTES,
            strict: false,
            max_depth: MAX_DECODE_DEPTH,
        }
    }
}

impl RecordOptions {
    /// The options of decoding values.
    pub(crate) fn decode(&self) -> DecodeOptions {
        let mut options = DecodeOptions::default();
        options.replace_invalid_utf8 = self.tolerate.utf8;
        options.max_depth = self.max_depth;
        options
    }

    pub(crate) fn lenience(&self) -> Lenience {
        Lenience {
            tolerate: self.tolerate,
            max_block_bytes: self.max_block_bytes,
        }
    }
}

/// The records of a file as JSON values, in file order. This is for inspecting data; it is slow for
/// large files.
///
/// Records are objects, unions plain values, enums their symbols, bytes and
/// fixed strings of the code points of their bytes; NaN and infinities are
/// strings, since JSON has none. The first error is the last item.
pub struct Records {
    reader: RecordReader,
    options: DecodeOptions,
}

impl std::fmt::Debug for Records {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Records")
            .field("path", &self.reader.blocks.path)
            .field("read", &self.reader.read)
            .finish_non_exhaustive()
    }
}

impl Records {
    /// Opens a file.
    ///
    /// # Errors
    /// The file cannot be read, is not Avro, or has an invalid schema.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::open_with(path, &RecordOptions::default())
    }

    /// Opens a file, with options.
    ///
    /// # Errors
    /// As [`open`](Records::open); an option out of its range.
    pub fn open_with(path: impl AsRef<Path>, options: &RecordOptions) -> Result<Self, Error> {
        let reader = RecordReader::open(path.as_ref(), options)?;
        let options = options.decode();
        Ok(Records { reader, options })
    }

    /// Counters of the faults so far that [`RecordOptions::tolerate`] allows.
    pub fn tolerated(&self) -> Tolerated {
        self.reader.tolerated
    }

    /// The writer's schema.
    pub fn schema(&self) -> &Schema {
        &self.reader.schema
    }

    /// The text of the schema in the file's header.
    pub fn schema_text(&self) -> &str {
        self.reader.schema_text()
    }

    /// The next record as a tree. After an error there are none.
    pub(crate) fn next_value(&mut self) -> Result<Option<Value>, Error> {
        let options = &self.options;
        self.reader.next(|schema, bytes, position| {
            reference::decode_with(schema, schema.root(), bytes, position, options)
        })
    }
}

impl Iterator for Records {
    type Item = Result<serde_json::Value, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let value = self.next_value().transpose()?;
        Some(value.map(|value| {
            let schema = self.schema();
            to_json(schema, schema.root(), &value).expect("the value is of the schema")
        }))
    }
}
