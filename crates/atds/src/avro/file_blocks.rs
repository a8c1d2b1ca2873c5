//! The blocks of a file, read front to back, or found without being read.

use std::io;
use std::path::{Path, PathBuf};

use avro_block::{
    Block, BlockIndex, BlockReader, DecompressBuffer, DecompressError, Decompressor, Header,
    Limits, ReadSource, TrailingBytes,
};

use crate::formats::avro::container;
use crate::limits::HEADER_BUFFER_SIZE;
use crate::source::{OnceInputs, Packing, Reading, Stop, open_local};
use crate::tolerate::Lenience;
use crate::{Error, avro};

/// What a framer is told of `lenience`.
pub(crate) fn framing(lenience: &Lenience) -> (Limits, TrailingBytes) {
    let mut limits = Limits::default();
    limits.max_block_bytes = lenience.max_block_bytes as u64;
    let trailing = if lenience.tolerate.trailing_file_bytes {
        TrailingBytes::LeaveOut
    } else {
        TrailingBytes::Error
    };
    (limits, trailing)
}

/// The blocks of an open file, in file order.
pub(crate) struct FileBlocks {
    pub(crate) path: PathBuf,
    blocks: BlockReader<Box<dyn io::Read + Send>>,
    /// The packing of the whole file.
    pub(crate) packing: Option<Packing>,
    decompressor: Decompressor,
    max_block_bytes: usize,
    /// The block that was decompressed last, if there was one more, and its records.
    pub(crate) block: Option<Block>,
    pub(crate) data: DecompressBuffer,
}

impl FileBlocks {
    /// Opens the file and reads its header, `buffer_size` bytes at a time. A packed file is unpacked
    /// while it is read. An input that can be read only once gives up at `stop`.
    pub(crate) fn open(
        path: &Path,
        buffer_size: usize,
        lenience: &Lenience,
        stop: &Stop,
    ) -> Result<Self, Error> {
        Self::read(path, Reading::open(path, stop), buffer_size, lenience)
    }

    /// The blocks of a file that was opened.
    pub(crate) fn read(
        path: &Path,
        reading: io::Result<Reading>,
        buffer_size: usize,
        lenience: &Lenience,
    ) -> Result<Self, Error> {
        let Reading { reader, packing } = reading.map_err(|error| Error::io(error, path))?;
        let (limits, trailing) = framing(lenience);
        let source = ReadSource::new(reader, buffer_size);
        let blocks = BlockReader::from_source(source, limits);
        let mut blocks = blocks.map_err(|error| in_file(container(error), path, packing))?;
        blocks.set_trailing_bytes(trailing);
        let mut decompressor = Decompressor::new();
        decompressor.set_tolerates_checksums(lenience.tolerate.checksum);
        Ok(FileBlocks {
            path: path.to_owned(),
            blocks,
            packing,
            decompressor,
            max_block_bytes: lenience.max_block_bytes,
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
        let (codec, data) = (self.blocks.header().codec(), &mut self.data);
        let result =
            self.decompressor
                .decompress(codec, &block.payload, data, self.max_block_bytes);
        let container = |error: DecompressError| avro::ErrorKind::Container(error.into());
        result.map_err(|error| self.locate(atds_format::Error::format(container(error))))?;
        Ok(true)
    }

    /// Number of blocks so far whose checksum was wrong or missing.
    pub(crate) fn bad_checksums(&self) -> u64 {
        self.decompressor.bad_checksums()
    }

    /// Adds the file, and the block that was decompressed last.
    #[cold]
    pub(crate) fn locate(&self, error: atds_format::Error) -> Error {
        let mut error = in_file(error, &self.path, self.packing);
        error.place.offset = self.block.as_ref().map(|block| block.offset);
        error.place.block = self.block.as_ref().map(|block| block.index);
        error
    }

    pub(crate) fn header(&self) -> &Header {
        self.blocks.header()
    }

    /// Number of bytes after the last block that were left out; known once there are no more
    /// blocks.
    pub(crate) fn trailing_bytes(&self) -> u64 {
        self.blocks.trailing_bytes()
    }
}

impl Iterator for FileBlocks {
    type Item = Result<Block, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let block = self.blocks.next()?;
        Some(block.map_err(|error| in_file(container(error), &self.path, self.packing)))
    }
}

#[cold]
fn in_file(error: atds_format::Error, path: &Path, packing: Option<Packing>) -> Error {
    let mut error = Error::from(atds_pipeline::Error::of_format(error, &path.into()));
    error.place.unpacked = packing.is_some();
    error
}

/// Reads the header of the file at `path`, and little more. What is read of an input that can be read
/// only once is kept for the first iteration.
///
/// # Errors
/// As [`FileBlocks::open`].
pub(crate) fn read_header(path: &Path, inputs: &OnceInputs) -> Result<Header, Error> {
    let reading = match inputs.begin(path)? {
        Some(stream) => stream.reading(),
        None => Reading::open(path, &Stop::default()),
    };
    if let Ok(reading) = &reading {
        inputs.packed.note(path, reading.packing);
    }
    let blocks = FileBlocks::read(path, reading, HEADER_BUFFER_SIZE, &Lenience::default())?;
    Ok(blocks.header().clone())
}

/// The index of a file's blocks, found without decompressing any; `None` if the whole file is packed. A
/// damaged block is an error.
pub(crate) fn whole_index(path: &Path, lenience: &Lenience) -> Result<Option<BlockIndex>, Error> {
    let (file, packing) = open_local(path).map_err(|error| Error::io(error, path))?;
    if packing.is_some() {
        return Ok(None);
    }
    let (limits, trailing) = framing(lenience);
    match BlockIndex::before_damage(file, limits, trailing) {
        Ok((index, None)) => Ok(Some(index)),
        Ok((_, Some(error))) | Err(error) => Err(in_file(container(error), path, None)),
    }
}
