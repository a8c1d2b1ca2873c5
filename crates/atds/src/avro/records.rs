//! A file's records one by one, of every type: as JSON, or as bytes.

use std::path::Path;
use std::sync::Arc;

use avro_decode::limits::{DEEPEST, MAX_DECODE_DEPTH};
use avro_decode::{
    DecodeError, DecodeOptions, Resolution, Schema, Transcoder, Value, reference, replaced_texts,
    to_json,
};

use crate::avro::file_blocks::FileBlocks;
use crate::avro::plans::parse_by;
use crate::files::local_path;
use crate::formats::avro::decode_error;
use crate::limits::{DEFAULT_READER_BUFFER_SIZE, MAX_BLOCK_BYTES, MAX_READER_BUFFER_SIZE};
use crate::source::{Reading, Stop};
use crate::stats::Tolerated;
use crate::{Error, Tolerate, avro};

/// Options for reading the records of a file one by one.
#[derive(Clone, Copy, Debug)]
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
    /// [`DEEPEST`].
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
        options.leave_trailing_bytes = self.tolerate.trailing_block_bytes;
        options.max_depth = self.max_depth;
        options
    }

    /// Checks that the options are in their range.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let (buffer, block) = (self.buffer_size, self.max_block_bytes);
        Error::check(buffer > 0, "reader_buffer_size", "above 0")?;
        let is_right = buffer <= MAX_READER_BUFFER_SIZE;
        Error::check(is_right, "reader_buffer_size", "at most 1 GiB")?;
        let is_right = (1..=isize::MAX as usize / 2).contains(&block);
        let must = "above 0, and no more than memory can have";
        Error::check(is_right, "max_block_bytes", must)?;
        check_depth(self.max_depth)
    }
}

/// Checks that `max_depth` is in its range.
pub(crate) fn check_depth(max_depth: usize) -> Result<(), Error> {
    const { assert!(DEEPEST == 300) };
    let is_right = (1..=DEEPEST).contains(&max_depth);
    Error::check(is_right, "max_depth", "from 1 to 300")
}

/// The records of a file as JSON values, in file order. This is for inspecting data; it is slow for
/// large files.
///
/// Records are objects, unions plain values, enums their symbols, bytes and
/// fixed strings of the code points of their bytes; NaN and infinities are
/// strings, since JSON has none. The first error is the last item.
pub struct Records {
    schema: Arc<Schema>,
    blocks: FileBlocks,
    options: DecodeOptions,
    tolerated: Tolerated,
    /// Where the next record starts in its block, once decompressed.
    position: usize,
    /// Records of the block that have been read.
    read: u64,
    is_over: bool,
}

