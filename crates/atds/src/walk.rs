//! A walk over a file's records, one after another in file order, whatever each
//! is made into.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use avro_block::{Block, Codec, InflateBuffer, Inflater};
use avro_decode::{DecodeError, Schema};

use crate::limits::MAX_BLOCK_BYTES;
use crate::plans::parse_schema;
use crate::source::{FileBlocks, Opener, ReadOptions};
use crate::{Error, ErrorKind};

/// Where a walk over the records of a file is.
pub(crate) struct Walk {
    path: PathBuf,
    schema: Arc<Schema>,
    codec: Codec,
    blocks: FileBlocks,
    inflater: Inflater,
    inflated: InflateBuffer,
    /// The block being read.
    block: Option<Block>,
    /// Where its next record starts, once inflated.
    position: usize,
    /// Records of it that have been read.
    read: u64,
}

impl Walk {
    /// Opens a file, to read `buffer_size` bytes of it at a time.
    pub(crate) fn open(path: &Path, buffer_size: usize) -> Result<Self, Error> {
        let path = path.to_owned();
        let read = ReadOptions {
            mmap: false,
            buffer_size,
        };
        let blocks = FileBlocks::open(&path, &mut Opener::once(read))?;
        let schema = parse_schema(blocks.header()).map_err(|error| error.in_file(&path))?;
        Ok(Walk {
            codec: blocks.header().codec(),
            path,
            schema: Arc::new(schema),
            blocks,
            inflater: Inflater::new(),
            inflated: InflateBuffer::new(),
            block: None,
            position: 0,
            read: 0,
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

    /// What `decode` makes of the next record, which starts at the place it is
    /// given in the inflated block; it moves the place to the record's end.
    /// Nothing is to be read after an error.
    pub(crate) fn next<T>(
        &mut self,
        decode: impl FnOnce(&Schema, &[u8], &mut usize) -> Result<T, DecodeError>,
    ) -> Result<Option<T>, Error> {
        if !self.is_at_record()? {
            return Ok(None);
        }
        let record = decode(&self.schema, &self.inflated, &mut self.position);
        let record = record.map_err(|error| {
            let mut error = Error::decode(error, 0);
            error.place.record = Some(self.read);
            self.locate(error)
        })?;
        self.read += 1;
        Ok(Some(record))
    }

    /// Whether there is another record; inflates the next block where one ends.
    fn is_at_record(&mut self) -> Result<bool, Error> {
        loop {
            match &self.block {
                Some(block) if self.read < block.count => return Ok(true),
                Some(block) if self.position < self.inflated.len() => {
                    let kind = ErrorKind::TrailingBytes {
                        records: block.count,
                        left: self.inflated.len() - self.position,
                    };
                    return Err(self.locate(Error::new(kind)));
                }
                _ => {}
            }
            let Some(block) = self.blocks.next() else {
                return Ok(false);
            };
            let block = block?;
            (self.position, self.read) = (0, 0);
            let inflated = &mut self.inflated;
            let result =
                self.inflater
                    .inflate(self.codec, &block.payload, inflated, MAX_BLOCK_BYTES);
            self.block = Some(block);
            result.map_err(|error| self.locate(Error::new(ErrorKind::Container(error.into()))))?;
        }
    }

    #[cold]
    fn locate(&self, error: Error) -> Error {
        let error = error.in_file(&self.path);
        match &self.block {
            Some(block) => error.in_block(block.index, block.offset),
            None => error,
        }
    }
}
