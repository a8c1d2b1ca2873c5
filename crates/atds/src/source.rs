//! Files as blocks: read plainly or mapped, in file order or by their index.

use std::fs::File;
use std::io::{self, Cursor, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use avro_block::{
    Block, BlockIndex, BlockReader, Frame, Framer, Header, IndexEntry, Limits, MappedBlocks,
    ReadBuffers,
};
use bytes::Bytes;

use crate::Error;
use crate::limits::HEADER_BUFFER_SIZE;
use crate::mappings::{MappedFile, Mappings, touch};

/// How files are read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadOptions {
    pub(crate) mmap: bool,
    pub(crate) buffer_size: usize,
}

/// Reads the header of the file at `path`, and little more.
pub(crate) fn read_header(path: &Path) -> Result<Header, Error> {
    let options = ReadOptions {
        mmap: false,
        buffer_size: HEADER_BUFFER_SIZE,
    };
    let blocks = FileBlocks::open(path, &mut Opener::once(options))?;
    Ok(blocks.header)
}

/// Opens files, with memory that is used for one after another.
#[derive(Debug)]
pub(crate) struct Opener {
    options: ReadOptions,
    buffers: ReadBuffers,
    pub(crate) mappings: Mappings,
    /// Whether files may be opened again.
    again: bool,
}

impl Opener {
    /// An opener that keeps at most `keep` bytes of files mapped.
    pub(crate) fn new(options: ReadOptions, keep: u64) -> Self {
        Opener {
            options,
            buffers: ReadBuffers::default(),
            mappings: Mappings::new(keep),
            again: true,
        }
    }

    /// An opener for one file.
    pub(crate) fn once(options: ReadOptions) -> Self {
        Opener {
            again: false,
            ..Self::new(options, 0)
        }
    }

    fn map(&mut self, file: File, path: &Path) -> Result<MappedFile, Error> {
        self.mappings.map(file, path, self.again)
    }
}

/// The blocks of an open file, in file order.
pub(crate) struct FileBlocks {
    path: PathBuf,
    header: Header,
    blocks: Box<dyn Iterator<Item = Result<Block, avro_block::Error>> + Send>,
    /// Where the next block begins.
    offset: u64,
    mapped: Option<MappedFile>,
}

impl FileBlocks {
    /// Opens the file and reads its header.
    pub(crate) fn open(path: &Path, opener: &mut Opener) -> Result<Self, Error> {
        let container = |error| Error::container(error, path);
        let file = File::open(path).map_err(|error| Error::io(error, path))?;
        if !opener.options.mmap {
            let (size, buffers) = (opener.options.buffer_size, opener.buffers.clone());
            let blocks = BlockReader::with_buffers(file, size, buffers).map_err(container)?;
            return Ok(FileBlocks {
                path: path.to_owned(),
                header: blocks.header().clone(),
                blocks: Box::new(blocks),
                offset: 0,
                mapped: None,
            });
        }
        let mapped = opener.map(file, path)?;
        let blocks = MappedBlocks::from_bytes(mapped.bytes()).map_err(container)?;
        Ok(FileBlocks {
            path: path.to_owned(),
            header: blocks.header().clone(),
            blocks: Box::new(blocks),
            offset: 0,
            mapped: Some(mapped),
        })
    }

    pub(crate) fn header(&self) -> &Header {
        &self.header
    }
}

impl Iterator for FileBlocks {
    type Item = Result<Block, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(mapped) = &mut self.mapped
            && let Err(error) = mapped.check(self.offset, &self.path)
        {
            return Some(Err(error));
        }
        let block = self.blocks.next()?;
        if let (Ok(block), Some(mapped)) = (&block, &mut self.mapped) {
            self.offset = block.offset + block.len;
            mapped.passed(self.offset);
            touch(&block.payload);
        }
        Some(block.map_err(|error| Error::container(error, &self.path)))
    }
}

/// The blocks of a file in any order: those before the first damaged one.
pub(crate) struct IndexedBlocks {
    path: PathBuf,
    index: BlockIndex,
    damage: Option<Error>,
    framer: Framer,
    bytes: IndexedBytes,
}

