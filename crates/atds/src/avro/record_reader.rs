//! Reads the encoded records of a file one after another, in file order.

use std::path::Path;
use std::sync::Arc;

use avro_decode::{DecodeError, Schema, replaced_texts};

use crate::avro::file_blocks::FileBlocks;
use crate::avro::plans::parse_by;
use crate::avro::records::RecordOptions;
use crate::builder::{check_depth, check_reading};
use crate::files::local_path;
use crate::source::Stop;
use crate::stats::Tolerated;
use crate::{Error, Tolerate, avro};

/// Reads the records of a file. The caller decodes each record.
pub(crate) struct RecordReader {
    pub(crate) schema: Arc<Schema>,
    pub(crate) blocks: FileBlocks,
    tolerate: Tolerate,
    /// The tolerated faults in the records read so far.
    pub(crate) tolerated: Tolerated,
    /// Where the next record starts in its block, once decompressed.
    position: usize,
    /// Records of the block that have been read.
    pub(crate) read: u64,
    is_over: bool,
}

impl RecordReader {
    /// Opens a file.
    pub(crate) fn open(path: &Path, options: &RecordOptions) -> Result<Self, Error> {
        let (path, lenience) = (local_path(path)?, options.lenience());
        check_reading(options.buffer_size, &lenience)?;
        check_depth(options.max_depth)?;
        let blocks = FileBlocks::open(&path, options.buffer_size, &lenience, &Stop::default())?;
        let schema = parse_by(blocks.header().schema(), options.strict);
        Ok(RecordReader {
            schema: Arc::new(schema.map_err(|error| error.in_file(&path))?),
            blocks,
            tolerate: options.tolerate,
            tolerated: Tolerated::default(),
            position: 0,
            read: 0,
            is_over: false,
        })
    }

    /// The schema's text as it stands in the file's header.
    pub(crate) fn schema_text(&self) -> &str {
        self.blocks.header().schema()
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
        let record = decode(&self.schema, &self.blocks.data, &mut self.position);
        self.tolerated.replaced_texts += replaced_texts() - replaced;
        let record = record.map_err(|error| {
            let mut error = Error::decode(error);
            error.place.record = Some(self.read);
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
                Some(_) if left > 0 && self.tolerate.trailing_block_bytes => {
                    self.tolerated.trailing_block_bytes += left as u64;
                }
                Some(block) if left > 0 => {
                    let records = block.count;
                    let error = Error::new(avro::ErrorKind::TrailingBytes { records, left });
                    return Err(self.blocks.locate(error));
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
        self.tolerated.trailing_file_bytes = self.blocks.trailing_bytes();
        self.tolerated.bad_checksums = self.blocks.bad_checksums();
        if !self.tolerated.is_empty() {
            let (path, tolerated) = (self.blocks.path.display(), &self.tolerated);
            log::warn!("{path}: passed over: {tolerated}");
        }
    }
}
