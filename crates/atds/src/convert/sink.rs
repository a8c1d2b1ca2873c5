//! The new file.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use avro_block::{Writer as AvroWriter, WriterOptions};
use avro_decode::encode::{EncodeOptions, encode};
use avro_decode::{Schema, Value};

use super::losses::Losses;
use super::names::Table;
#[cfg(feature = "btable")]
use super::to_btable::ToRow;
#[cfg(feature = "tfrecord")]
use super::to_tfrecord::ToExample;
use super::{ConvertError, ConvertOptions};
use crate::formats::without_shard;
use crate::limits::FILE_BUFFER;
use crate::write::container_error;
use crate::{Error, FileFormat};

/// Writes records to the new file.
pub(super) struct Sink {
    output: Output,
    path: PathBuf,
    /// An encoded record.
    bytes: Vec<u8>,
}

enum Output {
    Avro(Box<AvroWriter<BufWriter<File>>>, Schema),
    #[cfg(feature = "tfrecord")]
    TfRecord(Box<atds_tfrecord::Writer<BufWriter<File>>>, ToExample),
    #[cfg(feature = "btable")]
    BTable(Box<atds_btable::Writer<atds_btable::Packer<File>>>, ToRow),
}

impl Sink {
    /// Begins the file, which gets the name `path` later.
    ///
    /// # Errors
    /// The system cannot write; the name tells a compression that the format does not have; no field has a
    /// place in it.
    pub(super) fn new(
        file: File,
        path: &Path,
        to: FileFormat,
        table: &Table,
        options: &ConvertOptions,
    ) -> Result<Self, Error> {
        // A packing stands before the number of a shard.
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let name = Path::new(without_shard(&name));
        let suffix = name.extension().and_then(|end| end.to_str());
        let packing = |suffix: &str| {
            let (suffix, format) = (format!(".{suffix}"), to);
            Error::from(ConvertError::Packing { suffix, format }).in_file(path)
        };
        let output = match to {
            FileFormat::Avro => {
                if let Some(suffix @ ("gz" | "zst" | "zlib")) = suffix {
                    return Err(packing(suffix));
                }
                let file = BufWriter::with_capacity(FILE_BUFFER, file);
                let writer_options = WriterOptions::with_codec(options.codec);
                let writer = AvroWriter::new(file, &table.text, writer_options);
                let writer = writer.map_err(|error| container_error(error, path))?;
                Output::Avro(Box::new(writer), table.schema.clone())
            }
            #[cfg(feature = "tfrecord")]
            FileFormat::TfRecord => {
                let file = BufWriter::with_capacity(FILE_BUFFER, file);
                let writer = match suffix {
                    #[cfg(feature = "deflate")]
                    Some(suffix @ ("gz" | "zlib")) => {
                        use atds_tfrecord::Compression;
                        /// The level of TensorFlow.
                        const LEVEL: u32 = 6;
                        let compression = match suffix {
                            "gz" => Compression::Gzip,
                            _ => Compression::Zlib,
                        };
                        atds_tfrecord::Writer::compressed(file, compression, LEVEL)
                    }
                    #[cfg(not(feature = "deflate"))]
                    Some(suffix @ ("gz" | "zlib")) => return Err(packing(suffix)),
                    Some(suffix @ "zst") => return Err(packing(suffix)),
                    _ => atds_tfrecord::Writer::new(file),
                };
                let example = ToExample::new(table, options.flatten);
                Output::TfRecord(
                    Box::new(writer),
                    example.map_err(|error| error.in_file(path))?,
                )
            }
            #[cfg(feature = "btable")]
            FileFormat::BTable => {
                if let Some(suffix @ "zlib") = suffix {
                    return Err(packing(suffix));
                }
                let row = ToRow::new(table, options.flatten, to);
                let row = row.map_err(|error| error.in_file(path))?;
                let compression = atds_btable::Compression::of_path(path);
                let packer = atds_btable::Packer::new(file, compression);
                let fault = |kind| Error::from(ConvertError::BTable(kind)).in_file(path);
                let writer = atds_btable::Writer::new(packer.map_err(fault)?, &row.labels);
                let writer = writer.map_err(|error| of_table(error, path))?;
                Output::BTable(Box::new(writer), row)
            }
        };
        Ok(Sink {
            output,
            path: path.to_owned(),
            bytes: Vec::new(),
        })
    }

    /// Writes a record.
    ///
    /// # Errors
    /// A value has no place, and losses are not allowed; the system cannot write.
    pub(super) fn write(&mut self, record: &Value, losses: &mut Losses) -> Result<(), Error> {
        self.bytes.clear();
        match &mut self.output {
            Output::Avro(writer, schema) => {
                let options = EncodeOptions::default();
                let encoded = encode(schema, schema.root(), record, &mut self.bytes, &options);
                encoded.map_err(|error| {
                    let field = error.field.clone().unwrap_or_default();
                    losses.error(&field, ConvertError::Value(error))
                })?;
                let written = writer.append(&self.bytes);
                written.map_err(|error| container_error(error, &self.path))
            }
            #[cfg(feature = "tfrecord")]
            Output::TfRecord(writer, to_example) => {
                to_example.example(record, losses)?.encode(&mut self.bytes);
                let written = writer.write(&self.bytes);
                written.map_err(|error| Error::io(error, &self.path))
            }
            #[cfg(feature = "btable")]
            Output::BTable(writer, row) => {
                row.fill(record, losses)?;
                let written = writer.write_row(row.cells.iter().copied());
                written.map_err(|error| of_table(error, &self.path))
            }
        }
    }

    /// Writes what is left.
    ///
    /// # Errors
    /// The system cannot write.
    pub(super) fn finish(self) -> Result<(), Error> {
        let path = &*self.path;
        match self.output {
            Output::Avro(writer, _) => {
                let finished = writer.finish();
                finished
                    .map(drop)
                    .map_err(|error| container_error(error, path))
            }
            #[cfg(feature = "tfrecord")]
            Output::TfRecord(writer, _) => {
                let finished = writer.finish();
                finished.map(drop).map_err(|error| Error::io(error, path))
            }
            #[cfg(feature = "btable")]
            Output::BTable(writer, _) => {
                let packer = writer.finish().map_err(|error| of_table(error, path))?;
                let finished = packer.finish().and_then(|mut file| file.flush());
                finished.map_err(|error| Error::io(error, path))
            }
        }
    }
}

/// The error of writing a table to `path`.
#[cfg(feature = "btable")]
#[cold]
fn of_table(error: atds_btable::Error, path: &Path) -> Error {
    match error.kind {
        atds_btable::ErrorKind::Io(error) => Error::new(crate::ErrorKind::Io(error)).in_file(path),
        kind => Error::from(ConvertError::BTable(kind)).in_file(path),
    }
}
