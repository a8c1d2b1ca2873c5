//! The blocks of a file, read front to back, or found without being read.

use std::io;
use std::path::{Path, PathBuf};

use avro_block::{
    Block, BlockIndex, BlockReader, DecompressBuffer, DecompressError, Decompressor, Header,
    IndexEntry, Limits, ReadSource, TrailingBytes,
};

use crate::avro::records::RecordOptions;
use crate::formats::avro::container;
use crate::formats::{Counted, Counts};
use crate::limits::HEADER_BUFFER_SIZE;
use crate::source::{OnceInputs, Packing, Reading, Stop, open_local};
use crate::{Error, avro};

/// What a framer is told of `options`.
pub(crate) fn framing(options: &RecordOptions) -> (Limits, TrailingBytes) {
    let mut limits = Limits::default();
    limits.max_block_bytes = options.max_block_bytes as u64;
    let trailing = if options.tolerate.trailing_file_bytes {
        TrailingBytes::LeaveOut
    } else {
        TrailingBytes::Error
    };
    (limits, trailing)
}

/// The blocks of an open file, in file order.
pub(crate) struct FileBlocks {
    pub(crate) path: PathBuf,
    pub(crate) reader: BlockReader<Box<dyn io::Read + Send>>,
    /// The packing of the whole file.
    pub(crate) packing: Option<Packing>,
    pub(crate) decompressor: Decompressor,
    max_block_bytes: usize,
    /// The block that was decompressed last, if there was one more, and its records.
    pub(crate) block: Option<Block>,
    pub(crate) data: DecompressBuffer,
}

impl FileBlocks {
    /// Reads the header of a file that was opened.
    pub(crate) fn new(
        path: &Path,
        reading: io::Result<Reading>,
        options: &RecordOptions,
    ) -> Result<Self, Error> {
        let Reading { reader, packing } = reading.map_err(|error| Error::io(error, path))?;
        let (limits, trailing) = framing(options);
        let source = ReadSource::new(reader, options.buffer_size);
        let blocks = BlockReader::from_source(source, limits);
        let mut blocks = blocks.map_err(|error| in_file(container(error), path, packing))?;
        blocks.set_trailing_bytes(trailing);
        let mut decompressor = Decompressor::new();
        decompressor.set_tolerates_checksums(options.tolerate.checksum);
        Ok(FileBlocks {
            path: path.to_owned(),
            reader: blocks,
            packing,
            decompressor,
            max_block_bytes: options.max_block_bytes,
            block: None,
            data: DecompressBuffer::new(),
        })
    }

    /// Reads the next block and decompresses it; false if there is none.
    pub(crate) fn decompress_next(&mut self) -> Result<bool, Error> {
        self.block = self.next().transpose()?;
        let Some(block) = &self.block else {
            return Ok(false);
        };
        let (codec, data) = (self.reader.header().codec(), &mut self.data);
        let result =
            self.decompressor
                .decompress(codec, &block.payload, data, self.max_block_bytes);
        let container = |error: DecompressError| avro::ErrorKind::Container(error.into());
        result.map_err(|error| self.locate(atds_format::Error::format(container(error))))?;
        Ok(true)
    }

    /// Adds the file, and the block that was decompressed last.
    #[cold]
    pub(crate) fn locate(&self, error: atds_format::Error) -> Error {
        let mut error = in_file(error, &self.path, self.packing);
        error.place.offset = self.block.as_ref().map(|block| block.offset);
        error.place.block = self.block.as_ref().map(|block| block.index);
        error
    }
}

impl Iterator for FileBlocks {
    type Item = Result<Block, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let block = self.reader.next()?;
        Some(block.map_err(|error| in_file(container(error), &self.path, self.packing)))
    }
}

/// The error in the file at `path`.
#[cold]
pub(crate) fn in_file(error: atds_format::Error, path: &Path, packing: Option<Packing>) -> Error {
    let mut error = Error::from(atds_pipeline::Error::of_format(error, &path.into()));
    error.place.unpacked = packing.is_some();
    error
}

/// Reads the header of the file at `path`, and little more. What is read of an input that can be read
/// only once is kept for the first iteration.
///
/// # Errors
/// The file cannot be opened, or has no header.
pub(crate) fn read_header(path: &Path, inputs: &OnceInputs) -> Result<Header, Error> {
    let reading = match inputs.begin(path)? {
        Some(stream) => stream.reading(),
        None => Reading::open(path, &Stop::default()),
    };
    if let Ok(reading) = &reading {
        inputs.packed.note(path, reading.packing);
    }
    let options = RecordOptions {
        buffer_size: HEADER_BUFFER_SIZE,
        ..RecordOptions::default()
    };
    let blocks = FileBlocks::new(path, reading, &options)?;
    Ok(blocks.reader.header().clone())
}

/// The index of a file's blocks, found without decompressing any; `None` if the whole file is packed. A
/// damaged block is an error.
pub(crate) fn whole_index(
    path: &Path,
    options: &RecordOptions,
) -> Result<Option<BlockIndex>, Error> {
    let (file, packing) = open_local(path).map_err(|error| Error::io(error, path))?;
    if packing.is_some() {
        return Ok(None);
    }
    let (limits, trailing) = framing(options);
    match BlockIndex::before_damage(file, limits, trailing) {
        Ok((index, None)) => Ok(Some(index)),
        Ok((_, Some(error))) | Err(error) => Err(in_file(container(error), path, None)),
    }
}

/// Counts the records of a file by reading its header and a few bytes of each block; of a packed file, all
/// of it.
///
/// # Errors
/// The file cannot be read, or its framing is damaged.
pub(crate) fn block_counts(path: &Path, options: &RecordOptions) -> Result<Counts, Error> {
    let mut counted = Counted::default();
    if let Some(index) = whole_index(path, options)? {
        for entry in &index.entries {
            counted.push(entry.offset, entry.len, entry.count);
        }
        // Where a head is longer than it must be, its size does not follow from that of its block.
        let mut entries = index.entries.iter();
        let is_whole = index.trailing_bytes == 0 && entries.all(IndexEntry::has_shortest_head);
        return Ok(counted.finish(index.header.sync().0, is_whole));
    }
    let opened = Reading::open(path, &Stop::default());
    let mut blocks = FileBlocks::new(path, opened, options)?;
    for block in &mut blocks {
        let block = block?;
        counted.push(block.offset, block.len, block.count);
    }
    Ok(counted.finish(blocks.reader.header().sync().0, false))
}