impl std::fmt::Debug for Records {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Records")
            .field("path", &self.blocks.path)
            .field("read", &self.read)
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
        options.check()?;
        let path = local_path(path.as_ref())?;
        Self::of_reading(&path, Reading::open(&path, &Stop::default()), options)
    }

    /// The records of a file that was opened.
    pub(crate) fn of_reading(
        path: &Path,
        reading: std::io::Result<Reading>,
        options: &RecordOptions,
    ) -> Result<Self, Error> {
        let blocks = FileBlocks::new(path, reading, options)?;
        let schema = parse_by(blocks.reader.header().schema(), options.strict);
        Ok(Records {
            schema: Arc::new(schema.map_err(|error| error.in_file(path))?),
            blocks,
            options: options.decode(),
            tolerated: Tolerated::default(),
            position: 0,
            read: 0,
            is_over: false,
        })
    }

    /// Counters of the faults so far that [`RecordOptions::tolerate`] allows.
    pub fn tolerated(&self) -> Tolerated {
        self.tolerated
    }

    /// The writer's schema.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// The text of the schema in the file's header.
    pub fn schema_text(&self) -> &str {
        self.blocks.reader.header().schema()
    }

    /// The next record as a tree. After an error there are none.
    pub(crate) fn next_value(&mut self) -> Result<Option<Value>, Error> {
        let options = self.options;
        self.next_by(|schema, bytes, position| {
            reference::decode_with(schema, schema.root(), bytes, position, &options)
        })
    }

    /// The next record, decoded by `decode`, or `None` at the end of the file. `decode` gets the
    /// decompressed block and the position of the record, and moves the position to the record's
    /// end. After an error there are no further records.
    fn next_by<T>(
        &mut self,
        decode: impl FnOnce(&Schema, &[u8], &mut usize) -> Result<T, DecodeError>,
    ) -> Result<Option<T>, Error> {
        if std::mem::replace(&mut self.is_over, true) || !self.is_at_record()? {
            return Ok(None);
        }
        let replaced = replaced_texts();
        let record = decode(&self.schema, &self.blocks.data, &mut self.position);
        self.tolerated.replaced_texts += replaced_texts() - replaced;
        let record = record.map_err(|error| {
            let error = decode_error(error, 0).in_record(self.read);
            self.blocks.locate(error)
        })?;
        self.read += 1;
        self.is_over = false;
        Ok(Some(record))
    }

    /// Whether there is another record; decompresses the next block where one ends.
    fn is_at_record(&mut self) -> Result<bool, Error> {
        loop {
            let left = self.blocks.data.len() - self.position;
            match &self.blocks.block {
                Some(block) if self.read < block.count => return Ok(true),
                Some(_) if left > 0 && self.options.leave_trailing_bytes => {
                    self.tolerated.trailing_block_bytes += left as u64;
                }
                Some(block) if left > 0 => {
                    let records = block.count;
                    let error = avro::ErrorKind::TrailingBytes { records, left };
                    return Err(self.blocks.locate(atds_format::Error::format(error)));
                }
                _ => {}
            }
            (self.position, self.read) = (0, 0);
            if !self.blocks.decompress_next()? {
                self.end();
                return Ok(false);
            }
        }
    }

    /// Counts and logs the tolerated faults, at the end of the file.
    fn end(&mut self) {
        self.tolerated.trailing_file_bytes = self.blocks.reader.trailing_bytes();
        self.tolerated.bad_checksums = self.blocks.decompressor.bad_checksums();
        if !self.tolerated.is_empty() {
            let (path, tolerated) = (self.blocks.path.display(), &self.tolerated);
            log::warn!("{path}: passed over: {tolerated}");
        }
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

/// The records of a file as bytes, in file order: encoded by the file's own
/// schema, or re-encoded by a reader's, by Avro's schema resolution. What
/// [`MessageDecoder`](crate::avro::messages::MessageDecoder) makes batches of.
///
/// ```
/// use atds::avro::records::EncodedRecords;
/// # use atds_generate::{generate, GenerateOptions, Preset};
/// # let folder = tempfile::tempdir()?;
/// # let mut options = GenerateOptions::new(Preset::Ads, 100);
/// # options.files = 1;
/// # let file = generate(folder.path(), &options)?.files.remove(0);
///
/// let mut records = EncodedRecords::open(file, None)?;
/// let (mut bytes, mut count) = (Vec::new(), 0);
/// while records.next_into(&mut bytes)? {
///     count += 1;
/// }
/// assert_eq!(count, 100);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct EncodedRecords {
    records: Records,
    transcoder: Transcoder,
}

impl std::fmt::Debug for EncodedRecords {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("EncodedRecords")
            .field(&self.records)
            .finish()
    }
}

impl EncodedRecords {
    /// Opens a file, whose records are encoded by the schema `reader`, or by
    /// their own.
    ///
    /// # Errors
    /// A file that cannot be read, is not Avro, or has a schema that is none or
    /// cannot become the reader's.
    pub fn open(path: impl AsRef<Path>, reader: Option<Arc<Schema>>) -> Result<Self, Error> {
        Self::open_with(path, reader, &RecordOptions::default())
    }

    /// [`open`](EncodedRecords::open), with options.
    ///
    /// # Errors
    /// As [`open`](EncodedRecords::open); an option out of its range.
    pub fn open_with(
        path: impl AsRef<Path>,
        reader: Option<Arc<Schema>>,
        options: &RecordOptions,
    ) -> Result<Self, Error> {
        let records = Records::open_with(path, options)?;
        let reader = reader.unwrap_or_else(|| records.schema.clone());
        let resolution = Resolution::new(records.schema.clone(), reader).map_err(|error| {
            Error::new(avro::ErrorKind::Resolve(Box::new(error))).in_file(&records.blocks.path)
        })?;
        Ok(EncodedRecords {
            transcoder: Transcoder::with_options(&resolution, &options.decode()),
            records,
        })
    }

    /// The schema that the records were written with.
    pub fn schema(&self) -> &Schema {
        &self.records.schema
    }

    /// Appends the next record to `out`; false where there is none.
    ///
    /// # Errors
    /// A damaged file or record; `out` is as before, and there are no records
    /// after it.
    pub fn next_into(&mut self, out: &mut Vec<u8>) -> Result<bool, Error> {
        let transcoder = &self.transcoder;
        let next = self.records.next_by(|_, bytes, position| {
            let start = *position;
            let read = transcoder.transcode(&bytes[start..], out);
            *position += read.map_err(|mut error| {
                error.offset += start;
                error
            })?;
            Ok(())
        });
        Ok(next?.is_some())
    }
}
