//! Files as blocks: read plainly or mapped, in file order or by their index.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use avro_block::{
    Block, BlockIndex, BlockReader, Frame, Framer, Header, IndexEntry, Limits, MappedBlocks,
    map_file,
};
use bytes::{Bytes, BytesMut};

use crate::{Error, ErrorKind};

/// How files are read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadOptions {
    pub(crate) mmap: bool,
    pub(crate) buffer_size: usize,
}

/// The blocks of an open file, in file order.
pub(crate) struct FileBlocks {
    header: Header,
    blocks: Box<dyn Iterator<Item = Result<Block, avro_block::Error>> + Send>,
}

impl FileBlocks {
    /// Opens the file and reads its header.
    pub(crate) fn open(path: &Path, options: ReadOptions) -> Result<Self, Error> {
        let container = |error| Error::container(error, path);
        let file = File::open(path).map_err(|error| Error::io(error, path))?;
        if !options.mmap {
            let blocks =
                BlockReader::with_buffer_size(file, options.buffer_size).map_err(container)?;
            return Ok(FileBlocks {
                header: blocks.header().clone(),
                blocks: Box::new(blocks),
            });
        }
        let bytes = map_file(&file).map_err(|error| Error::io(error, path))?;
        let blocks = MappedBlocks::from_bytes(bytes).map_err(container)?;
        Ok(FileBlocks {
            header: blocks.header().clone(),
            blocks: Box::new(blocks),
        })
    }

    pub(crate) fn header(&self) -> &Header {
        &self.header
    }
}

impl Iterator for FileBlocks {
    type Item = Result<Block, avro_block::Error>;

    fn next(&mut self) -> Option<Self::Item> {
        self.blocks.next()
    }
}

/// Looks after a mapped file that may be cut short by others.
pub(crate) struct MapGuard {
    file: File,
    mapped: u64,
}

impl MapGuard {
    pub(crate) fn new(path: &Path) -> Result<Self, Error> {
        let io = |error| Error::io(error, path);
        let file = File::open(path).map_err(io)?;
        let mapped = file.metadata().map_err(io)?.len();
        Ok(MapGuard { file, mapped })
    }

    /// An error if the file is shorter than it was. It narrows the time in
    /// which a read behind the new end would end the process, no more.
    pub(crate) fn check(&self, path: &Path) -> Result<(), Error> {
        let now = self
            .file
            .metadata()
            .map_err(|error| Error::io(error, path))?
            .len();
        if now < self.mapped {
            let mapped = self.mapped;
            return Err(Error::new(ErrorKind::FileShrank { mapped, now }).in_file(path));
        }
        Ok(())
    }
}

/// The blocks of a file in any order.
pub(crate) struct IndexedBlocks {
    index: BlockIndex,
    bytes: IndexedBytes,
}

enum IndexedBytes {
    Mapped(Bytes),
    File(File),
}

impl IndexedBlocks {
    /// Opens the file and indexes its blocks, which inflates none.
    pub(crate) fn open(path: &Path, options: ReadOptions) -> Result<Self, Error> {
        let io = |error| Error::io(error, path);
        let mut file = File::open(path).map_err(io)?;
        let (index, bytes) = if options.mmap {
            let bytes = map_file(&file).map_err(io)?;
            (BlockIndex::from_bytes(&bytes), IndexedBytes::Mapped(bytes))
        } else {
            (BlockIndex::build(&mut file), IndexedBytes::File(file))
        };
        let index = index.map_err(|error| Error::container(error, path))?;
        Ok(IndexedBlocks { index, bytes })
    }

    pub(crate) fn header(&self) -> &Header {
        &self.index.header
    }

    pub(crate) fn len(&self) -> usize {
        self.index.len()
    }

    /// Reads block `i`.
    pub(crate) fn block(&mut self, i: usize) -> Result<Block, avro_block::Error> {
        let entry = self.index.entries[i];
        let bytes = match &mut self.bytes {
            IndexedBytes::Mapped(bytes) => {
                bytes.slice(entry.offset as usize..(entry.offset + entry.len) as usize)
            }
            IndexedBytes::File(file) => read_range(file, entry)
                .map_err(|error| avro_block::Error::new(error, entry.offset, Some(i as u64)))?,
        };
        let sync = self.index.header.sync();
        let mut framer = Framer::at_block(sync, entry.offset, i as u64, Limits::default());
        framer.push(bytes);
        match framer.next()? {
            Frame::Block(block) => Ok(block),
            // The file has changed since it was indexed.
            _ => Err(framer.finish().err().unwrap_or_else(|| {
                let kind = avro_block::ErrorKind::from(std::io::Error::from(
                    std::io::ErrorKind::UnexpectedEof,
                ));
                avro_block::Error::new(kind, entry.offset, Some(i as u64))
            })),
        }
    }
}

fn read_range(file: &mut File, entry: IndexEntry) -> std::io::Result<Bytes> {
    file.seek(SeekFrom::Start(entry.offset))?;
    // The index has seen this many bytes, so they are no made-up size.
    let mut bytes = BytesMut::zeroed(entry.len as usize);
    file.read_exact(&mut bytes)?;
    Ok(bytes.freeze())
}