enum IndexedBytes {
    Mapped(Bytes, MappedFile),
    File(File, ReadBuffers),
}

impl IndexedBlocks {
    /// Opens the file and indexes its blocks, which inflates none. An index of
    /// a large file takes a while: `stopped` ends it early, with an error.
    pub(crate) fn open(
        path: &Path,
        opener: &mut Opener,
        stopped: impl Fn() -> bool,
    ) -> Result<Self, Error> {
        let mut file = File::open(path).map_err(|error| Error::io(error, path))?;
        let (index, bytes) = if opener.options.mmap {
            let mapped = opener.map(file, path)?;
            mapped.check_now(path)?;
            let bytes = mapped.bytes();
            let reader = Stoppable {
                reader: Cursor::new(&bytes),
                stopped,
            };
            let index = BlockIndex::before_damage(reader, Limits::default());
            (index, IndexedBytes::Mapped(bytes, mapped))
        } else {
            let reader = Stoppable {
                reader: &mut file,
                stopped,
            };
            let index = BlockIndex::before_damage(reader, Limits::default());
            (index, IndexedBytes::File(file, opener.buffers.clone()))
        };
        let container = |error| Error::container(error, path);
        let (index, damage) = index.map_err(container)?;
        let framer = Framer::at_block(index.header.sync(), 0, 0, Limits::default());
        Ok(IndexedBlocks {
            path: path.to_owned(),
            index,
            damage: damage.map(container),
            framer,
            bytes,
        })
    }

    /// What is wrong with the first block that is not among these.
    pub(crate) fn damage(&mut self) -> Option<Error> {
        self.damage.take()
    }

    pub(crate) fn header(&self) -> &Header {
        &self.index.header
    }

    pub(crate) fn len(&self) -> usize {
        self.index.len()
    }

    /// Records of all blocks.
    pub(crate) fn records(&self) -> u64 {
        self.index.records()
    }

    /// Records of block `i`.
    pub(crate) fn count(&self, i: usize) -> u64 {
        self.index.entries[i].count
    }

    /// Reads block `i`.
    pub(crate) fn block(&mut self, i: usize) -> Result<Block, Error> {
        let entry = self.index.entries[i];
        let bytes = match &mut self.bytes {
            IndexedBytes::Mapped(bytes, mapped) => {
                mapped.check_now(&self.path)?;
                let start = entry.offset as usize;
                Ok(bytes.slice(start..start + entry.len as usize))
            }
            IndexedBytes::File(file, buffers) => read_range(file, entry, buffers),
        };
        let framer = &mut self.framer;
        framer.seek(entry.offset, i as u64);
        bytes
            .map_err(|error| avro_block::Error::new(error, entry.offset, Some(i as u64)))
            .and_then(|bytes| framed(bytes, framer, entry, i as u64))
            .map_err(|error| Error::container(error, &self.path))
    }
}

/// A reader that fails once it is told to stop.
struct Stoppable<R, F> {
    reader: R,
    stopped: F,
}

impl<R: Read, F: Fn() -> bool> Read for Stoppable<R, F> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if (self.stopped)() {
            return Err(io::Error::other("stopped"));
        }
        self.reader.read(buffer)
    }
}

impl<R: Seek, F> Seek for Stoppable<R, F> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.reader.seek(to)
    }
}

fn read_range(file: &mut File, entry: IndexEntry, buffers: &ReadBuffers) -> io::Result<Bytes> {
    file.seek(SeekFrom::Start(entry.offset))?;
    // The index has seen this many bytes, so they are no made-up size.
    buffers.read_exact(file, entry.len as usize)
}

/// The block that is all of `bytes`.
fn framed(
    bytes: Bytes,
    framer: &mut Framer,
    entry: IndexEntry,
    index: u64,
) -> Result<Block, avro_block::Error> {
    framer.push(bytes);
    match framer.next()? {
        Frame::Block(block) => Ok(block),
        _ => {
            // Only a file that has changed since it was indexed has no block there.
            let error = io::Error::from(io::ErrorKind::UnexpectedEof);
            Err(avro_block::Error::new(error, entry.offset, Some(index)))
        }
    }
}
