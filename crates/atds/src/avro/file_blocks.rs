//! The blocks of a file, read front to back, or found without being read.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use avro_block::{Block, BlockIndex, BlockReader, Header, Limits, ReadSource, TrailingBytes};

use crate::Error;
use crate::limits::HEADER_BUFFER_SIZE;
use crate::source::{OnceInputs, Packing, Reading, Stop, Stream, open_seekable};
use crate::tolerate::Lenience;

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
    path: PathBuf,
    blocks: BlockReader<Box<dyn std::io::Read + Send>>,
    packing: Option<Packing>,
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
        let reading = Reading::open(path, stop).map_err(|error| Error::io(error, path))?;
        Self::read(reading, path, buffer_size, lenience)
    }

    /// Reads the header of a stream that an iteration reads later.
    pub(crate) fn replay(
        stream: &Arc<Stream>,
        path: &Path,
        buffer_size: usize,
        lenience: &Lenience,
    ) -> Result<Self, Error> {
        let reading = Reading {
            reader: Box::new(stream.replay()),
            packing: None,
        };
        Self::read(reading, path, buffer_size, lenience)
    }

    fn read(
        Reading { reader, packing }: Reading,
        path: &Path,
        buffer_size: usize,
        lenience: &Lenience,
    ) -> Result<Self, Error> {
        let (limits, trailing) = framing(lenience);
        let source = ReadSource::new(reader, buffer_size);
        let blocks = BlockReader::from_source(source, limits);
        let mut blocks =
            blocks.map_err(|error| Error::container(error, path).unpacked(packing.is_some()))?;
        blocks.set_trailing_bytes(trailing);
        Ok(FileBlocks {
            path: path.to_owned(),
            blocks,
            packing,
        })
    }

    /// The packing of the whole file.
    pub(crate) fn packing(&self) -> Option<Packing> {
        self.packing
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
        let unpacked = self.packing.is_some();
        Some(block.map_err(|error| Error::container(error, &self.path).unpacked(unpacked)))
    }
}

/// Reads the headers of a data set's files.
#[derive(Debug)]
pub(crate) struct Headers<'a> {
    pub(crate) inputs: &'a Arc<OnceInputs>,
}

impl Headers<'_> {
    /// Reads the header of the file at `path`, and little more. What is read of an input that can be
    /// read only once is kept for the first iteration.
    ///
    /// # Errors
    /// As [`FileBlocks::open`].
    pub(crate) fn read(&self, path: &Path) -> Result<Header, Error> {
        let lenience = Lenience::default();
        let blocks = if self.inputs.has(path) {
            let stream = self.inputs.begin(path)?;
            stream.wait().map_err(|error| Error::io(error, path))?;
            let blocks = FileBlocks::replay(&stream, path, HEADER_BUFFER_SIZE, &lenience);
            let is_packed = self.inputs.packing(path).is_some();
            blocks.map_err(|error| error.unpacked(is_packed))?
        } else {
            FileBlocks::open(path, HEADER_BUFFER_SIZE, &lenience, &Stop::default())?
        };
        if let Some(packing) = blocks.packing {
            self.inputs.note_packed(path, packing);
        }
        Ok(blocks.header().clone())
    }
}

/// Reads the header of a file that can be read again, and little more.
pub(crate) fn read_header(path: &Path) -> Result<Header, Error> {
    let (lenience, stop) = (Lenience::default(), Stop::default());
    let blocks = FileBlocks::open(path, HEADER_BUFFER_SIZE, &lenience, &stop)?;
    Ok(blocks.header().clone())
}

/// The blocks of a file, found without decompressing any.
pub(crate) enum WholeIndex {
    Index(BlockIndex),
    /// The whole file is packed, so it has no index.
    Packed(Packing),
}

/// The index of a file's blocks. A damaged block is an error.
pub(crate) fn whole_index(path: &Path, lenience: &Lenience) -> Result<WholeIndex, Error> {
    let (file, packing) = open_seekable(path).map_err(|error| Error::io(error, path))?;
    if let Some(packing) = packing {
        return Ok(WholeIndex::Packed(packing));
    }
    let (limits, trailing) = framing(lenience);
    match BlockIndex::before_damage(file, limits, trailing) {
        Ok((index, None)) => Ok(WholeIndex::Index(index)),
        Ok((_, Some(error))) | Err(error) => Err(Error::container(error, path)),
    }
}

/// Counts the records of a packed file by unpacking all of it.
pub(crate) fn count_packed(
    path: &Path,
    buffer_size: usize,
    lenience: &Lenience,
) -> Result<u64, Error> {
    let blocks = FileBlocks::open(path, buffer_size, lenience, &Stop::default())?;
    let mut records = 0u64;
    for block in blocks {
        records = records.saturating_add(block?.count);
    }
    Ok(records)
}
