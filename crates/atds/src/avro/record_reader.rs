//! Reads the encoded records of a file one after another, in file order.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use avro_block::{Block, Codec, DecompressBuffer, Decompressor};
use avro_decode::{DecodeError, Schema, replaced_texts};

use crate::avro::file_blocks::FileBlocks;
use crate::avro::plans::parse_by;
use crate::avro::records::RecordOptions;
use crate::builder::{check_depth, check_reading};
use crate::files::local_path;
use crate::source::Stop;
use crate::tolerate::{Lenience, Tolerated};
use crate::{Error, avro};

/// Reads the records of a file. The caller decodes each record.
pub(crate) struct RecordReader {
    path: PathBuf,
    schema: Arc<Schema>,
    codec: Codec,
    blocks: FileBlocks,
    decompressor: Decompressor,
    lenience: Lenience,
    tolerated: Tolerated,
    decompressed: DecompressBuffer,
    /// The block being read.
    block: Option<Block>,
    /// Where its next record starts, once decompressed.
    position: usize,
    /// Records of it that have been read.
    read: u64,
    is_over: bool,
}

impl RecordReader {
    /// Opens a file.
    pub(crate) fn open(path: &Path, options: &RecordOptions) -> Result<Self, Error> {
        let (path, lenience) = (local_path(path)?.into_owned(), options.lenience());
        check_reading(options.buffer_size, &lenience)?;
        check_depth(options.max_depth)?;
        let blocks = FileBlocks::open(&path, options.buffer_size, &lenience, &Stop::default())?;
        let schema = parse_by(blocks.header().schema(), options.strict);
        let schema = schema.map_err(|error| error.in_file(&path))?;
        let mut decompressor = Decompressor::new();
        decompressor.set_tolerates_checksums(lenience.tolerate.checksum);
        Ok(RecordReader {
            codec: blocks.header().codec(),
            path,
            schema: Arc::new(schema),
            blocks,
            decompressor,
            lenience,
            tolerated: Tolerated::default(),
            decompressed: DecompressBuffer::new(),
            block: None,
            position: 0,
            read: 0,
            is_over: false,
        })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// The schema's text as it stands in the file's header.
    pub(crate) fn schema_text(&self) -> &str {
        self.blocks.header().schema()
    }

    /// Records of the current block that have been read.
    pub(crate) fn read(&self) -> u64 {
        self.read
    }

    /// The next record, decoded by `decode`, or `None` at the end of the file. `decode` gets the
    /// decompressed block and the position of the record, and moves the position to the record's
    /// end. After an error there are no further records.
    pub(crate) fn next<T>(
        &mut self,
        decode: impl FnOnce(&Schema, &[u8], &mut usize) -> Result<T, DecodeError>,
    ) -> Result<Option<T>, Error> {
        if std::mem::replace(&mut self.is_over, true) || !self.is_at_record()? {
            return Ok(None);
        }
        let replaced = replaced_texts();
        let record = decode(&self.schema, &self.decompressed, &mut self.position);
        self.tolerated.replaced_texts += replaced_texts() - replaced;
        let record = record.map_err(|error| {
            let mut error = Error::decode(error, 0);
            error.place.record = Some(self.read);
            self.locate(error)
        })?;
        self.read += 1;
        self.is_over = false;
        Ok(Some(record))
    }

    /// Whether there is another record; decompresses the next block where one ends.
    fn is_at_record(&mut self) -> Result<bool, Error> {
        loop {
            match &self.block {
                Some(block) if self.read < block.count => return Ok(true),
                Some(_)
                    if self.position < self.decompressed.len()
                        && self.lenience.tolerate.trailing_block_bytes =>
                {
                    let left = self.decompressed.len() - self.position;
                    self.tolerated.trailing_block_bytes += left as u64;
                }
                Some(block) if self.position < self.decompressed.len() => {
                    let kind = avro::ErrorKind::TrailingBytes {
                        records: block.count,
                        left: self.decompressed.len() - self.position,
                    };
                    return Err(self.locate(Error::new(kind)));
                }
                _ => {}
            }
            let Some(block) = self.blocks.next() else {
                self.end();
                return Ok(false);
            };
            let block = block?;
            (self.position, self.read) = (0, 0);
            let decompressed = &mut self.decompressed;
            let limit = self.lenience.max_block_bytes;
            let result =
                self.decompressor
                    .decompress(self.codec, &block.payload, decompressed, limit);
            self.block = Some(block);
            result.map_err(|error| {
                self.locate(Error::new(avro::ErrorKind::Container(error.into())))
            })?;
        }
    }

    /// Counts and logs the tolerated faults, at the end of the file.
    fn end(&mut self) {
        self.block = None;
        self.tolerated.trailing_file_bytes = self.blocks.trailing_bytes();
        self.tolerated.bad_checksums = self.decompressor.bad_checksums();
        if !self.tolerated.is_empty() {
            let (path, text) = (self.path.display(), self.tolerated.text());
            log::warn!("{path}: passed over: {text}");
        }
    }

    /// The tolerated faults in the records read so far.
    pub(crate) fn tolerated(&self) -> Tolerated {
        self.tolerated
    }

    #[cold]
    fn locate(&self, error: Error) -> Error {
        let unpacked = self.blocks.packing().is_some();
        let error = error.in_file(&self.path).unpacked(unpacked);
        match &self.block {
            Some(block) => error.in_block(block.index, block.offset),
            None => error,
        }
    }
}
