//! A file's records one by one, of every type, as JSON.

use std::path::{Path, PathBuf};

use avro_block::{Block, Codec, InflateBuffer, Inflater};
use avro_decode::{Schema, Value, reference, to_json};

use crate::limits::MAX_BLOCK_BYTES;
use crate::plans::parse_schema;
use crate::source::{FileBlocks, Opener, ReadOptions};
use crate::{Error, ErrorKind};

/// The records of a file as JSON values, in file order: for looking at data,
/// not for reading much of it.
///
/// Records are objects, unions plain values, enums their symbols, bytes and
/// fixed strings of the code points of their bytes; NaN and infinities are
/// strings, since JSON has none. The first error is the last item.
pub struct Records {
    trees: Trees,
    over: bool,
}

impl std::fmt::Debug for Records {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Records")
            .field("path", &self.trees.path)
            .field("read", &self.trees.read)
            .finish_non_exhaustive()
    }
}

impl Records {
    /// Opens a file.
    ///
    /// # Errors
    /// A file that cannot be read, is not Avro, or has a schema that is none.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        let trees = Trees::open(path.as_ref())?;
        Ok(Records { trees, over: false })
    }

    /// The schema the records were written with.
    pub fn schema(&self) -> &Schema {
        &self.trees.schema
    }

    /// The schema's text as it stands in the file's header.
    pub fn schema_text(&self) -> &str {
        self.trees.blocks.header().schema()
    }

    fn record(&mut self) -> Result<Option<serde_json::Value>, Error> {
        let Some(value) = self.trees.next()? else {
            return Ok(None);
        };
        let schema = &self.trees.schema;
        let value = to_json(schema, schema.root(), &value);
        Ok(Some(value.expect("the value is of the schema")))
    }
}

impl Iterator for Records {
    type Item = Result<serde_json::Value, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.over {
            return None;
        }
        let record = self.record().transpose();
        self.over = !matches!(record, Some(Ok(_)));
        record
    }
}

/// The records of a file as trees, in file order.
pub(crate) struct Trees {
    path: PathBuf,
    schema: Schema,
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

impl Trees {
    pub(crate) fn open(path: &Path) -> Result<Self, Error> {
        let path = path.to_owned();
        let read = ReadOptions {
            mmap: false,
            buffer_size: crate::limits::DEFAULT_READER_BUFFER_SIZE,
        };
        let blocks = FileBlocks::open(&path, &mut Opener::once(read))?;
        let schema = parse_schema(blocks.header()).map_err(|error| error.in_file(&path))?;
        Ok(Trees {
            codec: blocks.header().codec(),
            path,
            schema,
            blocks,
            inflater: Inflater::new(),
            inflated: InflateBuffer::new(),
            block: None,
            position: 0,
            read: 0,
        })
    }

    pub(crate) fn schema(&self) -> &Schema {
        &self.schema
    }

    /// The next record; nothing is to be read after an error.
    pub(crate) fn next(&mut self) -> Result<Option<Value>, Error> {
        loop {
            match &self.block {
                Some(block) if self.read < block.count => break,
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
                return Ok(None);
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
        let root = self.schema.root();
        let value = reference::decode(&self.schema, root, &self.inflated, &mut self.position);
        let value = value.map_err(|error| {
            let mut error = Error::decode(error, 0);
            error.place.record = Some(self.read);
            self.locate(error)
        })?;
        self.read += 1;
        Ok(Some(value))
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
