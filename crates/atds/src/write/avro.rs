//! Avro files.

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

use avro_block::{Codec, Writer, WriterOptions};
use avro_decode::encode::{EncodeOptions, encode};
use avro_decode::{Schema, Value, ValueError};

use crate::files::local_path;
use crate::limits::FILE_BUFFER;
use crate::new_file::NewFile;
use crate::{Error, ErrorKind, avro};

/// Options of an [`AvroFile`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AvroOptions {
    /// Codec of the blocks. Default [`Codec::Null`].
    pub codec: Codec,
    /// Compression level, within [`Codec::levels`]. `None`, the default, means the codec's default.
    pub level: Option<i32>,
    /// Minimum size of a block in bytes before compression, but for the last. Default 16,000.
    pub block_bytes: usize,
    /// Metadata of the header besides schema and codec. Keys must not begin with `avro.`.
    pub metadata: Vec<(String, Vec<u8>)>,
}

impl Default for AvroOptions {
    fn default() -> Self {
        let WriterOptions {
            codec,
            level,
            block_bytes,
            metadata,
            ..
        } = WriterOptions::default();
        AvroOptions {
            codec,
            level,
            block_bytes,
            metadata,
        }
    }
}

/// An Avro file that is written.
#[derive(Debug)]
pub struct AvroFile {
    writer: Writer<BufWriter<File>>,
    schema: Schema,
    records: u64,
    encoded: Vec<u8>,
    new: NewFile,
}

impl AvroFile {
    /// Makes a file for records of a schema, which is JSON text, and writes the header.
    ///
    /// # Errors
    /// The schema is invalid by the strict rules, or a default in it does not match its type; the codec is
    /// not compiled in or has no such level; a metadata key is reserved; the file cannot be made.
    pub fn create(
        path: impl AsRef<Path>,
        schema: &str,
        options: &AvroOptions,
    ) -> Result<Self, Error> {
        let path = local_path(path.as_ref())?;
        let parsed = Schema::parse(schema).and_then(|schema| {
            // The first is enough to correct.
            match schema.check_defaults() {
                Ok(()) => Ok(schema),
                Err(mut errors) => Err(errors.swap_remove(0)),
            }
        });
        let parsed =
            parsed.map_err(|error| Error::new(avro::ErrorKind::Schema(error)).in_file(&path))?;
        let mut block = WriterOptions::with_codec(options.codec);
        block.level = options.level;
        block.block_bytes = options.block_bytes;
        block.metadata.clone_from(&options.metadata);
        let new = NewFile::replacing(&path)?;
        let file = BufWriter::with_capacity(FILE_BUFFER, new.file()?);
        let writer = Writer::new(file, schema, block);
        Ok(AvroFile {
            writer: writer.map_err(|error| container_error(error, &path))?,
            schema: parsed,
            records: 0,
            encoded: Vec::new(),
            new,
        })
    }

    /// The schema of the records.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Number of records written.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Writes a record.
    ///
    /// # Errors
    /// The value does not fit the schema, and is not written; or the file cannot be written.
    pub fn write(&mut self, value: &Value) -> Result<(), Error> {
        let mut encoded = std::mem::take(&mut self.encoded);
        encoded.clear();
        let root = self.schema.root();
        let options = EncodeOptions::default();
        let result = encode(&self.schema, root, value, &mut encoded, &options)
            .map_err(|error| self.value_error(error))
            .and_then(|()| self.append(&encoded));
        self.encoded = encoded;
        result
    }

    /// Writes a record that is encoded by the schema, which is not checked.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn append(&mut self, encoded: &[u8]) -> Result<(), Error> {
        let path = self.new.path();
        let appended = self.writer.append(encoded);
        appended.map_err(|error| container_error(error, path))?;
        self.records += 1;
        Ok(())
    }

    /// Completes the file, and returns the number of records.
    ///
    /// # Errors
    /// The file cannot be written or renamed.
    pub fn finish(self) -> Result<u64, Error> {
        let finished = self.writer.finish();
        finished.map_err(|error| container_error(error, self.new.path()))?;
        self.new.publish()?;
        Ok(self.records)
    }

    #[cold]
    fn value_error(&self, error: ValueError) -> Error {
        let mut located = Error::new(avro::ErrorKind::Value(error.kind)).in_file(self.new.path());
        located.place.record = Some(self.records);
        located.place.field = error.field;
        located
    }
}

/// The error of a container that cannot be written.
#[cold]
pub(crate) fn container_error(error: avro_block::Error, output: &Path) -> Error {
    let kind = match error.kind {
        avro_block::ErrorKind::Io(error) => ErrorKind::Io(error),
        kind => avro::ErrorKind::Container(kind).into(),
    };
    Error::new(kind).in_file(output)
}
