//! Files as blocks: read plainly or mapped, in file order or by their index.

use std::fs::File;
use std::io::{self, Cursor, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use avro_block::{
    Block, BlockIndex, Blocks, BytesSource, Frame, Framer, Header, IndexEntry, Limits, ReadBuffers,
    ReadSource, Source, TrailingBytes,
};
use bytes::Bytes;

use crate::limits::{HEADER_BUFFER_SIZE, MAX_BLOCK_BYTES, MAX_READER_BUFFER_SIZE};
use crate::mappings::{MappedFile, Mappings, touch};
use crate::{Error, Tolerate};

/// How files are read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadOptions {
    pub(crate) mmap: bool,
    pub(crate) buffer_size: usize,
    pub(crate) lenience: Lenience,
}

impl ReadOptions {
    /// An error if one is out of its range.
    pub(crate) fn check(&self) -> Result<(), Error> {
        if self.buffer_size == 0 {
            return Err(Error::option("reader_buffer_size", "above 0"));
        }
        if self.buffer_size > MAX_READER_BUFFER_SIZE {
            return Err(Error::option("reader_buffer_size", "at most 1 GiB"));
        }
        if !(1..=isize::MAX as usize / 2).contains(&self.lenience.max_block_bytes) {
            let must = "above 0, and no more than memory can have";
            return Err(Error::option("max_block_bytes", must));
        }
        Ok(())
    }
}

/// What is passed over in files, and how large their blocks may be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lenience {
    pub(crate) tolerate: Tolerate,
    /// Bytes of a block, compressed and inflated.
    pub(crate) max_block_bytes: usize,
}

impl Default for Lenience {
    fn default() -> Self {
        Lenience {
            tolerate: Tolerate::nothing(),
            max_block_bytes: MAX_BLOCK_BYTES,
        }
    }
}

impl Lenience {
    /// What framing is told.
    pub(crate) fn framing(&self) -> (Limits, TrailingBytes) {
        let mut limits = Limits::default();
        limits.max_block_bytes = self.max_block_bytes as u64;
        let trailing = match self.tolerate.trailing_file_bytes {
            true => TrailingBytes::LeaveOut,
            false => TrailingBytes::Error,
        };
        (limits, trailing)
    }
}

/// The index of a file's blocks; the first one damaged is an error.
pub(crate) fn whole_index(path: &Path, lenience: &Lenience) -> Result<BlockIndex, Error> {
    let file = File::open(path).map_err(|error| Error::io(error, path))?;
    let (limits, trailing) = lenience.framing();
    match BlockIndex::before_damage(file, limits, trailing) {
        Ok((index, None)) => Ok(index),
        Ok((_, Some(error))) | Err(error) => Err(Error::container(error, path)),
    }
}

/// Reads the header of the file at `path`, and little more.
pub(crate) fn read_header(path: &Path) -> Result<Header, Error> {
    let options = ReadOptions {
        mmap: false,
        buffer_size: HEADER_BUFFER_SIZE,
        lenience: Lenience::default(),
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

    pub(crate) fn lenience(&self) -> Lenience {
        self.options.lenience
    }

    fn map(&mut self, file: File, path: &Path) -> Result<MappedFile, Error> {
        self.mappings.map(file, path, self.again)
    }
}

/// Blocks from any source of bytes.
trait BlockStream: Iterator<Item = Result<Block, avro_block::Error>> + Send {
    /// Bytes after the last block that were left out, once there are no more blocks.
    fn trailing_bytes(&self) -> u64;
}

impl<S: Source + Send> BlockStream for Blocks<S> {
    fn trailing_bytes(&self) -> u64 {
        Blocks::trailing_bytes(self)
    }
}

/// The blocks of an open file, in file order.
pub(crate) struct FileBlocks {
    path: PathBuf,
    header: Header,
    blocks: Box<dyn BlockStream>,
    /// Where the next block begins.
    offset: u64,
    mapped: Option<MappedFile>,
}

impl FileBlocks {
    /// Opens the file and reads its header.
    pub(crate) fn open(path: &Path, opener: &mut Opener) -> Result<Self, Error> {
        let container = |error| Error::container(error, path);
        let (limits, trailing) = opener.options.lenience.framing();
        let file = File::open(path).map_err(|error| Error::io(error, path))?;
        if !opener.options.mmap {
            let (size, buffers) = (opener.options.buffer_size, opener.buffers.clone());
            let source = ReadSource::with_buffers(file, size, buffers);
            let mut blocks = Blocks::from_source(source, limits).map_err(container)?;
            blocks.set_trailing_bytes(trailing);
            return Ok(FileBlocks {
                path: path.to_owned(),
                header: blocks.header().clone(),
                blocks: Box::new(blocks),
                offset: 0,
                mapped: None,
            });
        }
        let mapped = opener.map(file, path)?;
        let source = BytesSource::new(mapped.bytes());
        let mut blocks = Blocks::from_source(source, limits).map_err(container)?;
        blocks.set_trailing_bytes(trailing);
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

    /// Bytes after the last block that were left out, once there are no more blocks.
    pub(crate) fn trailing_bytes(&self) -> u64 {
        self.blocks.trailing_bytes()
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
        let (limits, trailing) = opener.options.lenience.framing();
        let mut file = File::open(path).map_err(|error| Error::io(error, path))?;
        let (index, bytes) = if opener.options.mmap {
            let mapped = opener.map(file, path)?;
            mapped.check_now(path)?;
            let bytes = mapped.bytes();
            let reader = Stoppable {
                reader: Cursor::new(&bytes),
                stopped,
            };
            let index = BlockIndex::before_damage(reader, limits.clone(), trailing);
            (index, IndexedBytes::Mapped(bytes, mapped))
        } else {
            let reader = Stoppable {
                reader: &mut file,
                stopped,
            };
            let index = BlockIndex::before_damage(reader, limits.clone(), trailing);
            (index, IndexedBytes::File(file, opener.buffers.clone()))
        };
        let container = |error| Error::container(error, path);
        let (index, damage) = index.map_err(container)?;
        let framer = Framer::at_block(index.header.sync(), 0, 0, limits);
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

    /// Bytes after the last block that are left out.
    pub(crate) fn trailing_bytes(&self) -> u64 {
        self.index.trailing_bytes
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
            framer.finish()?;
            // Only a file that has changed since it was indexed has no block there.
            let error = io::Error::from(io::ErrorKind::UnexpectedEof);
            Err(avro_block::Error::new(error, entry.offset, Some(index)))
        }
    }
}
